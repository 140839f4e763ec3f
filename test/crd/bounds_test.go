package crd

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// field finds the schema of a field by its path, in which items of lists have no part.
func (d *definition) field(path string) *schema.Structural {
	s := d.structural
	for name := range strings.SplitSeq(path, ".") {
		for s.Items != nil {
			s = s.Items
		}
		inner, ok := s.Properties[name]
		if !ok {
			return nil
		}
		s = &inner
	}
	return s
}

// TestBounds holds the longest lists of the definitions to those of the loader.
func TestBounds(t *testing.T) {
	known := definitions(t)
	for _, b := range []struct {
		kind, path string
		most       int
	}{
		{"ClusterPolicy", "spec.rules.validate.cel.variables", expression.MaxVariables},
		{"ClusterPolicy", "spec.rules.validate.cel.expressions", expression.MaxExpressions},
		{"ClusterPolicy", "spec.contextAware", contextgate.MaxGrants},
		{"Policy", "spec.rules.validate.cel.variables", expression.MaxVariables},
		{"Policy", "spec.rules.validate.cel.expressions", expression.MaxExpressions},
		{"ClusterAdmissionPolicy", "spec.contextAware", contextgate.MaxGrants},
		{"ClusterAdmissionPolicy", "spec.matchConditions", expression.MaxConditions},
		{"AdmissionPolicy", "spec.matchConditions", expression.MaxConditions},
		{"PolicyException", "spec.conditions", expression.MaxConditions},
		{"ClusterPolicyException", "spec.conditions", expression.MaxConditions},
		{"PolicyExceptionRequest", "spec.conditions", expression.MaxConditions},
	} {
		s := known[b.kind].field(b.path)
		if s == nil || s.ValueValidation == nil || s.ValueValidation.MaxItems == nil || *s.ValueValidation.MaxItems != int64(b.most) {
			t.Errorf("%s of a %s does not hold %d entries at most", b.path, b.kind, b.most)
		}
	}
}
