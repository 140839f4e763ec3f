package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/files/defaults"
)

// filledInRules look at what the API server fills in and drops. Each warns, so that
// an answer says of every rule whether it failed.
var filledInRules = []string{
	`pattern: {spec: {dnsPolicy: ClusterFirst, schedulerName: default-scheduler}}`,
	`pattern: {spec: {restartPolicy: "Always | Never", terminationGracePeriodSeconds: ">=30"}}`,
	`pattern: {spec: {containers: [{imagePullPolicy: IfNotPresent}]}}`,
	`pattern: {spec: {=(initContainers): [{imagePullPolicy: Always}]}}`,
	`pattern: {spec: {=(volumes): [{X(hostPath): "?*"}]}}`,
	`pattern: {spec: {=(volumes): [{=(emptyDir): {X(medium): "?*"}}]}}`,
	`pattern: {spec: {containers: [{=(ports): [{protocol: TCP}]}]}}`,
	`pattern: {spec: {containers: [{=(livenessProbe): {periodSeconds: 10, =(httpGet): {scheme: HTTP}}}]}}`,
	`pattern: {spec: {containers: [{(terminationMessagePolicy): File, resources: {X(claims): "*"}}]}}`,
	`pattern: {spec: {securityContext: {X(runAsUser): "*"}}}`,
	`pattern: {spec: {X(hostNetwork): "*"}}`,
	`pattern: {spec: {=(hostAliases): [{X(hostnames): "*"}]}}`,
	`cel: {expressions: [{expression: "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.secret) || v.secret.defaultMode == 420)"}]}`,
	`cel: {expressions: [{expression: "object.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged))"}]}`,
	`cel: {expressions: [{expression: "object.spec.containers.all(c, !has(c.env) || c.env.all(e, !has(e.value) || e.value != ''))"}]}`,
	`cel: {expressions: [{expression: "!has(object.spec.nodeSelector) && !has(object.spec.affinity)"}]}`,
	`cel: {expressions: [{expression: "object.spec.containers.all(c, has(c.resources.limits) && 'cpu' in c.resources.limits)"}]}`,
	`podSecurity: {level: baseline}`,
	`podSecurity: {level: restricted}`,
}

func filledInPolicies() string {
	policies := &strings.Builder{}
	policy := func(name, kind, validate string) {
		fmt.Fprintf(policies, "---\napiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec:\n  validationFailureAction: Warn\n  rules:\n"+
			"  - {name: rule, match: {any: [{resources: {kinds: [%s]}}]}, validate: {message: \"<%[1]s>\", %[3]s}}\n", name, kind, validate)
	}
	for i, validate := range filledInRules {
		policy(fmt.Sprintf("pods-%d", i), "Pod", validate)
	}
	for i, kind := range filledInKinds {
		if kind.rule != "" {
			policy(fmt.Sprintf("kind-%d", i), kind.gvk[strings.LastIndexByte(kind.gvk, '/')+1:], "pattern: "+kind.rule)
		}
	}
	return policies.String()
}

// TestFilledIn puts half-written manifests to check and, in a dry run, to the API
// server that asks Sallyport. The same rules must fail, and what check judged must
// be what the API server made of it.
func TestFilledIn(t *testing.T) { filledIn(t, 90) }

func filledIn(t *testing.T, count int) {
	policies := filledInPolicies()
	if err := shared.Apply(t.Context(), "{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop}}"); err != nil {
		t.Fatal(err)
	}
	guard(t, admissionDoor, policies)
	seed := rand.Uint64()
	half := halfWritten{rand.New(rand.NewPCG(seed, 2))}
	objects := make([]map[string]any, count)
	written := &strings.Builder{}
	for i := range objects {
		objects[i] = half.manifest(t, i)
		text, err := json.Marshal(objects[i])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(written, "%s\n", text)
	}
	failed := checkWarnings(t, policies, written.String())
	refused, warned, different := 0, 0, 0
	for i, object := range objects {
		made, names, err := dryRunWarnings(t, object)
		text, _ := json.Marshal(object)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			refused++
			t.Logf("refused: %v", err)
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		warned += len(names)
		name := fmt.Sprintf("half-%d", i)
		if diff := cmp.Diff(names, failed[name]); diff != "" {
			different++
			t.Errorf("rules that fail (-API server +check):\n%s\n%s", diff, text)
		}
		if diff := cmp.Diff(withoutAdded(made), withoutAdded(filled(t, object))); diff != "" {
			different++
			t.Errorf("the object (-API server +check):\n%s\n%s", diff, text)
		}
	}
	if refused > count/2 || warned < count {
		t.Errorf("%d of %d were refused, and %d rules failed; too little was compared", refused, count, warned)
	}
	fmt.Printf("%d manifests of %d kinds, %d refused by the API server, %d rules failed, %d different; seed %d\n", count, len(filledInKinds), refused, warned, different, seed)
}

