// Package load reads policies, the objects of a cluster and manifests from
// files, directories and standard input. Policies are read strictly: what cannot
// be understood to the letter is a problem that names file, object and field,
// and never passed over.
package load

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Document is one object with the place that it was read from.
type Document struct {
	// File as it was named or found; "standard input" for -.
	File string
	// Index counts the documents of the file from 1. Documents that hold
	// only comments are not counted.
	Index int
	// Item is the place in a list, such as "items[3]"; empty for an object that
	// stands for itself.
	Item string
	// Line of the file that the document begins on, counted from 1.
	Line int
	// GVK, Namespace and Name as the object gives them.
	GVK             schema.GroupVersionKind
	Namespace, Name string
	// Raw is the object's JSON. Every name in it is unique in its object.
	Raw []byte

	// None is set for a list of a kind, such as a PodList, that is empty; GVK is the
	// kind of what it would hold. Only Policies sees such documents.
	None bool

	text *text
	// hasItems is set for an object that is not a list and has a list of items. To
	// kubectl it is one all the same.
	hasItems bool
}

// Origin names the place in words: "FILE, document N", and the item for an
// object out of a list.
func (d *Document) Origin() string { return origin(d.File, d.Index, d.Item) }

func origin(file string, index int, item string) string {
	s := file + ", document " + strconv.Itoa(index)
	if item != "" {
		s += ", " + item
	}
	return s
}

// problem makes a problem of the document's object.
func (d *Document) problem(path, detail string) stored.Problem {
	return stored.Problem{
		Origin: d.Origin(), Kind: d.GVK.Kind, Namespace: d.Namespace, Name: d.Name,
		Path: path, Detail: detail,
	}
}

// problems makes problems of the errors that reading the document gave, each at
// the path of its field.
func (d *Document) problems(err error) stored.Problems {
	var problems stored.Problems
	for _, e := range apijson.ErrorsOf(err) {
		problems = append(problems, d.problem(e.Path, e.Detail))
	}
	return problems
}
