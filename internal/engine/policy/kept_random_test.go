package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// changeable are objects with the versions of each, sound ones and broken ones, which
// depend on each other in every way that objects do.
var changeable = map[string][]string{
	"ClusterPolicy/a": {
		`spec: {rules: [{name: labels, match: {any: [{resources: {kinds: [Deployment, Pod], namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [test]}]}}}]}, validate: {pattern: {metadata: {labels: {team: "?*"}}}}}]}`,
		`spec: {validationFailureAction: Warn, rules: [{name: labels, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {metadata: {labels: {owner: "?*"}}}}}, {name: more, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {cel: {expressions: [{expression: "false", message: never}]}}}]}`,
		`spec: {rules: []}`,
		`spec: {rules: [{name: x, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {cel: {expressions: [{expression: "object.("}]}}}]}`,
	},
	"ClusterPolicy/farms": {
		`spec: {rules: [{name: b, match: {any: [{resources: {kinds: [Farm, Pod]}}]}, validate: {podSecurity: {level: baseline}}}]}`,
		`spec: {rules: [{name: b, match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}}]}, validate: {podSecurity: {level: baseline}}}]}`,
	},
	"Policy/shop/a": {podBaseline, brokenRules, `spec: {rules: [{name: b, match: {any: [{resources: {kinds: [Barn]}}]}, validate: {podSecurity: {level: restricted}}}]}`},
	"DenyPolicy/a": {
		`spec: {precedence: 3, rules: [{verbs: [create], apiGroups: [""], resources: [pods], subresources: [exec], namespaces: {selectorTerms: [{matchLabels: {env: prod}}]}}]}`,
		`spec: {podSecurityRules: {blockFactors: [privilegedContainer], exemptions: {podLabels: {let: in}}}}`,
		`spec: {precedence: 5, appliesTo: {clusters: [elsewhere]}, rules: [{verbs: [create], apiGroups: [""], resources: [pods], subresources: [exec]}]}`,
		`spec: {}`,
	},
	"DenyPolicy/b": {
		`spec: {precedence: 7, appliesTo: {clusters: [elsewhere]}, rules: [{verbs: [create], apiGroups: [""], resources: [pods], subresources: [exec]}]}`,
		`spec: {precedence: 1, rules: [{verbs: [create], apiGroups: [""], resources: [pods], subresources: [exec, log]}]}`,
		`spec: {precedence: 9, podSecurityRules: {blockFactors: [runAsRoot]}}`,
	},
	"PodKind/farms": {farms, `spec: {group: x.io, kinds: [Farm], pods: [{path: spec.other}]}`, `spec: {group: x.io, kinds: [Farm], pods: [{path: "]["}]}`},
	"PodKind/barns": {`spec: {group: x.io, kinds: [Barn], pods: [{path: spec.template}]}`},
	"ClusterAdmissionPolicy/m": {
		`spec: {module: "registry://example.com/m:v1", policyServer: s, rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}`,
		`spec: {module: "registry://example.com/m:v2", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps, pods], operations: [CREATE]}]}`,
		brokenModules,
	},
	"AdmissionPolicy/shop/m": {`spec: {module: "registry://example.com/n:v1", policyServer: s, failurePolicy: Ignore, rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}`},
	"PolicyServer/s":         {`spec: {image: "example.com/sallyport:v1"}`, `spec: {image: ""}`},
	"IdentitySource/i":       {`spec: {key: example.com/id, podAnnotation: {}}`, `spec: {key: "a b", podAnnotation: {}}`},
	"IdentitySource/j":       {`spec: {key: example.com/id, podAnnotation: {}}`},
	"ExceptionPolicy/x":      {`spec: {policies: ["*"], requireReason: true}`, `spec: {policies: [a], maxDuration: 24h}`, `spec: {policies: []}`, `spec: {policies: ["*"], writing: rbac}`},
	"PolicyException/shop/e": {
		`spec: {exceptions: [{policyName: a, ruleNames: [labels]}], match: {any: [{resources: {kinds: [Deployment], names: ["w*"]}}]}}`,
		`spec: {reason: because, duration: 48h, exceptions: [{policyName: a}, {policyName: farms}], match: {any: [{resources: {kinds: [Deployment, Pod, Farm]}}]}}`,
		`spec: {until: tomorrow}`,
		`spec: {exceptions: [{policyName: a}], match: {any: [{resources: {kinds: [Pod], namespaces: [other]}}]}}`,
	},
	"ClusterPolicyException/e": {
		`spec: {reason: because, exceptions: [{policyName: farms}], match: {any: [{resources: {kinds: [Pod, Farm], namespaceSelector: {matchLabels: {env: test}}}}]}}`,
		`spec: {exceptions: [{policyName: farms}, {policyName: b}], match: {any: [{resources: {kinds: [Pod, Pod/exec]}}]}}`,
	},
	"PolicyExceptionRequest/shop/q": {
		`spec: {requesters: [bob], reason: because, exceptions: [{policyName: a}], exclude: {any: [{resources: {kinds: [Deployment]}}]}}`,
		`spec: {requesters: [bob], duration: 24h, exceptions: [{policyName: a}, {policyName: farms, exclude: {any: [{resources: {kinds: [Farm]}}]}}], exclude: {any: [{resources: {kinds: [Deployment]}}]}}`,
	},
	"PolicyExceptionResponse/r": {
		`spec: {name: q, namespace: shop, status: Approved, approver: carol, approvalTime: "2026-06-01T00:00:00Z", requestUID: OF-REQUEST, requestGeneration: VERSION}`,
		`spec: {name: q, namespace: shop, status: Denied, approver: carol, requestUID: OF-REQUEST, requestGeneration: VERSION}`,
		`spec: {name: q, status: Perhaps}`,
	},
	"PolicyExceptionResponse/r2":  {`spec: {name: q, namespace: shop, status: Approved, approver: carol, approvalTime: "2026-06-02T00:00:00Z", requestUID: OF-REQUEST, requestGeneration: VERSION}`},
	"BreakglassEscalation/escape": {`spec: {escalatedGroup: g, allowed: {clusters: ["*"], groups: [developers]}, approvers: {users: [carol]}}`, `spec: {maxValidFor: soon}`},
}

