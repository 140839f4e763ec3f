package identityrule

import (
	"fmt"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// coveredByOwner reports whether a controller made the object from a template that
// was judged for the claims, and names the owner whose template that is: MakerOf
// knows the owner, every claim is among those of its template as they are now, and
// it carries the mark of a template that was judged for these. The same holds for
// the revision that a pod was made from.
//
// Where they do not hold, why says what is missing; it is empty where the
// requester is not a controller at all.
func (b *judgement) coveredByOwner(claims []identity.Claim) (owner, why string) {
	m, why := b.set.MakerOf(b.Call)
	if m == nil {
		return "", why
	}
	for _, t := range m.Templates() {
		own, err := b.set.Identity.OfObject(b.Ctx, t.Object, b.Request.Namespace, b.futureAccounts)
		if err != nil {
			return "", fmt.Sprintf("of %s, %v", t.Of, err)
		}
		for i := range claims {
			if !identity.Among(claims[i:i+1], own) {
				return "", fmt.Sprintf("the template of %s does not carry %s", t.Of, claims[i])
			}
		}
		if why := unmarked(t.Of, call.MarkOf(t.Object), identity.Signature(b.Request.Controllers.Secret(), b.Request.Namespace, own)); why != "" {
			return "", why + call.NoMarks(b.Request)
		}
	}
	return m.Name, ""
}

// unmarked says why a mark does not show that a template was judged for its claims.
func unmarked(of, mark, want string) string {
	switch {
	case identity.Marked(mark, want):
		return ""
	case !identity.OfClaims(mark):
		return fmt.Sprintf("the template of %s is not marked as judged, in the annotation %s: either the mutating webhook is not installed, or the object is older than that, see 'sallyport identities bootstrap'",
			of, v1alpha1.AnnotationTemplateJudged)
	default:
		return fmt.Sprintf("the template of %s was judged for other identities than it has now, see 'sallyport identities bootstrap'", of)
	}
}
