package judge

import (
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// ProblemsOf makes problems of what decoding a document came to.
func ProblemsOf(d *load.Document, namespace string, err error) stored.Problems {
	var problems stored.Problems
	for _, e := range apijson.ErrorsOf(err) {
		problems = append(problems, ProblemOf(d, namespace, e.Path, e.Detail))
	}
	return problems
}

// ProblemOf makes a problem of a document. path is where in it, and may be empty.
func ProblemOf(d *load.Document, namespace, path, detail string) stored.Problem {
	return stored.Problem{Origin: d.Origin(), Kind: d.GVK.Kind, Namespace: namespace, Name: d.Name, Path: path, Detail: detail}
}

// NamespaceOf is the namespace of the request about a document: its own, the
// given one, or none for a kind that is known to have none.
func NamespaceOf(d *load.Document, otherwise string) string {
	switch {
	case d.GVK.Group == "" && d.GVK.Kind == "Namespace":
		// The API server asks about a namespace in that namespace.
		return d.Name
	case match.ClusterScoped(d.GVK.GroupKind()):
		return ""
	case d.Namespace != "":
		return d.Namespace
	default:
		return otherwise
	}
}
