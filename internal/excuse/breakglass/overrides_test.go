package breakglass

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestOverrides tries each field of the overrides, in the escalation as it is now
// and in the terms that were approved: the narrower holds.
func TestOverrides(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	full := func() *v1alpha1.PodSecurityOverrides {
		return &v1alpha1.PodSecurityOverrides{Enabled: true, MaxAllowedScore: number(100), ExemptFactors: []string{"hostNetwork"}}
	}
	approvals := func(overrides bool, names ...string) (list []v1alpha1.SessionApproval) {
		for _, name := range names {
			list = append(list, v1alpha1.SessionApproval{By: name, Overrides: overrides})
		}
		return list
	}
	scope := &v1alpha1.NamespaceFilter{Patterns: []string{"dev-*"}}
	cases := map[string]struct {
		change    func(*v1alpha1.PodSecurityOverrides)
		approvals []v1alpha1.SessionApproval
		namespace string
		given     bool
		lets      bool
		exempts   bool
	}{
		"all of it":                {func(*v1alpha1.PodSecurityOverrides) {}, nil, "dev-a", true, true, true},
		"not enabled":              {func(o *v1alpha1.PodSecurityOverrides) { o.Enabled = false }, nil, "dev-a", false, false, false},
		"a lower score":            {func(o *v1alpha1.PodSecurityOverrides) { o.MaxAllowedScore = number(79) }, nil, "dev-a", true, false, true},
		"that very score":          {func(o *v1alpha1.PodSecurityOverrides) { o.MaxAllowedScore = number(80) }, nil, "dev-a", true, true, true},
		"no score":                 {func(o *v1alpha1.PodSecurityOverrides) { o.MaxAllowedScore = nil }, nil, "dev-a", true, false, true},
		"no factors":               {func(o *v1alpha1.PodSecurityOverrides) { o.ExemptFactors = nil }, nil, "dev-a", true, true, false},
		"its namespaces":           {func(o *v1alpha1.PodSecurityOverrides) { o.NamespaceScope = scope }, nil, "dev-a", true, true, true},
		"another namespace":        {func(o *v1alpha1.PodSecurityOverrides) { o.NamespaceScope = scope }, nil, "prod-a", false, false, false},
		"approval, by nobody":      {func(o *v1alpha1.PodSecurityOverrides) { o.RequireApproval = true }, nil, "dev-a", false, false, false},
		"approval, by an approver": {func(o *v1alpha1.PodSecurityOverrides) { o.RequireApproval = true }, approvals(true, "dave"), "dev-a", true, true, true},
		"approval, by another": {func(o *v1alpha1.PodSecurityOverrides) {
			o.RequireApproval, o.Approvers = true, &v1alpha1.EscalationApprovers{Users: []string{"sec"}}
		}, approvals(false, "dave"), "dev-a", false, false, false},
		"approval, by one of theirs": {func(o *v1alpha1.PodSecurityOverrides) {
			o.RequireApproval, o.Approvers = true, &v1alpha1.EscalationApprovers{Users: []string{"sec"}}
		}, append(approvals(false, "dave"), approvals(true, "sec")...), "dev-a", true, true, true},
	}
	for name, c := range cases {
		now, terms := full(), full()
		for where, o := range map[string]*v1alpha1.PodSecurityOverrides{"now": now, "when approved": terms} {
			t.Run(name+"/"+where, func(t *testing.T) {
				c.change(o)
				defer func() { *o = *full() }()
				if where == "when approved" && o.Approvers != nil {
					// Who may approve is looked up in the escalation.
					now.RequireApproval, now.Approvers = true, o.Approvers
					defer func() { *now = *full() }()
				}
				e := escalationOf(t, func(s *v1alpha1.BreakglassEscalationSpec) { s.PodSecurityOverrides = now.DeepCopy() })
				s := sessionOf(t, func(s *v1alpha1.BreakglassSession) {
					s.Status.Approvals = c.approvals
					s.Status.Terms = &v1alpha1.SessionTerms{EscalatedGroup: "debuggers", PodSecurityOverrides: terms.DeepCopy()}
				})
				got, err := s.Overrides(e, c.namespace, nil)
				if err != nil || (got != nil) != c.given {
					t.Fatalf("%+v, %v", got, err)
				}
				if got == nil {
					return
				}
				if got.Lets(80) != c.lets || got.Exempt().Empty() == c.exempts {
					t.Errorf("lets 80: %t, exempts: %t", got.Lets(80), !got.Exempt().Empty())
				}
			})
		}
	}
	t.Run("not given any more", func(t *testing.T) {
		s := sessionOf(t, func(s *v1alpha1.BreakglassSession) { s.Status.Terms = termsWith(100) })
		if got, err := s.Overrides(escalationOf(t, nil), "dev-a", nil); got != nil || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("labels that cannot be read", func(t *testing.T) {
		e := escalationOf(t, func(s *v1alpha1.BreakglassEscalationSpec) {
			s.PodSecurityOverrides = full()
			s.PodSecurityOverrides.NamespaceScope = &v1alpha1.NamespaceFilter{SelectorTerms: []metav1.LabelSelector{{MatchLabels: map[string]string{"a": "b"}}}}
		})
		unread := errors.New("connection refused")
		got, err := sessionOf(t, nil).Overrides(e, "dev-a", func() (map[string]string, error) { return nil, unread })
		if got != nil || !errors.Is(err, unread) {
			t.Errorf("%+v, %v", got, err)
		}
	})
	for score, want := range map[int]bool{80: true, 100: true, 101: false} {
		most := 100
		if got := (&Overrides{most: &most}).Approves(score); got != want {
			t.Errorf("a score of %d is approved: %t", score, got)
		}
		if !(&Overrides{}).Approves(score) {
			t.Errorf("a score of %d is not approved where none is the highest", score)
		}
	}
	without := sessionOf(t, func(s *v1alpha1.BreakglassSession) { s.Status.Terms = &v1alpha1.SessionTerms{} })
	e := escalationOf(t, func(s *v1alpha1.BreakglassEscalationSpec) { s.PodSecurityOverrides = full() })
	if got, err := without.Overrides(e, "dev-a", nil); got != nil || err != nil {
		t.Errorf("overrides that came after the approval are given: %+v, %v", got, err)
	}
}

// TestOverridesApprovers has the approval of overrides hold only if it was one when it
// was given, and is one by what the escalation says now.
func TestOverridesApprovers(t *testing.T) {
	named := func(names ...string) *v1alpha1.PodSecurityOverrides {
		return &v1alpha1.PodSecurityOverrides{Enabled: true, RequireApproval: true, Approvers: &v1alpha1.EscalationApprovers{Users: names}}
	}
	for name, c := range map[string]struct {
		then, now *v1alpha1.PodSecurityOverrides
		counted   bool
		given     bool
	}{
		"the same":                     {named("sec"), named("sec"), true, true},
		"counted for nothing":          {named("sec"), named("sec"), false, false},
		"named only later":             {named("sec"), named("dave"), false, false},
		"named still":                  {named("dave"), named("dave", "sec"), true, true},
		"named no more":                {named("dave"), named("sec"), true, false},
		"nothing written down, named":  {nil, named("dave"), false, true},
		"nothing written down":         {nil, named("sec"), false, false},
		"nothing written down, then":   {nil, named("sec"), true, true},
		"no approvers of its own then": {&v1alpha1.PodSecurityOverrides{Enabled: true}, named("sec"), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := escalationOf(t, func(s *v1alpha1.BreakglassEscalationSpec) { s.PodSecurityOverrides = c.now })
			s := sessionOf(t, func(s *v1alpha1.BreakglassSession) {
				s.Status.Approvals = []v1alpha1.SessionApproval{{By: "dave", Overrides: c.counted}}
				if c.then != nil {
					s.Status.Terms = &v1alpha1.SessionTerms{PodSecurityOverrides: c.then}
				}
			})
			if got, err := s.Overrides(e, "dev-a", nil); err != nil || (got != nil) != c.given {
				t.Errorf("given %+v, %v", got, err)
			}
		})
	}
}
