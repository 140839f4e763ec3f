package identity

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

type sourced = source.Of[*v1alpha1.IdentitySource]

// sourceOf makes a source of the YAML of its spec.
func sourceOf(t testing.TB, name, spec string) sourced {
	t.Helper()
	object := &v1alpha1.IdentitySource{}
	object.Name = name
	if err := yaml.UnmarshalStrict([]byte(spec), &object.Spec); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return sourced{Object: object}
}

// setOf compiles sources that must all work.
func setOf(t testing.TB, specs ...string) *Set {
	t.Helper()
	var sources []sourced
	for i, spec := range specs {
		sources = append(sources, sourceOf(t, fmt.Sprintf("source-%d", i), spec))
	}
	set, problems := Compile(sources)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

// objectOf reads an object that is written as YAML.
func objectOf(t testing.TB, text string) *pod.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o, err := pod.Default().Decode(schema.GroupVersionKind{}, raw)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// accountsOf are accounts by NAMESPACE/NAME, with their annotations.
func accountsOf(known map[string]map[string]string) Accounts {
	return func(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
		annotations, ok := known[namespace+"/"+name]
		if !ok {
			return nil, apierrors.NewNotFound(corev1.Resource("serviceaccounts"), name)
		}
		account := &corev1.ServiceAccount{}
		account.Annotations = annotations
		return account, nil
	}
}

// lines writes claims as "PATH: KEY="VALUE"", with the fault after a semicolon.
func lines(claims []Claim) []string {
	var out []string
	for _, c := range claims {
		line := c.Path + ": " + c.String()
		if c.Fault != "" {
			line += "; " + c.Fault
		}
		out = append(out, line)
	}
	return out
}
