package crd

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// definition is a CustomResourceDefinition as an API server holds objects to it.
type definition struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *schemacel.Validator
}

// definitions reads all that are installed, by kind.
func definitions(t *testing.T) map[string]*definition {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	read := map[string]*definition{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var written apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(raw, &written); err != nil {
			t.Fatal(file, err)
		}
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(written.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
			t.Fatal(file, err)
		}
		d := &definition{}
		if d.structural, err = schema.NewStructural(&props); err != nil {
			t.Fatal(file, err)
		}
		if d.schema, _, err = validation.NewSchemaValidator(&props); err != nil {
			t.Fatal(file, err)
		}
		d.rules = schemacel.NewValidator(d.structural, true, celconfig.PerCallLimit)
		read[written.Spec.Names.Kind] = d
	}
	return read
}

// refuses says what is wrong with a new object, in the order in which an API server
// looks. The object is changed as it is there.
func (d *definition) refuses(ctx context.Context, object map[string]any) field.ErrorList {
	var errs field.ErrorList
	for _, unknown := range pruning.PruneWithOptions(object, d.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		errs = append(errs, field.Invalid(nil, unknown, "unknown field"))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, d.structural)
	defaulting.Default(object, d.structural)
	errs = append(errs, validation.ValidateCustomResource(nil, object, d.schema)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.structural, object)...)
	if d.rules == nil {
		return errs
	}
	more, _ := d.rules.Validate(ctx, nil, d.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, more...)
}

// eachRule visits the rules in CEL that are about an object as it is, with how often
// each is asked at most; 0 where that is not bounded.
func (d *definition) eachRule(visit func(s *schema.Structural, root bool, often uint64)) {
	var walk func(s *schema.Structural, root bool, often uint64)
	below := func(often uint64, most *int64) uint64 {
		if most == nil || often == 0 {
			return 0
		}
		return often * uint64(*most)
	}
	walk = func(s *schema.Structural, root bool, often uint64) {
		if len(s.XValidations) > 0 {
			visit(s, root, often)
		}
		for name := range s.Properties {
			property := s.Properties[name]
			walk(&property, false, often)
		}
		if s.Items != nil {
			walk(s.Items, false, below(often, maxOf(s, func(v *schema.ValueValidation) *int64 { return v.MaxItems })))
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
			walk(s.AdditionalProperties.Structural, false, below(often, maxOf(s, func(v *schema.ValueValidation) *int64 { return v.MaxProperties })))
		}
	}
	walk(d.structural, true, 1)
}

func maxOf(s *schema.Structural, of func(*schema.ValueValidation) *int64) *int64 {
	if s.ValueValidation == nil {
		return nil
	}
	return of(s.ValueValidation)
}

// times multiplies, and ends at the most that there is.
func times(a, b uint64) uint64 {
	if a != 0 && math.MaxUint64/a < b {
		return math.MaxUint64
	}
	return a * b
}
