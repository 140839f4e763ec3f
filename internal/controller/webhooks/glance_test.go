package webhooks

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// TestLooksAgain works out again what a policy is asked about only where something that
// it comes of has changed, of which there are these.
func TestLooksAgain(t *testing.T) {
	const secrets = "x"
	ref := stored.Ref{Kind: "ClusterPolicy", Name: secrets}
	module := "apiVersion: sallyport.io/v1alpha1\nkind: ClusterAdmissionPolicy\nmetadata: {name: m}\nspec: {module: file:///m.wasm, rules: [{apiGroups: [\"\"], apiVersions: [v1], resources: [secrets], operations: [CREATE]}]}\n"
	deny := stored.Ref{Kind: "DenyPolicy", Name: "deny"}
	policies := []string{clusterPolicy(secrets, about("Secret")), module, "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: deny}\nspec: {rules: [{verbs: [get], apiGroups: [\"\"], resources: [secrets]}]}\n"}
	for _, c := range []struct {
		name   string
		change func(*testing.T, *world)
		again  bool
	}{
		{"nothing", func(*testing.T, *world) {}, false},
		{"what the authorizer asks about", func(_ *testing.T, w *world) { w.Authorizer.(*sideDoor).asks = nil }, false},
		{"the set", func(t *testing.T, w *world) { w.policies(t, policies...) }, true},
		{"what the API server has", func(_ *testing.T, w *world) {
			w.api.lists = append(w.api.lists, list("new.example.com/v1", "news News"))
		}, true},
		{"where modules run", func(_ *testing.T, w *world) { w.Here = func(*runner.Policy) bool { return false } }, true},
		{"a webhook that is shipped", func(t *testing.T, w *world) {
			hooks := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
			live, err := hooks.Get(t.Context(), "sallyport", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			live.Webhooks[0].Rules = live.Webhooks[0].Rules[:1]
			if _, err := hooks.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"webhooks that follow are not there any more", func(t *testing.T, w *world) {
			if err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "sallyport-rules", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"what could not be read in between", func(_ *testing.T, w *world) {
			w.doubt(errAPI)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, policies...)
			w.follows(t)
			side := &sideDoor{asks: []string{"get of secrets"}}
			w.Authorizer = side
			for range 3 {
				w.looks(t)
			}
			was := w.said[ref]
			marked := was
			marked.condition.Message = "as it was said before"
			w.said[ref] = marked
			c.change(t, w)
			if _, err := w.reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := metav1.ConditionTrue
			if side.asks == nil {
				want = metav1.ConditionFalse
			}
			if got := w.said[deny].condition; got.Status != want {
				t.Errorf("of access is said %+v", got)
			}
			if again := w.said[ref].condition.Message != marked.condition.Message; again != c.again {
				t.Errorf("worked out again: %t", again)
			}
		})
	}
}

// TestLookReadsOnce: what a look is known by later is what it came of, whatever changes
// while it looks.
func TestLookReadsOnce(t *testing.T) {
	w := newWorld(t, clusterPolicy("x", about("Secret")))
	w.follows(t)
	w.client.ClearActions()
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := map[string]int{}
	for _, a := range w.client.Actions() {
		if get, ok := a.(clienttesting.GetAction); ok && a.GetVerb() == "get" {
			read[a.GetResource().Resource+" "+get.GetName()]++
		}
	}
	want := map[string]int{
		"validatingwebhookconfigurations sallyport": 1, "validatingwebhookconfigurations sallyport-rules": 1,
		"mutatingwebhookconfigurations sallyport": 1, "mutatingwebhookconfigurations sallyport-rules": 1,
	}
	if w.written == 0 || !maps.Equal(read, want) {
		t.Errorf("%d webhooks are written, and it reads %v", w.written, read)
	}
}
