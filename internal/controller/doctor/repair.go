package doctor

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/controller/policyserver"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/door"
)

// Repairing is what is done to the webhooks.
type Repairing string

// What can be done where Sallyport keeps the cluster from working.
const (
	// ToIgnore has the API server let in what Sallyport cannot be asked about, or does
	// not know enough to judge.
	ToIgnore Repairing = "ignore"
	// ToDelete takes the webhooks away.
	ToDelete Repairing = "delete"
)

// Step is one configuration that is changed or deleted.
type Step struct {
	Object string `json:"object"`
	// Does says what is done, a line each.
	Does []string `json:"does"`
	// before is the object as it was, to put back.
	before any
	run    func(context.Context) error
}

// Repair is a way out: what would be done, and what is left alone.
type Repair struct {
	Steps []Step `json:"steps"`
	// Left are configurations that have a name of ours and are somebody else's, or parts
	// of them.
	Left []string `json:"left,omitempty"`
	// Answers is set where Sallyport answers what webhooks ask, so that it is not what
	// keeps the cluster from working.
	Answers bool `json:"answers"`
}

// Plan works out a way out; nothing is written. An error says what could not be read.
func Plan(ctx context.Context, o Options, how Repairing) (*Repair, error) {
	l := &looking{Options: o}
	l.fill()
	if err := l.reach(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	r := &Repair{Answers: l.answers(ctx)}
	judging := l.API.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	err := pages(ctx, judging.List, func(page *admissionregistrationv1.ValidatingWebhookConfigurationList) {
		for i := range page.Items {
			live := &page.Items[i]
			after := live.DeepCopy()
			refs := make([]webhookRef, len(after.Webhooks))
			for j := range after.Webhooks {
				w := &after.Webhooks[j]
				refs[j] = webhookRef{w.Name, &w.ClientConfig, &w.FailurePolicy}
			}
			l.plan(r, how, &configuration{
				kind: "ValidatingWebhookConfiguration", meta: &live.ObjectMeta, hooks: refs,
				before: &admissionregistrationv1.ValidatingWebhookConfiguration{TypeMeta: typeOf("ValidatingWebhookConfiguration"), ObjectMeta: bare(&live.ObjectMeta), Webhooks: live.Webhooks},
				update: func(ctx context.Context) error {
					_, err := judging.Update(ctx, after, metav1.UpdateOptions{})
					return err
				},
				remove: func(ctx context.Context) error { return judging.Delete(ctx, live.Name, unchanged(&live.ObjectMeta)) },
			})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("ValidatingWebhookConfigurations cannot be listed: %w", err)
	}
	changing := l.API.AdmissionregistrationV1().MutatingWebhookConfigurations()
	err = pages(ctx, changing.List, func(page *admissionregistrationv1.MutatingWebhookConfigurationList) {
		for i := range page.Items {
			live := &page.Items[i]
			after := live.DeepCopy()
			refs := make([]webhookRef, len(after.Webhooks))
			for j := range after.Webhooks {
				w := &after.Webhooks[j]
				refs[j] = webhookRef{w.Name, &w.ClientConfig, &w.FailurePolicy}
			}
			l.plan(r, how, &configuration{
				kind: "MutatingWebhookConfiguration", meta: &live.ObjectMeta, hooks: refs,
				before: &admissionregistrationv1.MutatingWebhookConfiguration{TypeMeta: typeOf("MutatingWebhookConfiguration"), ObjectMeta: bare(&live.ObjectMeta), Webhooks: live.Webhooks},
				update: func(ctx context.Context) error {
					_, err := changing.Update(ctx, after, metav1.UpdateOptions{})
					return err
				},
				remove: func(ctx context.Context) error { return changing.Delete(ctx, live.Name, unchanged(&live.ObjectMeta)) },
			})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("MutatingWebhookConfigurations cannot be listed: %w", err)
	}
	return r, nil
}

// answers reports whether Sallyport answers what its webhooks ask: the canary is, and all
// others lead where that one does.
func (l *looking) answers(ctx context.Context) bool {
	s := &says{}
	l.canary(ctx, s)
	found, err := l.webhooks(ctx)
	if err != nil || found.Canary == nil || len(s.found) != 1 || s.found[0].Status != OK {
		return false
	}
	return !slices.ContainsFunc(found.Webhooks, func(w webhooks.Webhook) bool {
		return w.Ours && (leadsTo(&w.Leads) != leadsTo(found.Canary) || !bytes.Equal(w.Leads.CABundle, found.Canary.CABundle))
	})
}

// configuration is a webhook configuration of either kind.
type configuration struct {
	kind           string
	meta           *metav1.ObjectMeta
	hooks          []webhookRef
	before         any
	update, remove func(context.Context) error
}

// webhookRef is a webhook that can be changed.
type webhookRef struct {
	name   string
	leads  *admissionregistrationv1.WebhookClientConfig
	policy **admissionregistrationv1.FailurePolicyType
}

// ours reports whether a webhook is Sallyport's: by its name, or as it leads where one of
// these does.
func (c *configuration) ours(w *webhookRef) bool {
	return webhooks.Ours(w.name) || slices.ContainsFunc(c.hooks, func(o webhookRef) bool { return webhooks.Ours(o.name) && leadsTo(o.leads) == leadsTo(w.leads) })
}

// leadsTo is where a webhook leads, without a path.
func leadsTo(c *admissionregistrationv1.WebhookClientConfig) string {
	switch {
	case c.Service != nil:
		return c.Service.Namespace + "/" + c.Service.Name
	case c.URL == nil:
		return ""
	}
	at, err := url.Parse(*c.URL)
	if err != nil {
		return *c.URL
	}
	return at.Scheme + "://" + at.Host
}

// plan adds what is done to a configuration, where it is one of ours.
func (l *looking) plan(r *Repair, how Repairing, c *configuration) {
	server := policyserver.Managed(c.meta)
	if !server && c.meta.Name != l.Name && c.meta.Name != l.Name+webhooks.RulesSuffix {
		return
	}
	object := c.kind + " " + c.meta.Name
	step := Step{Object: object, before: c.before, run: c.update}
	ours := 0
	for i := range c.hooks {
		w := &c.hooks[i]
		if !server && !c.ours(w) {
			r.Left = append(r.Left, object+": webhook "+w.name+", which is not Sallyport's")
			continue
		}
		ours++
		// What is written of Sallyport's own kinds keeps nobody from working.
		if how == ToIgnore && !webhooks.OwnKinds(w.name) {
			step.Does = append(step.Does, w.open()...)
		}
	}
	if how == ToDelete {
		if ours < len(c.hooks) {
			r.Left = append(r.Left, object+" as a whole, as others' webhooks are in it: use --repair=ignore")
			return
		}
		step.Does, step.run = []string{fmt.Sprintf("delete it, with %d webhooks", len(c.hooks))}, c.remove
	}
	if len(step.Does) > 0 {
		r.Steps = append(r.Steps, step)
	}
}

// open has a webhook let in what cannot be judged, and says what that changes.
func (w *webhookRef) open() (does []string) {
	if ptr.Deref(*w.policy, admissionregistrationv1.Fail) != admissionregistrationv1.Ignore {
		*w.policy = ptr.To(admissionregistrationv1.Ignore)
		does = append(does, w.name+": failurePolicy: Ignore, in place of Fail")
	}
	// Without it, a Sallyport that does not know its policies refuses by itself.
	if service := w.leads.Service; service != nil {
		if path := ptr.Deref(service.Path, "/"); !strings.HasPrefix(path, door.IgnorePath+"/") {
			service.Path = ptr.To(door.IgnorePath + path)
			does = append(does, fmt.Sprintf("%s: clientConfig.service.path: %s, in place of %s", w.name, *service.Path, path))
		}
		return does
	}
	if w.leads.URL == nil {
		return does
	}
	if at, err := url.Parse(*w.leads.URL); err == nil && !strings.HasPrefix(at.Path, door.IgnorePath+"/") {
		was := *w.leads.URL
		at.Path = door.IgnorePath + at.Path
		w.leads.URL = ptr.To(at.String())
		does = append(does, fmt.Sprintf("%s: clientConfig.url: %s, in place of %s", w.name, *w.leads.URL, was))
	}
	return does
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: kind}
}

// bare is what somebody wrote of an object's metadata.
func bare(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Labels: m.Labels, Annotations: m.Annotations, OwnerReferences: m.OwnerReferences}
}

// unchanged deletes only what is as it was read.
func unchanged(m *metav1.ObjectMeta) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}}
}

// Undo is what puts everything back, in YAML.
func (r *Repair) Undo() ([]byte, error) {
	var documents []string
	for i := range r.Steps {
		text, err := yaml.Marshal(r.Steps[i].before)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be written down: %w", r.Steps[i].Object, err)
		}
		documents = append(documents, string(text))
	}
	return []byte(strings.Join(documents, "---\n")), nil
}

// Do does what the plan says, one step after the other; done is told of each. It ends at
// the first that fails, and what was done stays.
func (r *Repair) Do(ctx context.Context, done func(*Step)) error {
	for i := range r.Steps {
		step := &r.Steps[i]
		one, cancel := context.WithTimeout(ctx, firstLimit)
		err := step.run(one)
		cancel()
		if err != nil {
			return fmt.Errorf("%s was not changed: %w", step.Object, err)
		}
		done(step)
	}
	return nil
}
