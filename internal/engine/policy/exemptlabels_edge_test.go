package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestExemptLabelsOnTheEdge sets labels that exempt, and marks for them, where it is
// doubtful whether they do.
func TestExemptLabelsOnTheEdge(t *testing.T) {
	state := clusterOf(t, exemptObjects()...)
	const exempting = `exempt: "yes"`
	labelled := func(text string) string {
		return strings.Replace(text, "namespace: shop", "namespace: shop, labels: {"+exempting+"}", 1)
	}
	mark := markedAs(exemptStamp(nil, "shop"))
	plainPod := labelled(podYAML("app", "", "app:1"))
	markedPod := strings.Replace(plainPod, "annotations: {}", strings.TrimPrefix(mark, ", "), 1)
	rc := func(meta string) string {
		return labelledYAML("v1", "ReplicationController", "web", meta, exempting, "app:1")
	}
	binding := func(apiVersion string) string {
		return "apiVersion: " + apiVersion + "\nkind: Binding\nmetadata: {name: plain, namespace: shop, labels: {" + exempting + "}}\ntarget: {kind: Node, name: node-1}\n"
	}
	blank := strings.Replace(strict, exempting, `exempt: ""`, 1)
	for _, c := range []struct {
		name, policy, user, resource, old, document string
		change                                      func(*request.Request)
		want                                        decision.Status
		says                                        string
	}{
		{"a pod", strict, stranger, "pods", "", plainPod, nil, decision.Fail, "may not set them"},
		{"a pod, where no one is known to ask", strict, "", "pods", "", plainPod, nil, "", ""},
		{"a pod, without an authorizer", strict, "carol", "pods", "", plainPod, func(r *request.Request) { r.Authorizer = nil }, decision.Error, "cannot be found out"},
		{"a mark on a pod that is exempt, which lets no one make pods", strict, stranger, "pods", plainPod, markedPod, nil, "", ""},
		{"a mark on a replication controller", strict, stranger, "replicationcontrollers", rc(""), rc(mark), nil, decision.Fail, "may not set them"},
		{"a Binding", strict, stranger, "bindings", "", binding("v1"), nil, decision.Fail, "may not set them"},
		{"a Binding of another group", strict, stranger, "bindings", "", binding("example.com/v1"), nil, "", ""},
		{"a label without a value that is not there", blank, stranger, "pods", "", podYAML("app", "", "app:1"), nil, "", ""},
		{"a label without a value that is there", blank, stranger, "pods", "", strings.Replace(plainPod, exempting, `exempt: ""`, 1), nil, decision.Fail, "may not set them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, c.user, c.resource, "", c.old, c.document)
			if c.change != nil {
				c.change(r)
			}
			results := exemptResults(setOf(t, c.policy).Decide(t.Context(), r))
			switch {
			case c.want == "" && len(results) > 0, c.want != "" && len(results) != 1:
				t.Errorf("%+v", results)
			case c.want != "" && (results[0].Status != c.want || !strings.Contains(results[0].Message, c.says)):
				t.Errorf("%s: %s", results[0].Status, results[0].Message)
			}
		})
	}
	t.Run("a mark on a kind of another group that is called Pod", func(t *testing.T) {
		registry, err := pod.NewRegistry(pod.Registration{Group: "example.com", Kind: "Pod", Paths: []string{"spec.template"}})
		if err != nil {
			t.Fatal(err)
		}
		set, problems := Compile(sourcesOf(t, strict), registry, exception.Options{Began: judgedAt})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Pod"}
		read := func(meta string) *pod.Object {
			raw, err := yaml.YAMLToJSON([]byte(labelledYAML("example.com/v1", "Pod", "web", meta, exempting, "app:1")))
			if err != nil {
				t.Fatal(err)
			}
			object, err := registry.Decode(gvk, raw)
			if err != nil {
				t.Fatal(err)
			}
			return object
		}
		r := asked(t, state, stranger, "pods", "", "", labelledYAML("example.com/v1", "Pod", "web", "", exempting, "app:1"))
		r.Operation, r.Object, r.OldObject = request.Update, read(mark), read("")
		if results := exemptResults(set.Decide(t.Context(), r)); len(results) != 1 || results[0].Status != decision.Fail {
			t.Errorf("%+v", results)
		}
	})
	t.Run("another image where no one is known to ask puts in no mark", func(t *testing.T) {
		of := func(image string) string { return labelledYAML("apps/v1", "Deployment", "web", "", exempting, image) }
		r := asked(t, state, "", "deployments", "", of("app:1"), of("app:2"))
		r.Authorizer = authorizerFunc(func(request.User, request.Attributes) bool { return true })
		if patch := setOf(t, strict).Mark(t.Context(), r); patch != nil {
			t.Errorf("%s", patch)
		}
	})
}

// TestExemptLabelsKeepTheirPart leaves each part of a mark to whoever may change it.
func TestExemptLabelsKeepTheirPart(t *testing.T) {
	state, set := clusterOf(t, exemptObjects()...), exemptSet(t, identitySources[0])
	stamp, claims := exemptStamp(nil, "shop"), identity.Signature(nil, "shop", []identity.Claim{frontend})
	of := func(meta, annotations string) string {
		return strings.Replace(labelledYAML("apps/v1", "Deployment", "web", meta, `exempt: "yes"`, "app:1"), "labels: {", "annotations: {"+annotations+"}, labels: {", 1)
	}
	for _, c := range []struct{ name, user, old, document, want string }{
		{"one part is taken away", stranger, of(markedAs(claims, stamp), claimed), of(markedAs(claims), claimed), claims + "," + stamp},
		{"an identity goes, by who may exempt, which changes nothing else", "carol", of(markedAs(claims), claimed), of(markedAs(claims), ""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			patch := string(set.Mark(t.Context(), asked(t, state, c.user, "deployments", "", c.old, c.document)))
			if c.want == "" && !strings.Contains(patch, `"remove"`) || !strings.Contains(patch, c.want) {
				t.Errorf("%s, want %q", patch, c.want)
			}
		})
	}
}

// TestExemptionsOfACluster lists the labels of policies that can work and hold there.
func TestExemptionsOfACluster(t *testing.T) {
	read := func(text string) v1alpha1.DenyPolicy {
		var p v1alpha1.DenyPolicy
		if err := yaml.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		name, policy, cluster string
		want                  int
	}{
		{"one that holds", strict, "prod-eu", 1},
		{"in another cluster", strict, "dev", 0},
		{"one that cannot work", strings.Replace(strict, "maxScore: 50, action: allow", "maxScore: 50, action: perhaps", 1), "prod-eu", 0},
		{"one without labels", strings.Replace(strict, `podLabels: {exempt: "yes"}`, "", 1), "prod-eu", 0},
		{"one of rules only", "metadata: {name: rules}\nspec: {rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}", "prod-eu", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := deny.CompileExemptions([]v1alpha1.DenyPolicy{read(c.policy)}, c.cluster).Len(); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
