package policyserver

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

const own = "sallyport-system"

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// lab is a Controller of a cluster that a test fills, with a clock that the test
// turns.
type lab struct {
	*Controller
	*testing.T
	clock *clocktesting.FakeClock
	// writes has what was written, as VERB Kind name, in order.
	writes []string
	// fail may refuse a write.
	fail func(verb string, o client.Object) error
	// lacks are resources that accounts may not touch.
	lacks []string
}

func newLab(t *testing.T, manifests ...string) *lab {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	l := &lab{T: t, clock: clocktesting.NewFakeClock(noon)}
	note := func(verb string, o client.Object) error {
		if l.fail != nil {
			if err := l.fail(verb, o); err != nil {
				return err
			}
		}
		l.writes = append(l.writes, fmt.Sprintf("%s %s", verb, l.what(o, "", o.GetName())))
		return nil
	}
	c := fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.PolicyServer{}, &v1alpha1.ClusterAdmissionPolicy{}, &v1alpha1.AdmissionPolicy{}, &appsv1.Deployment{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if review, ok := o.(*authorizationv1.SubjectAccessReview); ok {
					review.Status.Allowed = !slices.Contains(l.lacks, review.Spec.ResourceAttributes.Resource)
					return nil
				}
				if err := note("create", o); err != nil {
					return err
				}
				o.SetUID(types.UID("uid-" + o.GetName()))
				return c.Create(ctx, o, opts...)
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				if err := note("update", o); err != nil {
					return err
				}
				if d, ok := o.(*appsv1.Deployment); ok {
					before := &appsv1.Deployment{}
					if err := c.Get(ctx, client.ObjectKeyFromObject(o), before); err != nil {
						return err
					}
					if d.Generation = before.Generation; !reflect.DeepEqual(before.Spec, d.Spec) {
						d.Generation++
					}
				}
				return c.Update(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := note("delete", o); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
		}).Build()
	l.Controller = newController(Options{
		Scheme: scheme, Namespace: own, Clock: l.clock, Log: logr.Discard(), Leads: func() bool { return true },
		Callers: func() (*Callers, error) { return &Callers{ClientCA: []byte("the CA")}, nil },
	}, c, c)
	for _, text := range manifests {
		l.create(text)
	}
	l.writes = nil
	return l
}

// create makes the object of a manifest, whose age is that of the clock.
func (l *lab) create(text string) {
	l.Helper()
	meta := metav1.TypeMeta{}
	if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
		l.Fatal(err)
	}
	made, err := l.Scheme.New(meta.GroupVersionKind())
	if err != nil {
		l.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(text), made); err != nil {
		l.Fatal(err)
	}
	o := made.(client.Object)
	o.SetCreationTimestamp(metav1.NewTime(l.clock.Now()))
	if o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
	if err := l.client.Create(l.Context(), o); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) sweep() (soon bool) {
	l.Helper()
	soon, err := l.Reconcile(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	return soon
}

// read reads an object; false where it is not there.
func read[T any, P interface {
	*T
	client.Object
}](l *lab, namespace, name string) (P, bool) {
	l.Helper()
	o := P(new(T))
	err := l.client.Get(l.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		l.Fatal(err)
	}
	return o, err == nil
}

func (l *lab) deployment(server string) *appsv1.Deployment {
	l.Helper()
	d, ok := read[appsv1.Deployment](l, own, ObjectName(server))
	if !ok {
		l.Fatalf("there is no Deployment of %s", server)
	}
	return d
}

// rollOut has all pods of a server be ready with what the Deployment has.
func (l *lab) rollOut(server string) { l.setPods(server, true) }

func (l *lab) setPods(server string, ready bool) {
	l.Helper()
	d := l.deployment(server)
	d.Status.ObservedGeneration, d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = d.Generation, *d.Spec.Replicas, *d.Spec.Replicas, 0
	if ready {
		d.Status.AvailableReplicas = *d.Spec.Replicas
	}
	if err := l.client.Status().Update(l.Context(), d); err != nil {
		l.Fatal(err)
	}
}

// pass lets time go by, sweeping each second.
func (l *lab) pass(d time.Duration) {
	l.Helper()
	for ; d > 0; d -= time.Second {
		l.clock.Step(time.Second)
		l.sweep()
	}
}

// ids are those of the policies that the webhooks lead to: validating, mutating.
func (l *lab) ids(server string) (validating, mutating []string) {
	l.Helper()
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", WebhooksName(server))
	for i := range v.Webhooks {
		validating = append(validating, idOf(&v.Webhooks[i].ClientConfig))
	}
	m, _ := read[admissionregistrationv1.MutatingWebhookConfiguration](l, "", WebhooksName(server))
	for i := range m.Webhooks {
		mutating = append(mutating, idOf(&m.Webhooks[i].ClientConfig))
	}
	return validating, mutating
}

// policies are the ids in the file that the pods have.
func (l *lab) policies(server string) []string {
	l.Helper()
	m, _ := read[corev1.ConfigMap](l, own, ObjectName(server))
	var ids []string
	for id := range readFile(m.Data[PoliciesFile]) {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// says is the condition of a policy or a server, as Status Reason: message.
func says(conditions []metav1.Condition, kind string) string {
	c := apimeta.FindStatusCondition(conditions, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (l *lab) wantPolicy(name, want string) {
	l.Helper()
	p, ok := read[v1alpha1.ClusterAdmissionPolicy](l, "", name)
	if got := says(p.Status.Conditions, v1alpha1.ConditionReady); !ok || !strings.Contains(got, want) {
		l.Errorf("policy %s is %q, want %q", name, got, want)
	}
}

func (l *lab) wantServer(name, kind, want string) {
	l.Helper()
	s, ok := read[v1alpha1.PolicyServer](l, "", name)
	if got := says(s.Status.Conditions, kind); !ok || !strings.Contains(got, want) {
		l.Errorf("PolicyServer %s is %q, want %q", name, got, want)
	}
}

// serverOf is a PolicyServer, with more of its spec.
func serverOf(name, more string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: PolicyServer\nmetadata: {name: " + name + "}\nspec: {image: 'ghcr.io/org/sallyport:v1'" + more + "}\n"
}

// policyOf is a ClusterAdmissionPolicy of a server, with more of its spec.
func policyOf(name, server, more string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterAdmissionPolicy\nmetadata: {name: " + name + "}\nspec:\n  module: registry://ghcr.io/org/" + name + ":v1\n  policyServer: " + server +
		"\n  rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]\n" + more
}

const account1 = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: reader, namespace: sallyport-system}\n"
