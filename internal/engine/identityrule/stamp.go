package identityrule

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// VerbAcknowledge is the right to vouch for templates that nobody was judged for,
// on each source that reads one of their identities.
const VerbAcknowledge = "acknowledge"

// makerWritten judges an object that makes pods, or that carries identities in
// fields of its own. A new or changed template needs its claims. A mark that
// appears needs them as well, or the right to acknowledge: it is what lets
// controllers make pods from the template. What a mark says of labels that exempt
// is judged with these, see DecideExemptLabels.
func (b *judgement) makerWritten() error {
	r := b.Request
	mark, old := call.MarkOf(r.Object), call.MarkOf(r.OldObject)
	claims, err := b.set.Identity.OfObject(b.Ctx, r.Object, r.Namespace, b.futureAccounts)
	if err != nil {
		return err
	}
	if len(claims) == 0 && mark == "" && !call.IsRevision(r.Object) {
		return nil
	}
	what, err := b.templateChange()
	if err != nil {
		return err
	}
	if b.broken != nil {
		// Marks are for the sources that work.
		if what == changed {
			b.review(claims, "")
		}
		return nil
	}
	if (what != unchanged || b.newOwner()) && b.mergedRevision() {
		b.review(claims, "")
		b.refuseMerged()
		return nil
	}
	marked := mark != "" && mark != old
	if (marked || what != unchanged) && !b.valid(mark, claims) {
		b.forged(mark, len(claims) > 0 || len(b.set.Exempting(r, r.Object)) > 0)
		return nil
	}
	stamp := b.signature(claims)
	switch {
	case len(claims) == 0:
	case what == changed:
		b.made(claims)
	case identity.Marked(mark, stamp) && !identity.Marked(old, stamp):
		return b.newlyMarked(claims, what, old)
	}
	return nil
}

// newOwner reports whether an update that changes no template gives a revision to
// another owner.
func (b *judgement) newOwner() bool {
	before, _ := call.ControllerOf(b.Request.OldObject.Meta)
	after, _ := call.ControllerOf(b.Request.Object.Meta)
	return (before == nil) != (after == nil) || before != nil && before.UID != after.UID
}

// signature is the part of the mark for the claims in the request's namespace.
func (b *judgement) signature(claims []identity.Claim) string {
	return identity.Signature(b.Request.Controllers.Secret(), b.Request.Namespace, claims)
}

// fullMark says that the template was judged for all that it carries.
func (b *judgement) fullMark(claims []identity.Claim) string {
	stamps := []string{b.signature(claims)}
	for _, e := range b.set.Exempting(b.Request, b.Request.Object) {
		stamps = append(stamps, e.Signature(b.Request))
	}
	return identity.Mark(stamps...)
}

// valid reports whether every part of a mark is one that Sallyport would write for
// what the template carries.
func (b *judgement) valid(mark string, claims []identity.Claim) bool {
	full := b.fullMark(claims)
	for _, stamp := range identity.Signatures(mark) {
		if !identity.Marked(full, stamp) {
			return false
		}
	}
	return true
}

// forged refuses a mark that is not what Sallyport would write.
func (b *judgement) forged(mark string, carries bool) {
	var message string
	path := "metadata.annotations[" + v1alpha1.AnnotationTemplateJudged + "]"
	switch {
	case b.Request.Unauthenticated:
		message = "the mark of a template that was judged is written only for callers that show credentials, and this one was not written by Sallyport for what the template carries in this namespace (serve --callers network)"
	case mark == v1alpha1.AcknowledgeTemplate:
		message = "the mark of a template that was judged is put in by Sallyport's mutating webhook, which is not installed, or had nothing to put in"
	case carries:
		message = "the mark of a template that was judged is written only by Sallyport, and this one does not belong to what the template carries in this namespace; if nobody wrote it by hand, the mutating webhook is not installed"
	default:
		message = "the mark of a template that was judged is written only by Sallyport, and this template carries neither an identity nor labels that exempt; if nobody wrote it by hand, the mutating webhook is not installed"
	}
	for _, result := range b.sakes(RuleTemplateJudged) {
		result.Status, result.Remedy, result.Message, result.Marked = decision.Fail, decision.RemedyAnnotation, message, true
		result.Findings = []decision.Finding{{Path: path, Value: mark}}
		b.results = append(b.results, result)
	}
}

