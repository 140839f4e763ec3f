package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
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

// otherForms are ways to write what documents write in one way; right ones, and
// those that are refused.
var rightForms, wrongForms = []docs.Object{
	{Where: "a list of namespaces", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: [shop]}]}}"},
	{Where: "patterns of namespaces", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: {patterns: ['shop-*']}}]}}"},
	{Where: "labels of namespaces", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: {selectorTerms: [{matchLabels: {a: b}}]}}]}}"},
	{Where: "a list of exempt namespaces", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: [kube-system]}}}}"},
	{Where: "what must be absent", Text: oneRule("pattern: {spec: {X(nodeName): 'null', containers: [{X(lifecycle): 'null'}]}}")},
	{Where: "what may be empty", Text: oneRule("pattern: {spec: {=(nodeName): ''}}")},
	{Where: "nulls of other fields", Text: oneRule("message: null, pattern: {spec: {=(hostPID): false}}")},
	{Where: "an empty map of something that has to be there", Text: oneRule("pattern: {spec: {securityContext: {}}}")},
	{Where: "an exclusion without effect", Text: oneRule("podSecurity: {level: baseline, exclude: [{controlName: Running as Non-root}]}")},
	{Where: "actions of namespaces", Text: strings.Replace(oneRule("pattern: {spec: {=(hostPID): false}}"), "spec: {", "spec: {validationFailureActionOverrides: [{action: Audit, namespaces: ['test-*']}], ", 1)},
	{Where: "a rule about everything in a namespace", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: [shop]}]}}"},
	{Where: "a list of namespaces of a session", Text: "{apiVersion: sallyport.io/v1alpha1, kind: BreakglassEscalation, metadata: {name: a}, spec: {escalatedGroup: debuggers, allowed: {groups: [dev], clusters: [prod]}, approvers: {groups: [sre]}, podSecurityOverrides: {enabled: true, maxAllowedScore: 90, namespaceScope: [shop]}}}"},
}, []docs.Object{
	{Where: "an unknown field in namespaces", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: {pattern: [shop]}}]}}"},
	{Where: "a number among namespaces", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: [1]}]}}"},
	{Where: "a text for namespaces", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: shop}]}}"},
	{Where: "an unknown field of a policy", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rule: []}}"},
	{Where: "null that must be absent", Text: oneRule("pattern: {spec: {containers: [{X(lifecycle): null}]}}")},
	{Where: "null of a field", Text: oneRule("pattern: {spec: {nodeName: null}}")},
	{Where: "null in one of several patterns", Text: oneRule("anyPattern: [{spec: {hostPID: false}}, {spec: {=(a): [{b: null}]}}]")},
	{Where: "an empty item", Text: oneRule("pattern: {spec: {containers: [{}]}}")},
	{Where: "an empty map if present", Text: oneRule("pattern: {spec: {=(securityContext): {}}}")},
	{Where: "actions of a namespace that cannot be", Text: strings.Replace(oneRule("pattern: {spec: {=(hostPID): false}}"), "spec: {", "spec: {validationFailureActionOverrides: [{action: Audit, namespaces: ['{{ns}}']}], ", 1)},
	{Where: "a rule that locks everybody out", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*/*', '*']}]}}"},
	{Where: "nothing in a policy", Text: "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: a}, spec: {}}"},
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
	written, err := docs.Objects(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, o := range slices.Concat(written, rightForms, wrongForms) {
		loaded := load.Collect(load.Parse(o.Where, []byte(o.Text)))
		_, problems := policy.Compile(loaded.Sources, pod.Default(), exception.Options{Began: time.Now()})
		problems = append(loaded.Problems, problems...)
		object := &unstructured.Unstructured{}
		for d := range load.Parse(o.Where, []byte(o.Text)) {
			if d != nil && object.UnmarshalJSON(d.Raw) != nil {
				object.Object = nil
			}
		}
		resource := judgedAsWritten[object.GetKind()]
		if object.Object == nil || resource == "" {
			continue
		}
		t.Run(o.Where, func(t *testing.T) {
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
