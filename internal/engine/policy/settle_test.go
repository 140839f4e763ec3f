package policy

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// answering is a cluster that answers each question about an owner with one object.
type answering struct {
	owned
	text string
}

func (a answering) Object(_ context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	if kind.Kind == "VirtualMachine" {
		return yaml.YAMLToJSON([]byte(a.text))
	}
	return a.owned.Object(context.Background(), kind, namespace, name)
}

// TestRevisionsOfOwnersThatAreOthers takes a revision at its word only for the very
// owner that it names.
func TestRevisionsOfOwnersThatAreOthers(t *testing.T) {
	set, files := identitySet(t), owned{identityCluster(t), map[string]string{}}
	for name, c := range map[string]struct{ owner, uid, says string }{
		"the very one":                 {machine, "vm-uid", ""},
		"of another name":              {strings.Replace(machine, "name: vm", "name: other", 1), "vm-uid", "what was read for its owner is not VirtualMachine shop/vm"},
		"of another namespace":         {strings.Replace(machine, "namespace: shop", "namespace: dev", 1), "vm-uid", "what was read for its owner is not VirtualMachine shop/vm"},
		"of another UID":               {strings.Replace(machine, "uid: vm-uid", "uid: x", 1), "vm-uid", `has the UID "x"`},
		"without a UID":                {strings.Replace(machine, ", uid: vm-uid", "", 1), "vm-uid", `has the UID ""`},
		"without a UID, as is claimed": {strings.Replace(machine, ", uid: vm-uid", "", 1), `""`, `has the UID ""`},
		"that cannot be read":          {"[]", "vm-uid", "its owner VirtualMachine shop/vm cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			document := revisionYAML("web-1", ownerRef("kubevirt.io/v1", "VirtualMachine", "vm", c.uid), wholeData)
			d := set.Decide(t.Context(), asked(t, answering{files, c.owner}, stranger, "controllerrevisions", "", "", document))
			if d.Refuses() != (c.says != "") || !strings.Contains(messages(d), c.says) {
				t.Errorf("%s, want %q: %s", d.Verdict, c.says, messages(d))
			}
		})
	}
	for name, c := range map[string]struct {
		owner  string
		change func(*request.Request)
	}{
		"where no cluster can be asked": {machine, func(r *request.Request) { r.Cluster = nil }},
		// What is in no namespace belongs to nothing that is in one.
		"where the namespace is not given": {strings.Replace(machine, "namespace: shop, ", "", 1), func(r *request.Request) { r.Namespace = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			document := revisionYAML("web-1", ownerRef("kubevirt.io/v1", "VirtualMachine", "vm", "vm-uid"), wholeData)
			r := asked(t, answering{files, c.owner}, stranger, "controllerrevisions", "", "", document)
			c.change(r)
			if _, why := set.Settled(t.Context(), r); !strings.Contains(why, "/vm cannot be read") {
				t.Errorf("%q", why)
			}
		})
	}
}

// unasked is a cluster of which nothing is to be read.
type unasked struct {
	unreadable
	t *testing.T
}

func (u unasked) Object(_ context.Context, kind schema.GroupVersionKind, _, name string) ([]byte, error) {
	u.t.Errorf("%s %s is looked for", kind, name)
	return nil, errUnreadable
}

// TestOwnersWithoutAKind are not looked for: what their apiVersion says is none.
func TestOwnersWithoutAKind(t *testing.T) {
	r := &request.Request{Namespace: "shop", Cluster: unasked{t: t}}
	ref := &metav1.OwnerReference{APIVersion: "a/b/c", Kind: "VirtualMachine", Name: "vm", UID: "vm-uid"}
	if why := identitySet(t).Absent(t.Context(), r, ref); why != "its owner VirtualMachine shop/vm cannot be read" {
		t.Errorf("%q", why)
	}
}

// TestFaultsThatAreNotRefused are those of what is there anyway: a background scan
// only looks, and a deletion takes them away.
func TestFaultsThatAreNotRefused(t *testing.T) {
	set := identitySet(t)
	odd := revisionYAML("web-1", "", strings.Replace(wholeData, "annotations:", "Annotations:", 1))
	for name, c := range map[string]struct {
		change  func(*request.Request)
		refused bool
	}{
		"created":                         {func(*request.Request) {}, true},
		"updated from what is not shown":  {func(r *request.Request) { r.Operation, r.OldObject = request.Update, nil }, true},
		"created, beside one that is old": {func(r *request.Request) { r.OldObject = r.Object }, true},
		"updated without a change":        {func(r *request.Request) { r.Operation, r.OldObject = request.Update, r.Object }, false},
		"scanned":                         {func(r *request.Request) { r.Background = true }, false},
		"deleted":                         {func(r *request.Request) { r.Operation = request.Delete }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := asked(t, identityCluster(t), stranger, "controllerrevisions", "", "", odd)
			c.change(r)
			results := set.decideFault(&call.Call{Ctx: t.Context(), Request: r}, nil)
			if (len(results) == 1) != c.refused {
				t.Errorf("%+v, want refused %v", results, c.refused)
			}
		})
	}
}

// TestExplain adds to what is refused why it was read so, and to nothing else.
func TestExplain(t *testing.T) {
	for status, told := range map[decision.Status]bool{decision.Fail: true, decision.Error: true, decision.Pass: false, decision.Skip: false} {
		for doubt, want := range map[string]string{"": "no", "it is odd": "no; it is odd"} {
			if !told {
				want = "no"
			}
			results := []decision.Result{{Status: status, Message: "no"}}
			if explain(results, doubt); results[0].Message != want {
				t.Errorf("%s: %q, want %q", status, results[0].Message, want)
			}
		}
	}
}