// newlyMarked judges a mark on a template that does not change.
func (b *judgement) newlyMarked(claims []identity.Claim, what change, old string) error {
	if what == removed {
		// What was judged for all of them was judged for those that are left.
		before, err := b.set.Identity.OfObject(b.Ctx, b.Request.OldObject, b.Request.Namespace, b.futureAccounts)
		if err != nil {
			return fmt.Errorf("before the update, %w", err)
		}
		if identity.Marked(old, b.signature(before)) && identity.Among(claims, before) {
			b.allow(claims, "the template was judged for more than it carries now")
			return nil
		}
	}
	owner, why := b.coveredByOwner(claims)
	if owner != "" {
		b.allow(claims, fmt.Sprintf("%.100q marks it as the template of %s is marked", b.Request.User.Name, owner))
		return nil
	}
	answers := b.ask(claims)
	if !answers.Allowed() && b.Request.User.Name != "" {
		acknowledged, err := b.acknowledges(claims)
		if err != nil {
			return err
		}
		if acknowledged {
			b.allow(claims, fmt.Sprintf("%.100q acknowledges the template", b.Request.User.Name))
			return nil
		}
		why = strings.TrimPrefix(why+"; the verb "+VerbAcknowledge+" on identitysources."+v1alpha1.GroupVersion.Group+", by which a template is acknowledged, would do as well", "; ")
	}
	b.answer(answers, why)
	return nil
}

// acknowledges reports whether the requester may vouch for templates with these
// claims.
func (b *judgement) acknowledges(claims []identity.Claim) (bool, error) {
	if b.Request.Authorizer == nil {
		return false, call.ErrNoAuthorizer
	}
	var sources []string
	for i := range claims {
		source := claims[i].Source
		if source == "" {
			source = PolicyValidatedAnnotations
		}
		if claims[i].Fault != "" {
			return false, nil
		}
		if slices.Contains(sources, source) {
			continue
		}
		sources = append(sources, source)
		allowed, err := b.Request.Authorizer.Allowed(b.Ctx, b.Request.User, request.Attributes{
			Verb: VerbAcknowledge, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "identitysources", Name: source,
		})
		if err != nil {
			return false, fmt.Errorf("whether %.100q may acknowledge templates cannot be found out: %w", b.Request.User.Name, err)
		}
		if !allowed {
			return false, nil
		}
	}
	return true, nil
}

// Marks reports whether the mutating webhook has to see to the mark of a template
// in the request.
func (s *Sources) Marks(r *request.Request) bool {
	if s.Identity.Len() == 0 && len(s.ExemptLabels) == 0 || r.Door != request.Admission || r.Object == nil || r.Subresource != "" || r.Operation != request.Create && r.Operation != request.Update {
		return false
	}
	return s.Markable(r.Object.GVK.GroupKind())
}

// Markable reports whether objects of a kind have the mark of a template.
func (s *Sources) Markable(gk schema.GroupKind) bool {
	if gk.Group == v1alpha1.GroupVersion.Group || call.IsPod(gk) {
		return false
	}
	return s.Registry.Makes(gk) || slices.Contains(s.Identity.Kinds(), gk)
}

// Mark sees to the mark of a template, and returns what is to be changed as a
// JSON patch; nil for nothing. It judges nobody: the validating webhook lets a
// mark in only together with whoever may write it. So an object whose identities
// are not known is left as it is, and refused there.
func (s *Sources) Mark(ctx context.Context, r *request.Request) []byte {
	r, _ = s.Settled(ctx, r)
	b := judgement{Call: &call.Call{Ctx: ctx, Request: r, Exceptions: s.Excusing}, set: s}
	got, there := r.Object.Meta.Annotations[v1alpha1.AnnotationTemplateJudged]
	claims, err := s.Identity.OfObject(ctx, r.Object, r.Namespace, b.futureAccounts)
	if err != nil {
		return b.unread(got, there)
	}
	what, err := b.templateChange()
	if err != nil {
		return b.unread(got, there)
	}
	want := b.mark(claims, what, got)
	if r.Observing && want != "" {
		want = b.earned(want, claims, what)
	}
	if r.Unauthenticated {
		want = b.brought(want, got)
	}
	if got == want && there == (want != "") {
		return nil
	}
	return patchMark(r, want, there)
}

// unread is what is to be changed where it is not known what a template carries: nothing, as
// the validating webhook refuses it. Where that lets everything in, no part of the mark
// stays that was not there before, and none on another template.
func (b *judgement) unread(got string, there bool) []byte {
	if !b.Request.Observing || got == "" {
		return nil
	}
	old := call.MarkOf(b.Request.OldObject)
	if call.OtherTemplate(b.Request) {
		old = ""
	}
	want := identity.Mark(slices.DeleteFunc(identity.Signatures(got), func(s string) bool { return !identity.Marked(old, s) })...)
	if got == want {
		return nil
	}
	return patchMark(b.Request, want, there)
}

