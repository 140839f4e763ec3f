package stored

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Broken is an object of the API server that cannot do what it says, and that no
// earlier version stands in for. It is never passed over: what it is about, as far
// as that can be read, is answered by its fail mode until it is mended. See
// docs/decisions/0016-broken-policies.md.
type Broken struct {
	Kind, Namespace, Name string
	// Problems are what is wrong with it.
	Problems Problems

	// Object as it is stored; nil where even that cannot be read.
	Object map[string]any
	// about says in words what is answered meanwhile, and open that it is let in.
	about []string
	Open  bool
}

// BrokenKinds are the kinds that are told of when they cannot work: those that
// restrict, and those that others need. What only excuses, or asks to be excused,
// then does nothing, and has a state of its own.
var BrokenKinds = []string{
	KindDenyPolicy, KindClusterPolicy, KindPolicy, KindClusterAdmissionPolicy, KindAdmissionPolicy, KindPolicyServer, KindPodKind,
	identity.KindSource, exception.KindExceptionPolicy, breakglass.KindEscalation,
}

// NewBroken is an object as the API server gives it that cannot work; nil for the
// kinds that do nothing when they cannot.
func NewBroken(object *unstructured.Unstructured, problems Problems) *Broken {
	if !slices.Contains(BrokenKinds, object.GetKind()) {
		return nil
	}
	return &Broken{
		Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Problems: problems, Object: object.Object,
	}
}

// NewBrokenOf is the same for an object that was decoded.
func NewBrokenOf(id Ref, object any, problems Problems) *Broken {
	b := &Broken{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, Problems: problems}
	if raw, err := json.Marshal(object); err == nil {
		b.Object, _ = apijson.Tree(raw)
	}
	return b
}

// Ref names the object.
func (b *Broken) Ref() Ref { return Ref{b.Kind, b.Namespace, b.Name} }

// Called is the object as sentences name it.
func (b *Broken) Called() string {
	if b.Namespace == "" {
		return b.Kind + " " + b.Name
	}
	return b.Kind + " " + b.Namespace + "/" + b.Name
}

// longestWhy bounds how much of what is wrong stands in an answer; the status of
// the object holds the whole.
const longestWhy = 200

// Why is what is wrong with it, shortened.
func (b *Broken) Why() string {
	if len(b.Problems) == 0 {
		return "it cannot be read"
	}
	text := decision.Clean(b.Problems[0].At())
	if len(text) > longestWhy {
		text = strings.ToValidUTF8(text[:longestWhy], "") + " ..."
	}
	if n := len(b.Problems) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// Meanwhile says what is answered until it is mended.
func (b *Broken) Meanwhile() string {
	switch {
	case len(b.about) == 0:
		return "it does nothing until it is corrected"
	case b.Open:
		return "until it is corrected or deleted, this is let in: " + strings.Join(b.about, "; ")
	}
	return "until it is corrected or deleted, this is refused: " + strings.Join(b.about, "; ")
}

// Answers notes what is answered meanwhile.
func (b *Broken) Answers(format string, args ...any) {
	b.about = append(b.about, fmt.Sprintf(format, args...))
}

// Answer turns a result into what is said of a request that the object is about,
// and is the only place that does. The action of the result is kept: what is only
// to be recorded, or warned of, refuses nothing. open names what lets it in, where
// something does.
func (b *Broken) Answer(result decision.Result, open string) decision.Result {
	result.Status, result.Remedy = decision.Error, decision.RemedyMend
	result.Message = "it cannot work as it is stored: " + b.Why()
	switch {
	case result.Action == decision.ActionAudit:
		result.WouldDeny = open == ""
		result.Message += "; validationFailureAction Audit, enforcementAction audit, or the mode monitor, lets the request through"
	case result.Action == decision.ActionWarn:
		result.WouldDeny = open == ""
		result.Message += "; validationFailureAction Warn, or enforcementAction warn, lets the request through"
	case open != "":
		result.Action = decision.ActionWarn
		result.Message += "; " + open + " lets the request through"
	default:
		result.Message += "; what it is about is refused until it is corrected or deleted"
	}
	return result
}
