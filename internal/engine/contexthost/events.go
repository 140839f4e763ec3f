package contexthost

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// EventReason is the reason of the Event about a refusal.
const EventReason = "ContextDenied"

// policyResources are the kinds of policies that Events are about.
var policyResources = map[string]string{
	contextgate.ClusterPolicy: "clusterpolicies", contextgate.ClusterAdmissionPolicy: "clusteradmissionpolicies",
	"Policy": "policies", "AdmissionPolicy": "admissionpolicies",
}

// eventWriter writes Events about policies. What it cannot keep up with is left
// out: the metric counts every refusal.
type eventWriter struct {
	log      logr.Logger
	policies metadata.Interface
	events   typed.EventInterface
	queue    chan contextgate.Denied
}

func newEventWriter(config *rest.Config, log logr.Logger) (*eventWriter, error) {
	policies, err := metadata.NewForConfig(pace.Few.Of(config))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	clients, err := kubernetes.NewForConfig(pace.Few.Of(config))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return &eventWriter{log: log, policies: policies, events: clients.CoreV1().Events(""), queue: make(chan contextgate.Denied, 64)}, nil
}

func (w *eventWriter) add(d *contextgate.Denied) {
	select {
	case w.queue <- *d:
	default:
	}
}

// run writes Events until ctx ends.
func (w *eventWriter) run(ctx context.Context) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: w.events})
	recorder := broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: "sallyport"})
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-w.queue:
			about, err := w.find(ctx, d.Policy)
			if err != nil {
				// A policy that stands only in a file is in no API server.
				w.log.V(1).Info("no Event was written about a policy", "policy", d.Policy, "error", err.Error())
				continue
			}
			recorder.Eventf(about, corev1.EventTypeWarning, EventReason, "may not %s %s: %s", d.Verb, d.Resource, d.Why)
		}
	}
}

// findTimeout bounds one look for a policy.
const findTimeout = 5 * time.Second

// find reads which object a policy is.
func (w *eventWriter) find(ctx context.Context, policy string) (*corev1.ObjectReference, error) {
	kind, rest, _ := strings.Cut(policy, "/")
	namespace, name, namespaced := strings.Cut(rest, "/")
	if !namespaced {
		namespace, name = "", rest
	}
	plural, ok := policyResources[kind]
	if !ok {
		return nil, fmt.Errorf("%q is not the kind of a policy", kind)
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	resource := w.policies.Resource(v1alpha1.GroupVersion.WithResource(plural))
	var reader metadata.ResourceInterface = resource
	if namespace != "" {
		reader = resource.Namespace(namespace)
	}
	found, err := reader.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: namespace, Name: name,
		UID: found.UID, ResourceVersion: found.ResourceVersion,
	}, nil
}
