package policy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/pattern"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// lastApplied is where kubectl apply keeps what was written, nulls among it, of an
// object that it sends without them.
const lastApplied = corev1.LastAppliedConfigAnnotation

// writtenRule is as much of a rule as says which patterns it has.
type writtenRule struct {
	Name     string `json:"name"`
	Validate struct {
		Pattern    json.RawMessage `json:"pattern"`
		AnyPattern json.RawMessage `json:"anyPattern"`
	} `json:"validate"`
}

// writtenPolicy is as much of a policy as says which rules it has.
type writtenPolicy struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Rules []writtenRule `json:"rules"`
	} `json:"spec"`
}

// lostNulls refuses a policy whose patterns had nulls when they were written and have
// none where they arrived: kubectl apply takes them out, with what they ask. Patterns
// that were changed since are judged as they stand.
func lostNulls(kind, origin string, raw []byte) stored.Problems {
	if kind != stored.KindClusterPolicy && kind != stored.KindPolicy || !bytes.Contains(raw, []byte(lastApplied)) {
		return nil
	}
	var here, written writtenPolicy
	if apijson.Unmarshal(raw, &here) != nil || apijson.Unmarshal([]byte(here.Metadata.Annotations[lastApplied]), &written) != nil {
		return nil
	}
	id := stored.Ref{Kind: kind}
	id.Namespace, id.Name = nameIn(raw)
	var problems stored.Problems
	for _, w := range written.Spec.Rules {
		i := slices.IndexFunc(here.Spec.Rules, func(r writtenRule) bool { return r.Name == w.Name })
		if i < 0 {
			continue
		}
		at, is := field.NewPath("spec").Child("rules").Index(i).Child("validate"), &here.Spec.Rules[i].Validate
		for _, errs := range []field.ErrorList{
			lost(w.Validate.Pattern, is.Pattern, at.Child("pattern")),
			lost(w.Validate.AnyPattern, is.AnyPattern, at.Child("anyPattern")),
		} {
			problems = append(problems, id.Problems(origin, errs)...)
		}
	}
	return problems
}

// lost says what is wrong with each null of a pattern as it was written, if what
// arrived is that pattern without them.
func lost(written, arrived json.RawMessage, at *field.Path) field.ErrorList {
	before, after := clusterpolicy.AnyTree(written), clusterpolicy.AnyTree(arrived)
	// A pattern that is not there is a null as well.
	if len(pattern.Nulls(after, at)) > 0 || !reflect.DeepEqual(withoutNulls(before), withoutNulls(after)) {
		return nil
	}
	return pattern.Nulls(before, at)
}

// withoutNulls is what kubectl apply leaves of a value.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		left := make(map[string]any, len(v))
		for key, inner := range v {
			if inner != nil {
				left[key] = withoutNulls(inner)
			}
		}
		return left
	case []any:
		left := make([]any, 0, len(v))
		for _, inner := range v {
			if inner != nil {
				left = append(left, withoutNulls(inner))
			}
		}
		return left
	}
	return value
}
