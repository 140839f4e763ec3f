package webhooks

import (
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longest is how long the expression may be that says about what it is asked in which
// namespaces. An API server takes expressions of 100,000 characters.
const longest = 60_000

// within notes that a policy of a namespace is about a cell.
func (n *needs) within(k class, one cell, namespace string) {
	if n.in[k] == nil {
		n.in[k] = map[cell]map[string]bool{}
	}
	if n.in[k][one] == nil {
		n.in[k][one] = map[string]bool{}
	}
	n.in[k][one][namespace] = true
}

// inNamespaces reports whether policies of a namespace can be about it.
func (s *served) inNamespaces() bool {
	return s.namespaced && (s.group != "" || s.resource != "namespaces")
}

// spaces says in which namespaces a webhook asks about which cells.
type spaces map[cell]map[string]bool

func (p spaces) add(one cell, namespace string) {
	if p[one] == nil {
		p[one] = map[string]bool{}
	}
	p[one][namespace] = true
}

// selector selects all of the namespaces.
func (p spaces) selector() *metav1.LabelSelector {
	all := map[string]bool{}
	for _, in := range p {
		maps.Copy(all, in)
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: slices.Sorted(maps.Keys(all)),
	}}}
}

// conditions say in which namespaces which cells are asked about, where these differ.
// What cannot be said within the bound is not: then each cell is asked about in all of
// the namespaces.
func (p spaces) conditions() []admissionregistrationv1.MatchCondition {
	// Cells that are asked about in the same namespaces stand together.
	together := map[string][]string{}
	for one, in := range p {
		where := "'" + strings.Join(slices.Sorted(maps.Keys(in)), "', '") + "'"
		together[where] = append(together[where], "'"+string(one.operation)+" "+one.group+"/"+one.resource+"'")
	}
	if len(together) < 2 {
		return nil
	}
	parts := make([]string, 0, len(together))
	for where, what := range together {
		slices.Sort(what)
		parts = append(parts, "what in ["+strings.Join(what, ", ")+"] && request.namespace in ["+where+"]")
	}
	slices.Sort(parts)
	expression := "[request.operation + ' ' + request.resource.group + '/' + request.resource.resource + (request.?subResource.orValue('') == '' ? '' : '/' + request.?subResource.orValue(''))].exists(what, " + strings.Join(parts, " || ") + ")"
	if len(expression) > longest {
		return nil
	}
	return []admissionregistrationv1.MatchCondition{{Name: "of-policies-of-the-namespace", Expression: expression}}
}
