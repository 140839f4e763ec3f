package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/test/crd"
)

// unguarded is a client of the API server, in front of which no Sallyport stands.
func unguarded(t *testing.T) dynamic.Interface {
	t.Helper()
	config := rest.CopyConfig(shared.Config)
	config.WarningHandler, config.QPS = rest.NoWarnings{}, -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// readOne reads an object that stands in a text.
func readOne(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	for d := range load.Parse("object", []byte(text)) {
		if d == nil {
			continue
		}
		if err := object.UnmarshalJSON(d.Raw); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	return object
}

// resourceOf is where objects like this one are written.
func resourceOf(client dynamic.Interface, object *unstructured.Unstructured) dynamic.ResourceInterface {
	resource := client.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Plural(object.GetKind())))
	if namespace := object.GetNamespace(); namespace != "" {
		return resource.Namespace(namespace)
	}
	return resource
}

// TestDefinitionsRefuseByThemselves puts what the definitions refuse, and the nearest
// that they take, to the API server without Sallyport.
func TestDefinitionsRefuseByThemselves(t *testing.T) {
	client := unguarded(t)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	for _, p := range crd.Pairs() {
		t.Run(p.Kind+", "+p.What, func(t *testing.T) {
			wrong, right := readOne(t, p.Wrong), readOne(t, p.Right)
			_, err := resourceOf(client, wrong).Create(t.Context(), wrong, dry)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), p.Says) {
				t.Errorf("%s: %v, want %q", p.Wrong, err, p.Says)
			}
			if _, err := resourceOf(client, right).Create(t.Context(), right, dry); err != nil {
				t.Errorf("%s: %v", p.Right, err)
			}
		})
	}
}

// TestStoredBeforeTheDefinitionsRefused has objects in the cluster that the definition
// came to refuse: they can be labelled, their status can be written and the rest of
// their spec changed, and what is wrong can be put right; it cannot come back.
func TestStoredBeforeTheDefinitionsRefused(t *testing.T) {
	client := unguarded(t)
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	const name = "denypolicies.sallyport.io"
	// change has the definition hold objects to a schema until a wrong one is accepted, or not.
	change := func(ctx context.Context, object map[string]any, taken bool) {
		t.Helper()
		raw, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": object}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := definitions.Patch(ctx, name, types.JSONPatchType, raw, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(waitLimit)
		for {
			probe := readOne(t, storedBefore)
			probe.SetName("probe")
			_, err := resourceOf(client, probe).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if (err == nil) == taken {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the definition is not in force: %v", err)
			}
		}
	}
	definition, err := definitions.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	full, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
	if err != nil {
		t.Fatal(err)
	}
	after := context.WithoutCancel(t.Context())
	policies := client.Resource(v1alpha1.GroupVersion.WithResource("denypolicies"))
	t.Cleanup(func() {
		change(after, full, false)
		if err := policies.Delete(after, "stored-before", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	change(t.Context(), open, true)
	if _, err := policies.Create(t.Context(), readOne(t, storedBefore), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	change(t.Context(), maps.Clone(full), false)

	patch := func(what string, into string, subresources ...string) error {
		_, err := policies.Patch(t.Context(), "stored-before", types.MergePatchType, []byte(into), metav1.PatchOptions{}, subresources...)
		if err != nil {
			return err
		}
		t.Logf("%s is accepted", what)
		return nil
	}
	for _, right := range []struct{ what, patch, subresource string }{
		{"a label", `{"metadata": {"labels": {"a": "b"}}}`, ""},
		{"a status", `{"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "CannotWork", "message": "m", "lastTransitionTime": "2030-01-01T00:00:00Z"}]}}`, "status"},
		{"another field", `{"spec": {"precedence": 7}}`, ""},
	} {
		var of []string
		if right.subresource != "" {
			of = append(of, right.subresource)
		}
		if err := patch(right.what, right.patch, of...); err != nil {
			t.Errorf("%s: %v", right.what, err)
		}
	}
	if err := patch("another cluster that is wrong", `{"spec": {"appliesTo": {"clusters": ["", ""]}}}`); !apierrors.IsInvalid(err) {
		t.Errorf("more that is wrong: %v", err)
	}
	if err := patch("what is right", `{"spec": {"appliesTo": {"clusters": ["a"]}, "podSecurityRules": {"thresholds": [{"maxScore": 0, "action": "allow"}]}}}`); err != nil {
		t.Error(err)
	}
	if err := patch("what was wrong", `{"spec": {"appliesTo": {"clusters": [""]}}}`); !apierrors.IsInvalid(err) {
		t.Errorf("what was wrong came back: %v", err)
	}
}

// storedBefore is wrong by a pattern, and by a rule in CEL.
const storedBefore = "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: stored-before}, spec: {appliesTo: {clusters: ['']}, podSecurityRules: {riskFactors: {hostPID: 50}, blockFactors: [hostIPC]}}}"