// related are objects that depend on each other, so that a world which changes only
// these comes soon to all that there can be between them.
var related = [][]string{
	nil,
	{"ClusterPolicy/a", "PolicyException/shop/e", "PolicyExceptionRequest/shop/q", "PolicyExceptionResponse/r", "PolicyExceptionResponse/r2", "ExceptionPolicy/x"},
	{"PolicyExceptionRequest/shop/q", "PolicyExceptionResponse/r", "ClusterPolicy/a"},
	{"DenyPolicy/a", "DenyPolicy/b", "ClusterPolicyException/e"},
	{"PodKind/farms", "PodKind/barns", "ClusterPolicy/farms", "Policy/shop/a"},
	{"ClusterAdmissionPolicy/m", "AdmissionPolicy/shop/m", "PolicyServer/s", "IdentitySource/i", "IdentitySource/j"},
}

// changingWorld is an API server and a directory whose objects change.
type changingWorld struct {
	*rand.Rand
	t       *testing.T
	slots   []string
	objects map[string]*unstructured.Unstructured
	// works has the last version of each object that could work.
	works map[string]*unstructured.Unstructured
	// files are to be in force, and taken are those that came to be.
	files, taken []string
	refiled      bool
	changes      int64
}

// step changes one object, and says how.
func (w *changingWorld) step() string {
	w.changes++
	slot := w.slots[w.IntN(len(w.slots))]
	there := w.objects[slot]
	switch roll := w.IntN(10); {
	case roll == 0 && there != nil:
		delete(w.objects, slot)
		delete(w.works, slot)
		return "without " + slot
	case roll == 1 && there != nil:
		// What it says stays as it is.
		changed := there.DeepCopy()
		changed.SetResourceVersion(fmt.Sprint(w.changes))
		changed.Object["status"] = map[string]any{"observedGeneration": w.changes}
		w.objects[slot] = changed
		return "the status of " + slot
	case roll == 2 && there != nil:
		changed := there.DeepCopy()
		changed.SetResourceVersion(fmt.Sprint(w.changes))
		changed.SetAnnotations(map[string]string{"sallyport.io/autogen-controllers": w.pick("none", "Deployment,Farm", "Deployment")})
		w.objects[slot] = changed
		return "the annotations of " + slot
	case roll == 3:
		w.files, w.refiled = nil, true
		if w.IntN(3) > 0 {
			// The name of one that the API server may hold, in the same words or in others.
			versions := changeable["ClusterPolicy/a"]
			w.files = []string{yamlOf("ClusterPolicy", "a", versions[w.IntN(2)]), yamlOf("PolicyException", "shop/e", changeable["PolicyException/shop/e"][w.IntN(2)])}
		}
		return fmt.Sprintf("%d objects from files", len(w.files))
	}
	versions := changeable[slot]
	n := w.IntN(len(versions))
	kind, name, _ := strings.Cut(slot, "/")
	document := versions[n]
	generation := int64(1)
	if there != nil {
		generation = there.GetGeneration() + 1
	}
	if q := w.objects["PolicyExceptionRequest/shop/q"]; q != nil && w.IntN(5) > 0 {
		document = strings.NewReplacer("OF-REQUEST", string(q.GetUID()), "VERSION", fmt.Sprint(q.GetGeneration())).Replace(document)
	} else {
		document = strings.NewReplacer("OF-REQUEST", "gone", "VERSION", "7").Replace(document)
	}
	if kind == "PolicyExceptionResponse" && w.IntN(4) > 0 {
		// One that was changed answers nothing.
		generation, there = 1, nil
	}
	object := asStored(w.t, yamlOf(kind, name, document))[0]
	if there == nil {
		object.SetUID(types.UID(fmt.Sprintf("%s-%d", slot, w.changes)))
	} else {
		object.SetUID(there.GetUID())
	}
	object.SetGeneration(generation)
	object.SetResourceVersion(fmt.Sprint(w.changes))
	if w.objects[slot] = object; there == nil {
		delete(w.works, slot)
	}
	return fmt.Sprintf("version %d of %s", n, slot)
}

