// Package crd holds what the CustomResourceDefinitions of Sallyport refuse by
// themselves, without Sallyport in front of them, each beside the nearest that is right.
package crd

import (
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Pair is an object that a definition refuses, and the nearest one that it takes. The
// loader of files says the same of both.
type Pair struct {
	// Kind of both, and What is wrong with the one.
	Kind, What string
	// Wrong and Right are the objects, in YAML.
	Wrong, Right string
	// Says is in the refusal: the words of a rule, or the path of the field.
	Says string
	// Beside is another object that the loader needs to take the right one; empty for
	// none.
	Beside string
}

// Pairs are all that there are.
func Pairs() []Pair {
	return slices.Concat(ofDenyPolicies, ofEscalations, ofSessions, ofClusters, ofIdentities, ofPodKinds, ofServers, ofModules, ofRules, ofMatches, ofExceptions, ofRequests)
}

// row is a Pair as it is written in a table: what stands at HERE in the frame.
type row struct{ what, wrong, right, says string }

// pairs puts rows into a frame: the spec of an object of a kind.
func pairs(kind, frame string, rows ...row) []Pair {
	meta := "{name: a}"
	if v1alpha1.Namespaced(kind) {
		meta = "{name: a, namespace: shop}"
	}
	return framed(kind, "{apiVersion: sallyport.io/v1alpha1, kind: "+kind+", metadata: "+meta+", spec: "+frame+"}", rows...)
}

// framed puts rows into a frame that is a whole object.
func framed(kind, frame string, rows ...row) []Pair {
	list := make([]Pair, len(rows))
	for i, r := range rows {
		list[i] = Pair{
			Kind: kind, What: r.what, Says: r.says,
			Wrong: strings.ReplaceAll(frame, "HERE", r.wrong), Right: strings.ReplaceAll(frame, "HERE", r.right),
		}
	}
	return list
}

// beside gives pairs another object that they need.
func beside(object string, list []Pair) []Pair {
	for i := range list {
		list[i].Beside = object
	}
	return list
}
