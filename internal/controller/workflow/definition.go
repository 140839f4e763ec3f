package workflow

import (
	"context"
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// VerbRedefine is the right to take away a definition of one of our kinds, or to
// change what it is. Either takes all objects of the kind away, or empties them: a
// schema without a field drops that field of everything that is read.
const VerbRedefine = "redefine"

// RuleDefinition is the rule name in the results about definitions of our kinds.
const RuleDefinition = "definitions"

// definitions are what CustomResourceDefinitions are asked for by.
var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// ConcernsDefinition reports whether a request takes away or changes the definition
// of one of our kinds. Making one that is not there needs no right of ours: there is
// nothing of that kind to lose.
func ConcernsDefinition(r *request.Request) bool {
	if r.Door != request.Admission || r.Resource.GroupResource() != definitions {
		return false
	}
	switch r.Operation {
	case request.Delete:
	case request.Update:
		if r.Subresource == "" && sameSpec(r) {
			return false
		}
	default:
		return false
	}
	name := definitionName(r)
	// Where nothing says which it is, it may be ours.
	return name == "" || strings.HasSuffix(name, "."+v1alpha1.GroupVersion.Group)
}

// Definition judges who takes away or changes a definition of one of our kinds; nil
// where nothing is to be said.
func Definition(ctx context.Context, r *request.Request) []decision.Result {
	if !ConcernsDefinition(r) {
		return nil
	}
	name := definitionName(r)
	result := decision.Result{
		Policy: "sallyport", Rule: RuleDefinition, Kind: decision.KindOwn,
		Resource: decision.Resource{APIVersion: definitions.Group + "/v1", Kind: "CustomResourceDefinition", Name: name},
		Status:   decision.Pass, Action: decision.Enforce, Remedy: decision.RemedyOperator,
		Message: fmt.Sprintf("%s may redefine kinds of Sallyport", r.User.Name),
	}
	right := request.Attributes{Verb: VerbRedefine, Group: definitions.Group, Version: "v1", Resource: definitions.Resource, Name: name}
	switch allowed, err := mayRedefine(ctx, r, right); {
	case err != nil:
		result.Status, result.FailClosed, result.Message = decision.Error, true, fmt.Sprintf("whether %s may redefine kinds of Sallyport cannot be found out: %s", r.User.Name, err)
	case !allowed:
		what := "changing it"
		if r.Operation == request.Delete {
			what = "deleting it"
		}
		result.Status = decision.Fail
		result.Message = fmt.Sprintf("%s defines a kind of Sallyport, and %s takes away what stands in all objects of that kind: that needs the verb %s on %s%s, which %s does not have", name, what, VerbRedefine, definitions, named(right), r.User.Name)
	}
	return []decision.Result{result}
}

// named is the name that a right is about, in words.
func named(right request.Attributes) string {
	if right.Name == "" {
		return ", whatever its name"
	}
	return fmt.Sprintf(" %q", right.Name)
}

func mayRedefine(ctx context.Context, r *request.Request, right request.Attributes) (bool, error) {
	if r.Authorizer == nil {
		return false, errNoAuthorizer
	}
	return r.Authorizer.Allowed(ctx, r.User, right)
}

// definitionName is the name of the definition. Of many that are deleted at once,
// only the object has it.
func definitionName(r *request.Request) string {
	if r.OldObject != nil && r.OldObject.Meta.Name != "" {
		return r.OldObject.Meta.Name
	}
	return r.Name
}

// sameSpec reports whether an update leaves what the definition says.
func sameSpec(r *request.Request) bool {
	if r.Object == nil || r.OldObject == nil {
		return false
	}
	fresh, err := r.Object.Tree()
	if err != nil {
		return false
	}
	old, err := r.OldObject.Tree()
	return err == nil && apiequality.Semantic.DeepEqual(fresh["spec"], old["spec"])
}
