package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/load"
	"github.com/sallyport-io/sallyport/internal/pass"
	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/policy"
	"github.com/sallyport-io/sallyport/test/docs"
)

// judgedAsWritten are the kinds of which an object is judged by itself, so that a
// file and the API server have to say the same of it.
var judgedAsWritten = map[string]string{
	"DenyPolicy": "denypolicies", "ClusterPolicy": "clusterpolicies", "Policy": "policies", "IdentitySource": "identitysources", "PodKind": "podkinds",
	"ExceptionPolicy": "exceptionpolicies", "PolicyException": "policyexceptions", "ClusterPolicyException": "clusterpolicyexceptions",
	"BreakglassEscalation": "breakglassescalations", "PolicyServer": "policyservers", "ClusterConfig": "clusterconfigs",
	"PolicyExceptionRequest": "policyexceptionrequests",
}

// oneObject is an object of ours in some file, and where it stands.
type oneObject struct{ where, text string }

// everyYAML are all objects of ours in documents, examples and what tests use.
func everyYAML(t *testing.T) []oneObject {
	t.Helper()
	var found []oneObject
	add := func(where, text string) {
		for n, document := range strings.Split("\n"+text, "\n---") {
			if strings.Contains(document, "apiVersion: "+v1alpha1.GroupVersion.String()) {
				found = append(found, oneObject{fmt.Sprintf("%s, document %d", where, n+1), document})
			}
		}
	}
	root := repository(t)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || path == filepath.Join(root, "config")):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		ext := filepath.Ext(path)
		if ext != ".md" && ext != ".yaml" && ext != ".yml" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		where, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if ext != ".md" {
			add(where, string(text))
			return nil
		}
		return docs.EachBlock(where, string(text), "yaml", add)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// otherForms are ways to write what documents write in one way; right ones, and
// those that are refused.
var rightForms, wrongForms = []oneObject{
	{"a list of namespaces", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: [shop]}]}}"},
	{"patterns of namespaces", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: {patterns: ['shop-*']}}]}}"},
	{"labels of namespaces", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: {selectorTerms: [{matchLabels: {a: b}}]}}]}}"},
	{"a list of exempt namespaces", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: [kube-system]}}}}"},
	{"what must be absent", oneRule("pattern: {spec: {X(nodeName): 'null', containers: [{X(lifecycle): 'null'}]}}")},
	{"what may be empty", oneRule("pattern: {spec: {=(nodeName): ''}}")},
	{"nulls of other fields", oneRule("message: null, pattern: {spec: {=(hostPID): false}}")},
	{"an empty map of something that has to be there", oneRule("pattern: {spec: {securityContext: {}}}")},
	{"an exclusion without effect", oneRule("podSecurity: {level: baseline, exclude: [{controlName: Running as Non-root}]}")},
	{"actions of namespaces", strings.Replace(oneRule("pattern: {spec: {=(hostPID): false}}"), "spec: {", "spec: {validationFailureActionOverrides: [{action: Audit, namespaces: ['test-*']}], ", 1)},
	{"a rule about everything in a namespace", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: [shop]}]}}"},
	{"a list of namespaces of a session", "{apiVersion: sallyport.io/v1alpha1, kind: BreakglassEscalation, metadata: {name: a}, spec: {escalatedGroup: debuggers, allowed: {groups: [dev], clusters: [prod]}, approvers: {groups: [sre]}, podSecurityOverrides: {enabled: true, maxAllowedScore: 90, namespaceScope: [shop]}}}"},
}, []oneObject{
	{"an unknown field in namespaces", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: {pattern: [shop]}}]}}"},
	{"a number among namespaces", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: [1]}]}}"},
	{"a text for namespaces", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: shop}]}}"},
	{"an unknown field of a policy", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rule: []}}"},
	{"null that must be absent", oneRule("pattern: {spec: {containers: [{X(lifecycle): null}]}}")},
	{"null of a field", oneRule("pattern: {spec: {nodeName: null}}")},
	{"null in one of several patterns", oneRule("anyPattern: [{spec: {hostPID: false}}, {spec: {=(a): [{b: null}]}}]")},
	{"an empty item", oneRule("pattern: {spec: {containers: [{}]}}")},
	{"an empty map if present", oneRule("pattern: {spec: {=(securityContext): {}}}")},
	{"actions of a namespace that cannot be", strings.Replace(oneRule("pattern: {spec: {=(hostPID): false}}"), "spec: {", "spec: {validationFailureActionOverrides: [{action: Audit, namespaces: ['{{ns}}']}], ", 1)},
	{"a rule that locks everybody out", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*/*', '*']}]}}"},
	{"nothing in a policy", "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {}}"},
}

// oneRule is a policy about Pods that requires what is given.
func oneRule(validate string) string {
	return "{apiVersion: sallyport.io/v1alpha1, kind: ClusterPolicy, metadata: {name: a}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {" + validate + "}}]}}"
}

// TestEveryYAML puts each object of the documents, the examples and the tests to the
// API server, which must say of it what the loader of files says.
func TestEveryYAML(t *testing.T) {
	atFrontDoor(t, "everyyaml")
	config := rest.CopyConfig(shared.Config)
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, o := range slices.Concat(everyYAML(t), rightForms, wrongForms) {
		loaded := load.Collect(load.Parse(o.where, []byte(o.text)))
		_, problems := policy.Compile(loaded.Sources, pod.Default(), pass.Options{Began: time.Now()})
		problems = append(loaded.Problems, problems...)
		object := &unstructured.Unstructured{}
		for d := range load.Parse(o.where, []byte(o.text)) {
			if d != nil && object.UnmarshalJSON(d.Raw) != nil {
				object.Object = nil
			}
		}
		resource := judgedAsWritten[object.GetKind()]
		if object.Object == nil || resource == "" {
			continue
		}
		t.Run(o.where, func(t *testing.T) {
			tried++
			if slices.Contains(rightForms, o) && len(problems) > 0 || slices.Contains(wrongForms, o) && len(problems) == 0 {
				t.Errorf("a file says of it: %v", problems)
			}
			err := dryRun(t.Context(), client, resource, object)
			switch {
			case err == nil && len(problems) > 0:
				t.Errorf("the API server takes what a file may not have: %v", problems)
			case err != nil && len(problems) == 0:
				t.Errorf("a file may have what the API server refuses: %v", err)
			}
		})
	}
	if tried < 80 {
		t.Errorf("only %d objects were found", tried)
	}
}

// dryRun writes an object without storing it, into its namespace or one that is there
// in its place.
func dryRun(ctx context.Context, client dynamic.Interface, resource string, object *unstructured.Unstructured) error {
	written := dynamic.ResourceInterface(client.Resource(v1alpha1.GroupVersion.WithResource(resource)))
	if resource == "policies" || resource == "policyexceptions" || resource == "policyexceptionrequests" {
		object.SetNamespace("shop")
		written = client.Resource(v1alpha1.GroupVersion.WithResource(resource)).Namespace("shop")
	}
	_, err := written.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	return err
}
