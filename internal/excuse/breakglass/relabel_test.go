package breakglass

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// What a session was approved for can be narrower than its escalation, so that only
// the session comes to cover a namespace.
func TestWidened(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	scope := func(labels map[string]string) *v1alpha1.PodSecurityOverrides {
		o := &v1alpha1.PodSecurityOverrides{Enabled: true, MaxAllowedScore: new(int32(100))}
		if labels != nil {
			o.NamespaceScope = &v1alpha1.NamespaceFilter{SelectorTerms: []metav1.LabelSelector{{MatchLabels: labels}}}
		}
		return o
	}
	escalation := func(name string, o *v1alpha1.PodSecurityOverrides) *Escalation {
		compiled, errs := CompileEscalation(&v1alpha1.BreakglassEscalation{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.BreakglassEscalationSpec{
				Allowed: v1alpha1.EscalationAllowed{Clusters: []string{"prod-*"}, Groups: []string{"sre"}}, Approvers: v1alpha1.EscalationApprovers{Users: []string{"bob"}},
				PodSecurityOverrides: o,
			},
		})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return compiled
	}
	session := func(name, of, cluster string, state v1alpha1.SessionState, terms *v1alpha1.PodSecurityOverrides, ago time.Duration) *Session {
		s := &v1alpha1.BreakglassSession{ObjectMeta: metav1.ObjectMeta{Name: name}}
		s.Spec.User, s.Spec.Cluster, s.Spec.EscalationRef = "alice", cluster, of
		s.Status.State = state
		s.Status.ApprovedAt = &metav1.Time{Time: now.Add(-ago)}
		s.Status.Terms = &v1alpha1.SessionTerms{PodSecurityOverrides: terms}
		compiled, errs := CompileSession(s)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return compiled
	}
	debug := map[string]string{"debug": "yes"}
	off := scope(debug)
	off.Enabled = false
	unapproved := session("unapproved", "open", "prod-eu", v1alpha1.SessionApproved, scope(debug), 0)
	unapproved.object.Status.ApprovedAt = nil
	set := NewSet(
		[]*Escalation{escalation("open", scope(nil)), escalation("scoped", scope(debug)), escalation("off", off)},
		[]*Session{
			session("narrow", "open", "prod-eu", v1alpha1.SessionApproved, scope(debug), time.Minute),
			session("elsewhere", "open", "prod-us", v1alpha1.SessionApproved, scope(debug), time.Minute),
			session("ended", "open", "prod-eu", v1alpha1.SessionApproved, scope(debug), 2*time.Hour),
			session("orphan", "gone", "prod-eu", v1alpha1.SessionApproved, scope(debug), time.Minute),
			unapproved,
			session("revoked", "open", "prod-eu", v1alpha1.SessionRevoked, scope(debug), time.Minute),
		}, nil,
	)
	for _, tt := range []struct {
		name, cluster string
		before, after map[string]string
		want          string
	}{
		{"into", "prod-eu", nil, debug, "BreakglassSession narrow, BreakglassEscalation scoped"},
		{"out of", "prod-eu", debug, nil, ""},
		{"within", "prod-eu", debug, map[string]string{"debug": "yes", "a": "b"}, ""},
		{"past it", "prod-eu", nil, map[string]string{"debug": "no"}, ""},
		{"in another cluster", "test", nil, debug, ""},
	} {
		got := set.Widened(tt.cluster, &match.Relabelling{Namespace: "shop", Before: tt.before, After: tt.after}, []string{"a", "debug"}, now)
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
	}
}
