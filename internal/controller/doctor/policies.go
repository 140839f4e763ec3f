package doctor

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	psaapi "k8s.io/pod-security-admission/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

var ofPolicies = []check{
	{"Policies", "policies.any", (*looking).policies, false},
	{"Policies", "policies.ready", (*looking).ready, false},
	{"Policies", "policies.enforced", (*looking).enforced, false},
	{"Policies", "policies.match-nothing", (*looking).matchNothing, false},
	{"Policies", "policies.pod-security", (*looking).podSecurity, false},
}

// mostObjects is how many objects are named by one check.
const mostObjects = 20

// object is one of ours, with what its status says.
type object struct {
	kind       string
	name       string
	generation int64
	conditions []metav1.Condition
	raw        map[string]any
}

func (o *object) String() string { return o.kind + " " + o.name }

// says is a condition of the version that is stored; nil where there is none of it.
func (o *object) says(name string) *metav1.Condition {
	c := meta.FindStatusCondition(o.conditions, name)
	if c == nil || c.ObservedGeneration != 0 && c.ObservedGeneration < o.generation {
		return nil
	}
	return c
}

// judging are the kinds of what refuses requests.
func judging() []string {
	var kinds []string
	for _, k := range exception.Excusables() {
		kinds = append(kinds, k.Kind)
	}
	return kinds
}

// list reads all objects of a kind of ours.
func (l *looking) list(ctx context.Context, kind string) ([]*object, error) {
	var all []*object
	next := ""
	for {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		if err := l.Objects.List(ctx, page, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("objects of kind %s cannot be listed: %w", kind, err)
		}
		for i := range page.Items {
			item := &page.Items[i]
			o := &object{kind: kind, name: item.GetName(), generation: item.GetGeneration(), raw: item.Object}
			if item.GetNamespace() != "" {
				o.name = item.GetNamespace() + "/" + o.name
			}
			status := struct {
				Conditions []metav1.Condition `json:"conditions"`
			}{}
			if raw, ok, _ := unstructured.NestedMap(item.Object, "status"); ok {
				// What cannot be read says nothing, and that is said.
				_ = runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status)
			}
			o.conditions = status.Conditions
			all = append(all, o)
		}
		if next = page.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// each shows objects of kinds, and says which cannot be listed.
func (l *looking) each(ctx context.Context, s *says, kinds []string, look func(*object)) {
	for _, kind := range kinds {
		all, err := l.list(ctx, kind)
		if err != nil {
			s.unknown("what "+kind+" objects say is not known", err)
			continue
		}
		for _, o := range all {
			if len(s.found) >= mostObjects {
				s.warn("", "", "kubectl get sallyport -A has all of them.", "and possibly more")
				return
			}
			look(o)
		}
	}
}

func (l *looking) policies(ctx context.Context, s *says) {
	n := 0
	l.each(ctx, s, judging(), func(*object) { n++ })
	if n == 0 && len(s.found) == 0 {
		s.warn("", "", "examples/ has policies to start from.", "there is no policy: nothing is refused")
	}
	s.ok("there are %d policies", n)
}

// answered are kinds whose status is the answer to a person, and says nothing of an
// installation.
var answered = []string{exception.KindRequest, exception.KindResponse, "BreakglassSession"}

func (l *looking) ready(ctx context.Context, s *says) {
	kinds := slices.DeleteFunc(slices.Clone(v1alpha1.Kinds()), func(kind string) bool { return slices.Contains(answered, kind) })
	n := 0
	l.each(ctx, s, kinds, func(o *object) {
		n++
		c := o.says(v1alpha1.ConditionReady)
		switch {
		case c == nil:
			s.warn(o.String(), "status.conditions", "Whoever leads writes it, within seconds: see replicas.leader.", "nothing is said of the version that is stored")
		case c.Status == metav1.ConditionFalse:
			s.problem(o.String(), "status.conditions", "Correct it, or delete it: what cannot work is answered by its fail mode.", "%s: %s", c.Reason, c.Message)
		}
	})
	s.ok("%d objects work", n)
}

func (l *looking) enforced(ctx context.Context, s *says) {
	const hint = "docs/doors.md#whether-a-policy-is-enforced says what each reason means."
	l.each(ctx, s, append(judging(), exception.KindException, exception.KindClusterException), func(o *object) {
		c := o.says(v1alpha1.ConditionEnforced)
		switch {
		case c == nil || c.Status == metav1.ConditionTrue:
		case c.Reason == stored.ReasonObserving, c.Status == metav1.ConditionUnknown:
			s.warn(o.String(), "status.conditions", hint, "%s: %s", c.Reason, c.Message)
		default:
			s.problem(o.String(), "status.conditions", hint, "%s: %s", c.Reason, c.Message)
		}
	})
	s.ok("all policies and exceptions are enforced")
}

// matchNothing finds what comes to nothing, wholly or in part.
func (l *looking) matchNothing(ctx context.Context, s *says) {
	l.each(ctx, s, append(judging(), exception.KindException, exception.KindClusterException), func(o *object) {
		c := o.says(v1alpha1.ConditionEffective)
		if c == nil || c.Status != metav1.ConditionFalse {
			return
		}
		hint := "docs/effects.md says what to write."
		if at := slices.IndexFunc(effect.Rules(), func(r *effect.Rule) bool { return r.Reason == c.Reason }); at >= 0 {
			hint = "Write " + effect.Rules()[at].Write + " (docs/effects.md)."
		}
		s.warn(o.String(), "status.conditions", hint, "%s: %s", c.Reason, c.Message)
	})
	s.ok("every policy has the effect that it looks as if it had")
}

// podSecurity says where nothing holds pods to a Pod Security Standard, as the default of
// the API server for namespaces without labels cannot be set on managed clusters, and not
// be seen anywhere.
func (l *looking) podSecurity(ctx context.Context, s *says) {
	holds := false
	l.each(ctx, s, []string{"ClusterPolicy"}, func(o *object) {
		rules, _, _ := unstructured.NestedSlice(o.raw, "spec", "rules")
		for _, rule := range rules {
			if of, ok := rule.(map[string]any); ok {
				_, is, _ := unstructured.NestedMap(of, "validate", "podSecurity")
				holds = holds || is
			}
		}
	})
	if holds || len(s.found) > 0 {
		s.ok("a ClusterPolicy holds pods to a Pod Security Standard")
		return
	}
	var bare []string
	err := pages(ctx, l.API.CoreV1().Namespaces().List, func(p *corev1.NamespaceList) {
		for i := range p.Items {
			if n := &p.Items[i]; n.Labels[psaapi.EnforceLevelLabel] == "" && n.Name != metav1.NamespaceSystem {
				bare = append(bare, n.Name)
			}
		}
	})
	if err != nil {
		s.unknown("which namespaces ask for a Pod Security Standard is not known", err)
		return
	}
	if len(bare) > 0 {
		s.warn("", "", "examples/podsecurity has policies. The API server's own default for namespaces without labels cannot be set on managed clusters, and not be seen.", "no ClusterPolicy holds pods to a Pod Security Standard, and %d namespaces have no label that asks for one: %s", len(bare), some(bare, 5))
	}
	s.ok("every namespace asks for a Pod Security Standard")
}
