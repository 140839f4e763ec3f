package exception

import (
	"cmp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// epoch stands for the time of a request that has none, where only the length of
// what it asks for matters.
var epoch = time.Unix(0, 0)

// State is what became of an object.
type State struct {
	// Problem is why it has no effect, if something is wrong with it.
	Problem error
	// Unanswered says of a request why no response answers it as it is.
	Unanswered string
	// Answered is set for a request that a response answers as it is.
	Answered bool
	// Effective is set for a response that approves a request as it is, and for that
	// request.
	Effective bool
	// Reach of a request, in words: the namespaces in which it would excuse.
	Reach string
	// Periods that it is valid for, one for each part.
	Periods []Period
}

// State returns what became of an object of one of the Kinds.
func (s *Set) State(kind, namespace, name string) State {
	if s == nil {
		return State{}
	}
	return s.states[identity{kind, namespace, name}]
}

// UID of the object that the pass comes from.
func (p *Exception) UID() types.UID { return p.uid }

func rulesOf(list []v1alpha1.ExceptedRules, namespace string) []ruleName {
	rules, _ := readRules(list, namespace, field.NewPath("spec", "exceptions"))
	return rules
}

// Inherit fills in what an entry of a request does not give and the request gives
// for all.
func Inherit(x v1alpha1.RequestedException, spec *v1alpha1.PolicyExceptionRequestSpec) v1alpha1.RequestedException {
	x.Reason = cmp.Or(x.Reason, spec.Reason)
	if x.Exclude == nil {
		x.Exclude = spec.Exclude
	}
	if x.Duration == "" && x.ExpiresAt == nil {
		x.Duration, x.ExpiresAt = spec.Duration, spec.ExpiresAt
	}
	return x
}

// ExceptedBy lists what a request names.
func ExceptedBy(r *v1alpha1.PolicyExceptionRequest) []v1alpha1.ExceptedRules {
	list := make([]v1alpha1.ExceptedRules, len(r.Spec.Exceptions))
	for i := range list {
		list[i] = r.Spec.Exceptions[i].ExceptedRules
	}
	return list
}

// AllowsSelfApproval reports whether some ExceptionPolicy lets those who asked
// approve the request themselves.
func (r *Rules) AllowsSelfApproval(q *v1alpha1.PolicyExceptionRequest) bool {
	return r.anyAllows(q.Namespace, rulesOf(ExceptedBy(q), q.Namespace), func(s *v1alpha1.ExceptionPolicySpec) bool { return s.AllowSelfApproval })
}

// MayAsk returns the name of the first ExceptionPolicy that keeps the user from
// asking for, or writing, an exception of the namespace to what is listed; empty
// if none does.
func (r *Rules) MayAsk(user *request.User, namespace string, list []v1alpha1.ExceptedRules) (forbiddenBy string) {
	rules := rulesOf(list, namespace)
	for _, p := range r.policies {
		if p.subjects != nil && p.limits(namespace, rules) && !p.subjects.Match(user) {
			return p.name
		}
	}
	return ""
}

// About names what the pass is about, so that passes can be compared: one entry
// for each rule and resource.
func (p *Exception) About() []string {
	keys := keysOf(p)
	about := make([]string, 0, len(keys))
	for _, k := range keys {
		// What is open in every part is about too much to be compared.
		if k != (key{}) {
			about = append(about, k.policy+"\x00"+k.rule+"\x00"+k.kind+"\x00"+k.namespace+"\x00"+k.name+"\x00"+strconv.FormatBool(k.prefix)+k.label.Key+"="+k.label.Value)
		}
	}
	return about
}
