package policy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

const (
	brokenRules   = `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {cel: {expressions: [{expression: "object.("}]}}}]}`
	soundRules    = `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`
	noConfigMaps  = `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {pattern: {data: {key: "?*"}}}}]}`
	brokenModules = `spec: {module: "", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}`
)

func podOfShop(t testing.TB) *request.Request {
	return created(t, identityCluster(t), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods", shopPod)
}

func configMapOfShop(t testing.TB) *request.Request {
	return created(t, identityCluster(t), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", configMaps)
}

// version gives an object a further version.
func atVersion(objects []*unstructured.Unstructured, n int64) []*unstructured.Unstructured {
	for _, o := range objects {
		o.SetResourceVersion(fmt.Sprint(n))
		o.SetGeneration(n)
	}
	return objects
}

// TestBrokenUntilMended follows a policy that was broken at the start.
func TestBrokenUntilMended(t *testing.T) {
	document := func(rest string) string { return yamlOf("ClusterPolicy", "x", rest) }
	store, feed := started(t, document(brokenRules))
	refused := func(want bool, says string) {
		t.Helper()
		d := store.Set().Decide(t.Context(), podOfShop(t))
		if d.Refuses() != want || !strings.Contains(messages(d), says) {
			t.Errorf("refused is %v, want %v: %s", d.Refuses(), want, messages(d))
		}
	}
	refused(true, "cannot work as it is stored")
	feed.Take(atVersion(asStored(t, document(soundRules)), 2))
	refused(false, "")
	if n := len(store.Set().Broken()); n != 0 {
		t.Errorf("%d are broken after one was mended", n)
	}
	// Now there is a version that could work, and it stays in force.
	feed.Take(atVersion(asStored(t, document(brokenRules)), 3))
	refused(false, "")
	if n := len(store.Set().Broken()); n != 0 {
		t.Errorf("%d are broken although the last good version is in force", n)
	}
	// Another start, and then it goes.
	store, feed = started(t, document(brokenRules))
	refused(true, "cannot work as it is stored")
	feed.Take(nil)
	refused(false, "")
}

// TestBrokenBesideMany: sound policies go on, each as it says.
func TestBrokenBesideMany(t *testing.T) {
	documents := []string{yamlOf("ClusterPolicy", "x", brokenRules), yamlOf("DenyPolicy", "x", "spec: null"), yamlOf("ClusterAdmissionPolicy", "x", "spec: 3")}
	for n := range 1000 {
		documents = append(documents, yamlOf("ClusterPolicy", fmt.Sprintf("sound-%d", n), noConfigMaps))
	}
	store, _ := started(t, documents...)
	set := store.Set()
	if counts := set.Counts(); counts.ClusterPolicies != 1000 || len(set.Broken()) != 3 {
		t.Fatalf("%d work and %d are broken", counts.ClusterPolicies, len(set.Broken()))
	}
	by := set.BrokenByKind()
	if by[stored.KindClusterPolicy] != 1 || by[stored.KindDenyPolicy] != 1 || by[stored.KindPolicy] != 0 || len(by) != len(stored.BrokenKinds) {
		t.Errorf("by kind: %v", by)
	}
	d := set.Decide(t.Context(), configMapOfShop(t))
	if d.Summary.Fail != 1000 || d.Summary.Error != 1 {
		t.Errorf("%+v; want a failure of each sound policy, and an error of the module", d.Summary)
	}
	if d := set.Decide(t.Context(), podOfShop(t)); d.Summary.Error != 2 || d.Summary.Fail != 0 {
		t.Errorf("of a pod: %+v", d.Summary)
	}
}

// TestBrokenIsNotExcused: an exception excuses what was judged.
func TestBrokenIsNotExcused(t *testing.T) {
	const exception = `spec: {exceptions: [{policyName: x, ruleNames: ["*"]}], match: {any: [{resources: {kinds: [Pod]}}]}}`
	store, _ := started(t, yamlOf("ClusterPolicy", "x", brokenRules), yamlOf("ClusterPolicyException", "e", exception))
	d := store.Set().Decide(t.Context(), podOfShop(t))
	if r := only(t, d); r.Status != decision.Error || len(r.Exceptions) > 0 || !d.Refuses() {
		t.Errorf("the result is %+v", r)
	}
	if stray := store.Set().exceptionEffects(); len(stray) != 0 {
		t.Errorf("the exception is said to be stray: %v", stray)
	}
}

// TestBrokenInTheBackground: the results of scans are errors.
func TestBrokenInTheBackground(t *testing.T) {
	store, _ := started(t, yamlOf("ClusterPolicy", "x", brokenRules), yamlOf("ClusterPolicy", "z", strings.Replace(brokenRules, "{", "{background: false, ", 1)))
	r := podOfShop(t)
	r.Background = true
	if got := only(t, store.Set().Decide(t.Context(), r)); got.Status != decision.Error || got.Policy != "x" {
		t.Errorf("the result is %+v", got)
	}
	// What is not scanned is judged as it is made all the same.
	if d := store.Set().Decide(t.Context(), podOfShop(t)); len(d.Results) != 2 {
		t.Errorf("of a pod that is made: %+v", d.Results)
	}
	sound := setOf(t, yamlOf("ClusterPolicy", "x", strings.Replace(noConfigMaps, "spec: {", "spec: {background: false, ", 1)))
	asked := configMapOfShop(t)
	if d := sound.Decide(t.Context(), asked); !d.Refuses() {
		t.Errorf("it is let in: %+v", d.Results)
	}
	asked.Background = true
	if d := sound.Decide(t.Context(), asked); len(d.Results) > 0 {
		t.Errorf("in the background: %+v", d.Results)
	}
}

// TestBrokenExceptionPolicy limits all that it could limit.
func TestBrokenExceptionPolicy(t *testing.T) {
	const failing = `spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {metadata: {name: other}}}}]}`
	const exception = `spec: {exceptions: [{policyName: x, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}}`
	for name, c := range map[string]struct {
		spec    string
		excused bool
	}{
		"sound":                       {`spec: {policies: [x], maxDuration: 30d, trustedNamespaces: [a]}`, false},
		"none":                        {"", true},
		"an unknown field":            {`spec: {policies: [x], maxDurations: 30d}`, false},
		"an unknown field of another": {`spec: {policies: [z], maxDurations: 30d}`, true},
		"policies are not a list":     {`spec: {policies: {x: true}}`, false},
		"no spec":                     {`status: {}`, false},
		"a spec that is a string":     {`spec: all`, false},
		"another namespace":           {`spec: {policies: [x], namespaces: [other], maxDurations: 30d}`, true},
		"one that does not compile":   {`spec: {policies: [x], maxDuration: soon}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			documents := []string{yamlOf("ClusterPolicy", "x", failing), yamlOf("PolicyException", "shop/e", exception)}
			if c.spec != "" {
				documents = append(documents, yamlOf("ExceptionPolicy", "limits", c.spec))
			}
			store, _ := started(t, documents...)
			d := store.Set().Decide(t.Context(), podOfShop(t))
			if d.Refuses() == c.excused {
				t.Errorf("excused is %v; %s", !d.Refuses(), messages(d))
			}
			if want := strings.Contains(name, " "); want != (len(store.Set().Broken()) == 1) {
				t.Errorf("broken are %v", store.Set().Broken())
			}
		})
	}
}

// TestBrokenByAnother are objects that could work without another one.
func TestBrokenByAnother(t *testing.T) {
	file := func(t *testing.T, store *Store, documents ...string) {
		t.Helper()
		if problems := store.Replace("files", sourcesOf(t, documents...)); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	t.Run("one of its name in a file that says the same", func(t *testing.T) {
		store, _ := started(t, yamlOf("ClusterPolicy", "x", soundRules))
		file(t, store, yamlOf("ClusterPolicy", "x", soundRules))
		if d := store.Set().Decide(t.Context(), podOfShop(t)); d.Refuses() || len(store.Set().Broken()) > 0 {
			t.Errorf("broken are %v: %s", store.Set().Broken(), messages(d))
		}
	})
	t.Run("a module of its name in a file", func(t *testing.T) {
		inCluster := func(resource string) string {
			return yamlOf("ClusterAdmissionPolicy", "m", `spec: {module: "registry://r.example.com/m:v1", rules: [{apiGroups: [""], apiVersions: [v1], resources: [`+resource+`], operations: [CREATE]}]}`)
		}
		store, _ := started(t, inCluster("configmaps"))
		file(t, store, inCluster("secrets"))
		d := store.Set().Decide(t.Context(), configMapOfShop(t))
		if says := "metadata.name: is there twice: also in policies.yaml, document 1; give one of them another name or remove it"; !d.Refuses() || len(d.Results) != 1 || d.Results[0].Policy != "m" || !strings.Contains(messages(d), says) {
			t.Errorf("what the stored one is about: %+v", d.Results)
		}
	})
	t.Run("an identity of its key", func(t *testing.T) {
		store, _ := started(t, yamlOf("IdentitySource", "a", `spec: {key: kerberos, projectedToken: {audience: x}}`), yamlOf("IdentitySource", "b", `spec: {key: kerberos, podAnnotation: {}}`))
		state := identityCluster(t)
		if d := store.Set().Decide(t.Context(), asked(t, state, holder, "pods", "", "", podYAML("new", claimed, "app:1"))); !d.Refuses() || !strings.Contains(messages(d), "is the key of IdentitySource a") {
			t.Errorf("who carries the identity is let in: %s", messages(d))
		}
		if d := store.Set().Decide(t.Context(), asked(t, state, stranger, "pods", "", "", podYAML("new", "a: b", "app:1"))); d.Refuses() {
			t.Errorf("who carries none is refused: %s", messages(d))
		}
		if broken := store.Set().Broken(); len(broken) != 1 || broken[0].Name != "b" {
			t.Errorf("broken are %v", broken)
		}
	})
	t.Run("an identity in a file that says the same", func(t *testing.T) {
		const source = `spec: {key: kerberos, podAnnotation: {}}`
		store, _ := started(t, yamlOf("IdentitySource", "a", source))
		file(t, store, yamlOf("IdentitySource", "a", source))
		if broken := store.Set().Broken(); len(broken) > 0 {
			t.Errorf("broken are %v", broken)
		}
	})
	t.Run("an identity in a file that was made later", func(t *testing.T) {
		annotated := func(name, stamp string) string {
			return strings.Replace(yamlOf("IdentitySource", "a", "spec: {key: kerberos, podAnnotation: {name: "+name+"}}"), "{name: a}", "{name: a, creationTimestamp: "+stamp+"}", 1)
		}
		store, feed := started(t)
		file(t, store, annotated("kerberos", `"2026-11-28T00:00:00Z"`))
		feed.Take(asStored(t, annotated("other", `"2026-11-01T00:00:00Z"`)))
		if broken := store.Set().Broken(); len(broken) != 1 || !strings.Contains(broken[0].Why(), "is there twice") {
			t.Errorf("broken are %v", broken)
		}
		state := identityCluster(t)
		for _, annotation := range []string{claimed, "other: x"} {
			if d := store.Set().Decide(t.Context(), asked(t, state, stranger, "pods", "", "", podYAML("new", annotation, "app:1"))); !d.Refuses() {
				t.Errorf("a pod with %s is let in: %s", annotation, messages(d))
			}
		}
	})
	t.Run("what is only looked at answers for nothing", func(t *testing.T) {
		var sources Sources
		for _, document := range []string{yamlOf("IdentitySource", "a", `spec: {key: "a b", podAnnotation: {}}`), yamlOf("ClusterPolicy", "x", brokenRules)} {
			if _, problems := addObject(&sources, asStored(t, document)[0]); len(problems) > 0 {
				t.Fatal(problems)
			}
		}
		set, problems := Compile(sources, pod.Default(), exception.Options{Began: judgedAt})
		if len(problems) == 0 || len(set.Broken()) > 0 {
			t.Errorf("broken are %v: %v", set.Broken(), problems)
		}
		// What a file holds is put in force as a whole, or not at all.
		set, problems = compilePolicies(sourcesOf(t, yamlOf("IdentitySource", "a", `spec: {key: "a b", podAnnotation: {}}`), yamlOf("ClusterPolicy", "x", brokenRules)), pod.Default(), true, newCache())
		if len(problems) != 2 || len(set.Broken()) > 0 {
			t.Errorf("of files, broken are %v: %v", set.Broken(), problems)
		}
	})
	t.Run("the door says so", func(t *testing.T) {
		store, _ := started(t, yamlOf("IdentitySource", "a", `spec: {key: kerberos, podAnnotation: {}}`))
		file(t, store, yamlOf("ClusterPolicy", "x", soundRules))
		state := identityCluster(t)
		for document, says := range map[string]string{
			yamlOf("ClusterPolicy", "x", noConfigMaps):                                                "is there twice: also in policies.yaml",
			yamlOf("IdentitySource", "b", `spec: {key: kerberos, projectedToken: {audience: x}}`):     "is the key of IdentitySource a",
			yamlOf("IdentitySource", "a", `spec: {key: kerberos, podAnnotation: {name: other/name}}`): "",
			yamlOf("ClusterPolicy", "z", noConfigMaps):                                                "",
		} {
			d := store.Set().Decide(t.Context(), asked(t, state, "root", "policies", "", "", document))
			if d.Refuses() != (says != "") || !strings.Contains(messages(d), says) {
				t.Errorf("of %s it says %q", document, messages(d))
			}
		}
	})
	t.Run("its PolicyServer", func(t *testing.T) {
		module := yamlOf("ClusterAdmissionPolicy", "x", `spec: {policyServer: tenants, module: "https://modules.example/a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}`)
		open := strings.NewReplacer("{name: x}", "{name: z}", "spec: {", "spec: {failurePolicy: Ignore, ").Replace(module)
		others := yamlOf("ClusterAdmissionPolicy", "others", strings.Replace(brokenModules, `module: ""`, `module: "https://modules.example/a.wasm"`, 1))
		store, feed := started(t, module, open, yamlOf("PolicyServer", "tenants", `spec: {image: "a b"}`))
		store.Run(&modules{})
		feed.Take(asStored(t, module, others, yamlOf("ClusterAdmissionPolicy", "broken", `spec: {policyServer: tenants, module: "", rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}`), yamlOf("PolicyServer", "tenants", `spec: {image: "a b"}`)))
		if d := store.Set().Decide(t.Context(), configMapOfShop(t)); len(d.Results) != 2 || d.Summary.Pass != 1 || d.Summary.Error != 1 {
			t.Errorf("of another server: %+v: %s", d.Summary, messages(d))
		}
		if b := store.Set().insteadOf(stored.Ref{Kind: "PolicyServer", Name: "tenants"}); b == nil || !strings.Contains(b.Meanwhile(), "what the policies are about that it runs (1)") {
			t.Errorf("it says of the server: %v", b)
		}
		feed.Take(asStored(t, module, open, yamlOf("PolicyServer", "tenants", `spec: {image: "a b"}`)))
		d := store.Set().Decide(t.Context(), configMapOfShop(t))
		if !d.Refuses() || d.Summary.Error != 2 || !strings.Contains(messages(d), "PolicyServer tenants, which runs it, is broken") || !strings.Contains(messages(d), "failurePolicy Ignore lets the request through") {
			t.Errorf("%+v: %s", d.Summary, messages(d))
		}
		if alone := store.Set().Module("clusterwide-x"); alone == nil {
			t.Error("it is not known at its own path")
		} else if d := alone.DecideModules(t.Context(), configMapOfShop(t)); !d.Refuses() {
			t.Errorf("it is let in at its own path: %s", messages(d))
		}
		if d := store.Set().Decide(t.Context(), podOfShop(t)); d.Refuses() {
			t.Errorf("a pod is refused: %s", messages(d))
		}
		feed.Take(atVersion(asStored(t, module, open, yamlOf("PolicyServer", "tenants", `spec: {image: "sallyport:1"}`)), 2))
		if d := store.Set().Decide(t.Context(), configMapOfShop(t)); len(d.Results) != 0 {
			t.Errorf("its policies are judged here although it works: %s", messages(d))
		}
	})
}

// TestBrokenModuleAtItsOwnPath is asked as a webhook of one policy asks.
func TestBrokenModuleAtItsOwnPath(t *testing.T) {
	store, feed := started(t, yamlOf("ClusterAdmissionPolicy", "x", brokenModules))
	store.Run(&modules{infos: map[string]runner.Info{}})
	feed.Take(atVersion(asStored(t, yamlOf("ClusterAdmissionPolicy", "x", brokenModules)), 2))
	alone := store.Set().Module("clusterwide-x")
	if alone == nil {
		t.Fatal("the policy is not known at its path")
	}
	if d := alone.DecideModules(t.Context(), configMapOfShop(t)); !d.Refuses() || !strings.Contains(messages(d), "cannot work as it is stored: spec.module") {
		t.Errorf("it says %s", messages(d))
	}
	if got := store.Set().ModulePolicies(); len(got) != 0 {
		t.Errorf("a module is fetched for it: %v", got)
	}
	if got := store.Set().Contexts(); len(got) != 0 {
		t.Errorf("it may read: %v", got)
	}
}

// TestBrokenEscalation gives nothing, and is told of.
func TestBrokenEscalation(t *testing.T) {
	store, _ := started(t, yamlOf("BreakglassEscalation", "x", "spec: 3"))
	broken := store.Set().Broken()
	if len(broken) != 1 || !strings.Contains(broken[0].Meanwhile(), "does nothing") || store.Set().Breakglass().Empty() != true {
		t.Errorf("broken are %v", broken)
	}
}

// TestBrokenSaysWhatIsAnswered is what stands in the condition and in /readyz.
func TestBrokenSaysWhatIsAnswered(t *testing.T) {
	store, _ := started(t, yamlOf("DenyPolicy", "x", `spec: {podSecurityRules: {failMode: open, appliesTo: {subresources: [exec, log]}, thresholds: [{maxScore: 1, action: perhaps}]}}`),
		yamlOf("Policy", "shop/z", `spec: {rules: [{name: r, match: 3, validate: {}}]}`))
	for name, says := range map[string]string{
		"x": "until it is corrected or deleted, this is let in: exec, log, unless exempt",
		"z": "until it is corrected or deleted, this is refused: everything in namespace shop, as it cannot be read what rule r is about",
	} {
		for _, b := range store.Set().Broken() {
			if b.Name == name && b.Meanwhile() != says {
				t.Errorf("of %s it says %q, want %q", b.Called(), b.Meanwhile(), says)
			}
		}
	}
	var called []string
	for _, b := range store.Set().Broken() {
		called = append(called, b.Called())
	}
	if got := strings.Join(called, ", "); got != "DenyPolicy x, Policy shop/z" {
		t.Errorf("they are called %s", got)
	}
	if b := store.Set().insteadOf(stored.Ref{Kind: "DenyPolicy", Name: "x"}); b == nil || !strings.Contains(b.Why(), "perhaps") {
		t.Errorf("of x it is known: %v", b)
	}
}
