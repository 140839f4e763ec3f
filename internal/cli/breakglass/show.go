package breakglass

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// sessionView shows what somebody is about to answer.
type sessionView struct {
	object  *v1alpha1.BreakglassSession
	session *breakglass.Session
	// terms and escalation are not nil.
	terms      *v1alpha1.BreakglassEscalation
	escalation *breakglass.Escalation
	// after is what the answer leads to.
	after *v1alpha1.BreakglassSessionStatus
	me    breakglass.Person
}

func (v *sessionView) write(out io.Writer) error {
	spec, e := &v.object.Spec, v.escalation
	asked := ""
	if by := v.session.AnswerBy(e); !by.IsZero() {
		asked = ", to be answered until " + by.UTC().Format(time.RFC3339)
	}
	fmt.Fprintln(out, decision.Clean(fmt.Sprintf("BreakglassSession %s, asked for by %s (%d of %d approvals%s):",
		v.object.Name, spec.User, len(v.object.Status.Approvals), e.Required(), asked)))
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	row := func(name, text string) { fmt.Fprintf(w, "  %s\t%s\n", name, decision.Clean(text)) }
	if spec.UserUID == "" {
		row("user", spec.User)
	} else {
		row("user", spec.User+", by the uid "+spec.UserUID)
	}
	row("cluster", spec.Cluster)
	row("escalation", spec.EscalationRef)
	if e.Group == "" {
		row("group", "none: it gives no rights")
	} else {
		row("group", e.Group+", with all its rights")
	}
	if spec.RequestReason == "" {
		row("reason", "none given")
	} else {
		row("reason", spec.RequestReason)
	}
	row("from", v.from())
	row("until", v.until())
	if idle := v.session.IdleAfter(e); idle > 0 {
		counts := ""
		if v.session.QuestionsCount(e) {
			counts = "; questions at the side door count as use"
		}
		row("idle", "ends when it was not used for "+idle.String()+counts)
	}
	row("overrides", v.overrides())
	if refs := v.terms.Spec.DenyPolicyRefs; len(refs) > 0 {
		row("held to", "DenyPolicy "+strings.Join(refs, ", "))
	}
	if v.session.Impersonable(e) {
		row("acted as", "whoever may impersonate "+spec.User+" can use it")
	}
	if after := v.terms.Spec.AfterUse; after != nil {
		row("after use", string(after.Action)+" the pods that were entered")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

func (v *sessionView) from() string {
	if at := v.object.Spec.ScheduledStartTime; at != nil {
		return at.UTC().Format(time.RFC3339) + ", or when it is approved, if that is later"
	}
	return "when it is approved"
}

func (v *sessionView) until() string {
	valid := v.session.ValidFor(v.escalation).String()
	if v.after.ExpiresAt == nil {
		return valid + " from then on"
	}
	return fmt.Sprintf("%s (%s)", v.after.ExpiresAt.UTC().Format(time.RFC3339), valid)
}

// overrides says what of the risk of pods the session excuses.
func (v *sessionView) overrides() string {
	o := v.terms.Spec.PodSecurityOverrides
	if o == nil || !o.Enabled {
		return "none"
	}
	parts := []string{"risk of pods that needs approval"}
	if o.MaxAllowedScore != nil {
		parts = []string{fmt.Sprintf("pods with a score up to %d", *o.MaxAllowedScore)}
	}
	if len(o.ExemptFactors) > 0 {
		parts = append(parts, "without counting "+strings.Join(o.ExemptFactors, ", "))
	}
	if n := o.NamespaceScope; n != nil {
		var in []string
		in = append(in, n.Patterns...)
		if len(n.SelectorTerms) > 0 {
			in = append(in, fmt.Sprintf("those that %d selectorTerms pick", len(n.SelectorTerms)))
		}
		parts = append(parts, "in namespaces "+strings.Join(in, ", "))
	}
	if o.RequireApproval && !slices.ContainsFunc(v.after.Approvals, func(a v1alpha1.SessionApproval) bool { return a.Overrides }) {
		parts = append(parts, "but not by your approval: the overrides have approvers of their own")
	}
	return strings.Join(parts, "; ")
}