func (w *changingWorld) pick(of ...string) string { return of[w.IntN(len(of))] }

func listOf(objects map[string]*unstructured.Unstructured) []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for _, slot := range slices.Sorted(maps.Keys(objects)) {
		list = append(list, objects[slot])
	}
	return list
}

func (w *changingWorld) store() (*Store, *Feed) {
	store := NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt})
	store.Run(&modules{server: "s"})
	return store, NewFeed(store)
}

// fromNothing has all objects compiled that there are, with what the last good
// versions leave behind.
func (w *changingWorld) fromNothing() (*Store, *Feed) {
	store, feed := w.store()
	feed.Take(listOf(w.works))
	store.origins["files"] = sourcesOf(w.t, w.taken...)
	store.cache, store.exceptions, store.compiled = newCache(), exception.NewCache(store.options), nil
	fresh := make([]*unstructured.Unstructured, 0, len(w.objects))
	for _, object := range listOf(w.objects) {
		fresh = append(fresh, object.DeepCopy())
	}
	feed.Take(fresh)
	return store, feed
}

// remember takes the objects that work by themselves.
func (w *changingWorld) remember(feed *Feed) {
	for slot, object := range w.objects {
		if d := feed.read[object.GetUID()]; d != nil && len(d.problems) == 0 {
			w.works[slot] = object
		}
	}
}

