package identityrule

import "github.com/sallyport-io/sallyport/internal/identity"

// Rule names in the results about identities. The policy of each is the source
// that the identity is read by.
const (
	// RuleUse: whoever gets into the runtime of a pod may act as its identities.
	RuleUse = "use"
	// RuleImmutable: the identities of a pod that is there do not change.
	RuleImmutable = "immutable"
	// RuleTemplateJudged: the mark of a template that was judged is Sallyport's.
	RuleTemplateJudged = "template-judged"
)

// Names of policies in results that belong to no source: about what stands in the
// document's own field under a key that no source has, and about an object whose
// identities are not known.
const (
	PolicyValidatedAnnotations = identity.Resource
	PolicyIdentities           = "identities"
)

// IdentityRules are the rules of every source that can be excused.
var IdentityRules = []string{RuleUse, RuleImmutable}
