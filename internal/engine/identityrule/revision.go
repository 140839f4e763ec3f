package identityrule

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// mergedRevision reports whether the object is a ControllerRevision that does not
// hold a whole template, and is not made by its controller. A StatefulSet or a
// DaemonSet that goes back to it merges it into its own template: what runs is then
// the revision's, and the identities are the owner's, which the revision does not
// show by itself.
func (b *judgement) mergedRevision() bool {
	r := b.Request
	if b.set.Identity.Len() == 0 && len(b.set.ExemptingIn(r.ClusterName)) == 0 || !call.IsRevision(r.Object) {
		return false
	}
	if owner := metav1.GetControllerOfNoCopy(r.Object.Meta); owner != nil {
		if kind, ok := call.KindOf(owner); ok && slices.Contains(r.Controllers.Of(kind.GroupKind()), r.User.Name) {
			return false
		}
	}
	if b.ofNoWorkload(r.Object) {
		return false
	}
	tree, err := r.Object.Tree()
	return err != nil || !call.WholeTemplate(tree["data"])
}

// ofNoWorkload reports whether the owner of a revision makes no pods. What was not
// there is no owner any more, see settled.
func (b *judgement) ofNoWorkload(o *pod.Object) bool {
	owner := metav1.GetControllerOfNoCopy(o.Meta)
	if owner == nil || len(o.Pods) > 0 || o.Fault != nil {
		return false
	}
	kind, ok := call.KindOf(owner)
	return ok && !b.set.Registry.Makes(kind.GroupKind()) && b.set.Absent(b.Ctx, b.Request, owner) == ""
}

const noWholeTemplate = "the revision holds no whole template, and is merged into that of whatever goes back to it, so that %s; write a whole template, with $patch: replace in spec.template and nothing beside it (the accounts of controllers are excepted, see --controller-account)"

// refuseMerged refuses a revision whose identities and labels are not known, in the
// name of each policy that goes by them.
func (b *judgement) refuseMerged() {
	refuse := func(result decision.Result, hidden string) {
		result.Status, result.Message = decision.Fail, fmt.Sprintf(noWholeTemplate, hidden)
		result.Findings = []decision.Finding{{Path: "data"}}
		b.results = append(b.results, result)
	}
	if b.set.Identity.Len() > 0 {
		refuse(b.result(PolicyIdentities, RuleUse), "what its pods carry is not known")
	}
	for _, e := range b.set.ExemptingIn(b.Request.ClusterName) {
		refuse(b.resultOf(e, stored.RuleExemptLabels), fmt.Sprintf("it is not known whether its pods carry the labels %s, which exempt from DenyPolicy %s", e, e.Policy.Name))
	}
}

// sakes are the results that a refusal for the sake of marks and templates begins
// with: that of identities where there are sources, and else those of the policies
// with labels that exempt.
func (b *judgement) sakes(rule string) []decision.Result {
	var sakes []decision.Result
	if b.set.Identity.Len() == 0 {
		for _, e := range b.set.ExemptingIn(b.Request.ClusterName) {
			sakes = append(sakes, b.resultOf(e, rule))
		}
	}
	if len(sakes) == 0 {
		return []decision.Result{b.result(PolicyIdentities, rule)}
	}
	return sakes
}

// resultOf is the result of a policy that has labels which exempt.
func (b *judgement) resultOf(e *deny.ExemptLabels, rule string) decision.Result {
	result := b.result(e.Policy.Name, rule)
	result.Kind = stored.KindDenyPolicy
	return result
}