// answers are all that a set says, of what it judges and of itself, as text.
func answers(t *testing.T, set *Set) map[string]string {
	t.Helper()
	state := identityCluster(t)
	said := map[string]string{}
	say := func(name string, what any) {
		raw, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		said[name] = string(raw)
	}
	decide := func(name string, r *request.Request) { say("decision about "+name, set.Decide(t.Context(), r)) }
	for name, document := range map[string]string{
		"a Deployment": shopWeb, "a Pod": shopPod, "a Pod elsewhere": otherPod, "a ConfigMap": configMaps, "a Farm": dirtyFarm,
		"a Farm of another shape": strings.ReplaceAll(dirtyFarm, "template", "other"), "a Barn": strings.ReplaceAll(dirtyFarm, "Farm", "Barn"),
		"a labelled Pod":     strings.Replace(shopPod, "namespace: shop", "namespace: shop, labels: {let: in}", 1),
		"a Pod that carries": strings.Replace(shopPod, "namespace: shop", "namespace: shop, annotations: {example.com/id: x}", 1),
	} {
		r := writes(t, set, document)
		r.Authorizer, r.Cluster = state, state
		decide(name, r)
	}
	for name, r := range map[string]*request.Request{
		"an exec": exec(state, "shop", "plain"), "a log": access1(state, "log", "shop", "plain"),
		"labels of a namespace": relabelRequest(t, state, "alice", map[string]string{"env": "prod"}, map[string]string{"env": "test"}),
	} {
		decide(name, r)
	}
	passes := set.Exceptions()
	for _, kind := range exception.Kinds {
		for _, name := range []string{"e", "q", "r", "r2", "x"} {
			for _, namespace := range []string{"", "shop"} {
				state := passes.State(kind, namespace, name)
				say("state of "+kind+" "+namespace+"/"+name, []any{fmt.Sprint(state.Problem), state.Unanswered, state.Answered, state.Effective, state.Reach, state.Periods})
			}
		}
	}
	for count, n := range passes.Counts(judgedAt) {
		say(fmt.Sprintf("count of %v", count), n)
	}
	say("counts", set.Counts())
	say("warnings", set.Warnings())
	say("notes", set.Notes())
	var broken []string
	for _, b := range set.Broken() {
		broken = append(broken, b.Called()+": "+b.Why()+"; "+b.Meanwhile())
	}
	say("broken", broken)
	for _, ref := range set.inForce("shop") {
		said["in force: "+ref.String()] = "true"
	}
	return said
}

func differences(got, want map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			all = append(all, fmt.Sprintf("%s:\n   got %s\n  want %s", name, got[name], want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			all = append(all, "beside what is wanted: "+name+" "+got[name])
		}
	}
	return all
}

// outcomes are what becomes of each object, as text.
func outcomes(w *changingWorld, feed *Feed) map[string]string {
	said := map[string]string{}
	for slot, object := range w.objects {
		o, told := feed.Outcome(object)
		said[slot] = fmt.Sprintf("%v %v %q %v %v %v", told, o.Problems, o.Meanwhile, o.LastInForce, o.Notes, o.Context != nil)
	}
	return said
}

// TestChangesComeToTheSame changes objects at random, and holds what a store comes to
// that compiles only what changed to what everything compiled from nothing comes to.
func TestChangesComeToTheSame(t *testing.T) {
	const steps, looks = 50, 8
	for n, slots := range related {
		if slots == nil {
			slots = slices.Sorted(maps.Keys(changeable))
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := &changingWorld{
				Rand: rand.New(rand.NewPCG(uint64(n), 12)), t: t, slots: slots,
				objects: map[string]*unstructured.Unstructured{}, works: map[string]*unstructured.Unstructured{},
			}
			store, feed := w.store()
			// Sets that were in force are asked again later: building others must not have
			// changed them.
			type before struct {
				set  *Set
				said map[string]string
			}
			var earlier []before
			for step := range steps {
				var changes []string
				for range 1 + w.IntN(3) {
					changes = append(changes, w.step())
				}
				if w.refiled && len(store.Replace("files", sourcesOf(t, w.files...))) == 0 {
					w.taken = w.files
				}
				w.refiled = false
				feed.Take(listOf(w.objects))
				again, feedAgain := w.fromNothing()
				want := answers(t, again.Set())
				if wrong := append(differences(answers(t, store.Set()), want), differences(outcomes(w, feed), outcomes(w, feedAgain))...); len(wrong) > 0 {
					t.Fatalf("step %d, %s:\n%s", step, strings.Join(changes, ", "), strings.Join(wrong, "\n"))
				}
				w.remember(feed)
				if earlier = append(earlier, before{store.Set(), want}); len(earlier) > looks {
					earlier = earlier[1:]
				}
				if old := earlier[w.IntN(len(earlier))]; step%3 == 0 {
					if wrong := differences(answers(t, old.set), old.said); len(wrong) > 0 {
						t.Fatalf("step %d, %s: an earlier set was changed:\n%s", step, strings.Join(changes, ", "), strings.Join(wrong, "\n"))
					}
				}
			}
		})
	}
}