var namedRule = regexp.MustCompile(`<([a-z]+-[0-9]+)>`)

// checkWarnings judges all objects by check, and gives the rules that failed, by the
// name of the object.
func checkWarnings(t *testing.T, policies, objects string) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"policies.yaml": policies, "objects.json": objects} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), binary, "check", "-p", filepath.Join(dir, "policies.yaml"), "-o", "json", filepath.Join(dir, "objects.json")).Output()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	var judged struct {
		Results []struct {
			Status, Message string
			Resource        struct{ Name string }
		}
	}
	if err := json.Unmarshal(out, &judged); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	failed := map[string][]string{}
	for _, r := range judged.Results {
		if r.Status == "error" {
			failed[r.Resource.Name] = append(failed[r.Resource.Name], r.Message)
		}
		if r.Status != "pass" && r.Status != "skip" {
			for _, name := range namedRule.FindAllStringSubmatch(r.Message, -1) {
				failed[r.Resource.Name] = append(failed[r.Resource.Name], name[1])
			}
		}
	}
	for name := range failed {
		slices.Sort(failed[name])
	}
	return failed
}

// warnings collects what an answer warns of.
type warnings struct {
	sync.Mutex
	names []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	for _, name := range namedRule.FindAllStringSubmatch(text, -1) {
		w.names = append(w.names, name[1])
	}
}

func dryRunWarnings(t *testing.T, object map[string]any) (made map[string]any, names []string, err error) {
	t.Helper()
	told := &warnings{}
	config := rest.CopyConfig(shared.Config)
	config.WarningHandler = told
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	created, err := client.Resource(resource).Namespace("shop").Create(t.Context(), u.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(told.names)
	return created.Object, told.names, nil
}

func filled(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	full, err := defaults.Newest().Fill(u.GroupVersionKind(), text, "shop")
	if err != nil {
		t.Fatal(err)
	}
	made := &unstructured.Unstructured{}
	if err := made.UnmarshalJSON(full); err != nil {
		t.Fatal(err)
	}
	return made.Object
}

// withoutAdded is an object without what storage and admission plugins give it.
func withoutAdded(object map[string]any) map[string]any {
	u := &unstructured.Unstructured{Object: object}
	delete(u.Object, "status")
	// The answer has been through storage, which does not tell them apart.
	withoutEmptyLists(u.Object)
	for _, name := range []string{"uid", "creationTimestamp", "generation", "managedFields", "resourceVersion"} {
		unstructured.RemoveNestedField(u.Object, "metadata", name)
	}
	switch u.GroupVersionKind() {
	case schema.GroupVersionKind{Version: "v1", Kind: "Pod"}:
		for _, name := range []string{"priority", "preemptionPolicy", "tolerations", "serviceAccount", "serviceAccountName"} {
			unstructured.RemoveNestedField(u.Object, "spec", name)
		}
		withoutTokens(u.Object["spec"].(map[string]any))
	case schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}:
		unstructured.RemoveNestedField(u.Object, "spec", "selector")
		unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "labels")
		unstructured.RemoveNestedField(u.Object, "metadata", "labels")
	}
	return u.Object
}

func withoutEmptyLists(at any) {
	switch at := at.(type) {
	case map[string]any:
		for name, below := range at {
			if list, ok := below.([]any); below == nil || ok && len(list) == 0 {
				delete(at, name)
			}
			withoutEmptyLists(below)
		}
	case []any:
		for _, below := range at {
			withoutEmptyLists(below)
		}
	}
}

// withoutTokens takes out the volume of a service account's token.
func withoutTokens(spec map[string]any) {
	isToken := func(entry any) bool {
		name, _ := entry.(map[string]any)["name"].(string)
		return strings.HasPrefix(name, "kube-api-access-")
	}
	drop := func(in map[string]any, list string) {
		entries, ok := in[list].([]any)
		if !ok {
			return
		}
		if entries = slices.DeleteFunc(entries, isToken); len(entries) == 0 {
			delete(in, list)
			return
		}
		in[list] = entries
	}
	drop(spec, "volumes")
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			drop(c.(map[string]any), "volumeMounts")
		}
	}
}
