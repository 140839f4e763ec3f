package policyserver

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// ElsewhereOptions are what an Elsewhere is made of.
type ElsewhereOptions struct {
	// Client reads webhooks, and Metadata PolicyServers.
	Client   kubernetes.Interface
	Metadata metadata.Interface
	// Namespace is the one that servers run in.
	Namespace string
	// Changed is called after each change of what is judged elsewhere. It must return
	// soon.
	Changed func()
	// Line is the way to the API server, shared with what else follows it.
	Line  *follow.Line
	Clock clock.WithTickerAndDelayedExecution
	Log   logr.Logger
}

// Elsewhere knows which policies are judged by PolicyServers: those that their
// webhooks ask for, as the API server has these. Every replica of Sallyport itself
// judges by all others, whatever server they name: one that moves, or names a server
// that is not there, is not to be judged by nobody. It is read from the API server, so
// that it is the same on every replica and after a restart.
type Elsewhere struct {
	ElsewhereOptions
	changed notice.Notice
	judged  atomic.Pointer[map[stored.Ref]bool]
	// since is from when a webhook was there without a break. Only Run uses it.
	since map[stored.Ref]time.Time
}

// NewElsewhere makes an Elsewhere. Nothing is sent before Run.
func NewElsewhere(o ElsewhereOptions) *Elsewhere {
	return &Elsewhere{ElsewhereOptions: o, changed: notice.New()}
}

// Judges reports whether a policy is judged by a PolicyServer, and has been for as
// long as an API server can need to begin to ask there. Before webhooks were read
// nothing is judged at all, and what names a server counts as judged there: its module
// is not fetched here for nothing.
func (e *Elsewhere) Judges(ref stored.Ref) bool {
	judged := e.judged.Load()
	return judged == nil || (*judged)[ref]
}

// Ready says what is missing before requests can be judged.
func (e *Elsewhere) Ready() error {
	if e.judged.Load() == nil {
		return errors.New("the webhooks of PolicyServers were not read yet")
	}
	return nil
}

// Run reads webhooks until ctx ends.
func (e *Elsewhere) Run(ctx context.Context) error {
	w := e.watch(ctx)
	if !w.read(ctx) {
		return nil
	}
	for {
		next := e.take(w.servers(), w.webhooks())
		var timer <-chan time.Time
		if next > 0 {
			timer = e.Clock.After(next)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer:
		case <-e.changed:
		}
	}
}

// take works out what is judged elsewhere. next is when to do that again without a
// change; zero for never.
func (e *Elsewhere) take(servers []*metav1.PartialObjectMetadata, configurations []*admissionregistrationv1.ValidatingWebhookConfiguration) (next time.Duration) {
	now, first := e.Clock.Now(), e.judged.Load() == nil
	since, judged := map[stored.Ref]time.Time{}, map[stored.Ref]bool{}
	for _, c := range configurations {
		if !leads(servers, c) {
			continue
		}
		began := now
		if first {
			// This replica has only begun: how long the webhook is there, the API server says.
			began = lastWritten(c, now)
		}
		for i := range c.Webhooks {
			ref, ok := asksFor(&c.Webhooks[i], e.Namespace, ObjectName(c.Labels[labelServer]))
			if !ok {
				continue
			}
			since[ref] = began
			if known, ok := e.since[ref]; ok {
				since[ref] = known
			}
		}
	}
	for ref, began := range since {
		if left := drain - now.Sub(began); left <= 0 {
			judged[ref] = true
		} else if next == 0 || left < next {
			next = left
		}
	}
	e.since = since
	before := e.judged.Swap(&judged)
	if (before == nil || !maps.Equal(*before, judged)) && e.Changed != nil {
		e.Changed()
	}
	return next
}

// leads reports whether webhooks are those of a server that is there, and stays.
func leads(servers []*metav1.PartialObjectMetadata, c *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	for _, s := range servers {
		if c.Name == WebhooksName(s.Name) && c.Labels[labelServer] == s.Name && metav1.IsControlledBy(c, s) {
			return s.DeletionTimestamp == nil && c.DeletionTimestamp == nil
		}
	}
	return false
}

// lastWritten is when an object was written last, as far as that is known, and not
// later than now.
func lastWritten(c *admissionregistrationv1.ValidatingWebhookConfiguration, now time.Time) time.Time {
	var last time.Time
	for _, f := range c.ManagedFields {
		if f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	if last.IsZero() || last.After(now) {
		return now
	}
	return last
}

// asksFor is the policy that a webhook asks for at the Service of its server.
func asksFor(w *admissionregistrationv1.ValidatingWebhook, namespace, service string) (stored.Ref, bool) {
	to := w.ClientConfig.Service
	if to == nil || to.Namespace != namespace || to.Name != service {
		return stored.Ref{}, false
	}
	return refOf(idOf(&w.ClientConfig), w.NamespaceSelector)
}

// refOf is the policy of an id. Where policies of two namespaces have the same id, it
// is the one whose namespace is selected.
func refOf(id string, namespaces *metav1.LabelSelector) (stored.Ref, bool) {
	if name, ok := strings.CutPrefix(id, "clusterwide-"); ok {
		return stored.Ref{Kind: stored.KindClusterAdmissionPolicy, Name: name}, true
	}
	if namespaces == nil {
		return stored.Ref{}, false
	}
	for _, r := range namespaces.MatchExpressions {
		if r.Key != corev1.LabelMetadataName || r.Operator != metav1.LabelSelectorOpIn || len(r.Values) != 1 {
			continue
		}
		ref := stored.Ref{Kind: stored.KindAdmissionPolicy, Namespace: r.Values[0]}
		if name, ok := strings.CutPrefix(id, ref.ModuleID()); ok {
			ref.Name = name
			return ref, true
		}
	}
	return stored.Ref{}, false
}