// brought takes out of a mark all that the request did not bring along: a mark that Sallyport
// hands to whoever asks could be put into a template while no webhook is asked. What is to
// be acknowledged stays as it is, and is refused in words.
func (b *judgement) brought(mark, got string) string {
	if got == v1alpha1.AcknowledgeTemplate {
		return got
	}
	old := call.MarkOf(b.Request.OldObject)
	return identity.Mark(slices.DeleteFunc(identity.Signatures(mark), func(s string) bool { return !identity.Marked(got, s) && !identity.Marked(old, s) })...)
}

// earned takes out of a mark what somebody brings into it whom the validating webhook would
// refuse it if it refused anything: a template that is let in all the same must not count
// as judged once refusals count. What it was judged for before stays, unless it is another
// template now.
func (b *judgement) earned(mark string, claims []identity.Claim, what change) string {
	meta := b.Request.Object.Meta.DeepCopy()
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[v1alpha1.AnnotationTemplateJudged] = mark
	r := *b.Request
	r.Object = b.Request.Object.WithMeta(meta)
	c := &call.Call{Ctx: b.Ctx, Request: &r, Exceptions: b.set.Excusing}
	refused := func(results []decision.Result, policy string) bool {
		return slices.ContainsFunc(results, func(r decision.Result) bool {
			return (policy == "" || r.Policy == policy) && (r.Status == decision.Fail || r.Status == decision.Error)
		})
	}
	old := call.MarkOf(b.Request.OldObject)
	unearned := map[string]bool{}
	if refused(b.set.DecideIdentities(c, nil), "") {
		signature := b.signature(claims)
		unearned[signature] = what == changed || !identity.Marked(old, signature)
	}
	exemptions := b.set.DecideExemptLabels(c, nil)
	for _, e := range b.set.Exempting(b.Request, b.Request.Object) {
		signature := e.Signature(b.Request)
		unearned[signature] = refused(exemptions, e.Policy.Name)
	}
	return identity.Mark(slices.DeleteFunc(identity.Signatures(mark), func(s string) bool { return unearned[s] })...)
}

// mark is what belongs into the annotation, where got stands now.
func (b *judgement) mark(claims []identity.Claim, what change, got string) string {
	old := call.MarkOf(b.Request.OldObject)
	if what != unchanged {
		return identity.Mark(append([]string{b.claimsSignature(claims, what, old)}, b.exemptionSignatures(what, old)...)...)
	}
	if got == v1alpha1.AcknowledgeTemplate {
		return b.fullMark(claims)
	}
	if got == "" || !b.valid(got, claims) {
		// Whoever does not change the template neither adds nor takes away.
		return old
	}
	var stamps []string
	for _, stamp := range identity.Signatures(b.fullMark(claims)) {
		if identity.Marked(got, stamp) || identity.Marked(old, stamp) {
			stamps = append(stamps, stamp)
		}
	}
	return identity.Mark(stamps...)
}

// claimsSignature is the part of the mark about claims of a template that changes.
func (b *judgement) claimsSignature(claims []identity.Claim, what change, old string) string {
	if what == removed {
		before, err := b.set.Identity.OfObject(b.Ctx, b.Request.OldObject, b.Request.Namespace, b.futureAccounts)
		if err != nil || !identity.Marked(old, b.signature(before)) {
			return ""
		}
	}
	return b.signature(claims)
}

// exemptionSignatures are the parts about labels: of those that are new, which are
// judged with the template, of those that it was judged for before, and, where a
// template that changes was never judged for them, of those that whoever changes it
// may set. Others may go on changing it, and are not asked about labels that were
// there.
func (b *judgement) exemptionSignatures(what change, old string) []string {
	var stamps []string
	for _, e := range b.set.Exempting(b.Request, b.Request.Object) {
		stamp := e.Signature(b.Request)
		put := e.NewlySet(b.Request) != nil || identity.Marked(old, stamp)
		if !put && what == changed && b.Request.User.Name != "" {
			may, err := b.set.MayExempt(b.Call, e)
			put = err == nil && may
		}
		if put {
			stamps = append(stamps, stamp)
		}
	}
	return stamps
}

func patchMark(r *request.Request, want string, there bool) []byte {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	const annotations = "/metadata/annotations"
	// RFC 6901 writes the slash of the key as ~1.
	key := annotations + "/" + strings.ReplaceAll(v1alpha1.AnnotationTemplateJudged, "/", "~1")
	var patch operation
	switch {
	case want == "":
		patch = operation{Op: "remove", Path: key}
	case r.Object.Meta.Annotations == nil:
		patch = operation{Op: "add", Path: annotations, Value: map[string]string{v1alpha1.AnnotationTemplateJudged: want}}
	default:
		patch = operation{Op: "add", Path: key, Value: want}
	}
	raw, err := json.Marshal([]operation{patch})
	if err != nil {
		return nil
	}
	return raw
}
