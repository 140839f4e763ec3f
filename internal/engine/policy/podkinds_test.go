package policy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const (
	farms       = "spec: {group: x.io, kinds: [Farm, Barn], pods: [{path: spec.template}]}"
	dirtyFarm   = "apiVersion: x.io/v1\nkind: Farm\nmetadata: {name: f, namespace: shop}\nspec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: \"a:1\", securityContext: {privileged: true}}]}}}\n"
	podBaseline = "spec: {rules: [{name: b, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}]}"
)

// writes is what the front door is asked when an object is created, as a set reads it.
func writes(t testing.TB, set *Set, document string) *request.Request {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	object, err := set.Pods().Decode(schema.GroupVersionKind{}, raw)
	if err != nil {
		t.Fatal(err)
	}
	return &request.Request{
		Time: judgedAt, Door: request.Admission, UID: "1", Operation: request.Create, User: request.User{Name: "alice"},
		Kind: object.GVK, Resource: schema.GroupVersionResource{Group: object.GVK.Group, Version: object.GVK.Version, Resource: strings.ToLower(object.GVK.Kind) + "s"},
		Namespace: object.Meta.Namespace, Name: object.Meta.Name, Object: object, Cluster: clusterOf(t, namespace("shop", nil)),
	}
}

// TestPodKindBodies judges objects of a kind that a PodKind registers by each body that
// a rule about Pods can have, whole and completed.
func TestPodKindBodies(t *testing.T) {
	rule := func(validate string) string {
		return "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: " + validate + "}]}"
	}
	const whole, completed = farms, "spec: {group: x.io, kinds: [Farm], pods: [{path: spec.template, completed: true}]}"
	for _, c := range []struct {
		name, kind, policy string
		status             decision.Status
		path               string
	}{
		{"baseline", whole, podBaseline, decision.Fail, "spec.template.spec.containers[0].securityContext.privileged"},
		{"baseline, completed", completed, podBaseline, decision.Fail, "spec.template.spec.containers[0].securityContext.privileged"},
		{"a pattern", whole, rule(`{pattern: {spec: {containers: [{image: "b:*"}]}}}`), decision.Fail, "spec.template.spec.containers[0].image"},
		{"a pattern, completed", completed, rule(`{pattern: {spec: {containers: [{image: "b:*"}]}}}`), decision.Fail, "spec.template.spec.containers[0].image"},
		{"a pattern of what is missing", whole, rule(`{pattern: {spec: {hostUsers: false}}}`), decision.Fail, "spec.template.spec.hostUsers"},
		{"a pattern of what is missing, completed", completed, rule(`{pattern: {spec: {hostUsers: false}}}`), decision.Pass, ""},
		{"one pattern of several, completed", completed, rule(`{anyPattern: [{spec: {containers: [{image: "b:*"}]}}, {metadata: {labels: {x: y}}}]}`), decision.Pass, ""},
		{"no pattern of several, completed", completed, rule(`{anyPattern: [{spec: {containers: [{image: "b:*"}]}}, {metadata: {labels: {a: y}}}]}`), decision.Fail, "spec.template.spec.containers[0].image"},
		{"CEL", whole, rule(`{cel: {expressions: [{expression: "object.spec.containers.all(c, c.image.startsWith('b'))"}]}}`), decision.Fail, "spec.template"},
		{"CEL, completed", completed, rule(`{cel: {expressions: [{expression: "object.spec.containers.all(c, c.image.startsWith('b'))"}]}}`), decision.Skip, ""},
		{"restricted, completed", completed, strings.Replace(podBaseline, "baseline", "restricted", 1), decision.Fail, "spec.template.spec.containers[0].securityContext.privileged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, i := started(t, yamlOf("ClusterPolicy", "p", c.policy), yamlOf("PodKind", "farms", c.kind))
			if len((*i.store.ofAPI.Load())) > 0 || len(store.Set().Broken()) > 0 {
				t.Fatal((*i.store.ofAPI.Load()), store.Set().Broken())
			}
			result := only(t, store.Set().Decide(t.Context(), writes(t, store.Set(), dirtyFarm)))
			if result.Status != c.status || !strings.HasPrefix(result.Rule, "autogen-") || (c.path == "") != (len(result.Findings) == 0) || c.path != "" && result.Findings[0].Path != c.path {
				t.Errorf("%+v", result)
			}
		})
	}
	// A kind of another group that is called Pod is a kind like any other.
	for _, kinds := range []string{"Pod", "v1/Pod", "'*/Pod'"} {
		for _, validate := range []string{"{podSecurity: {level: baseline}}", `{pattern: {spec: {containers: [{"=(securityContext)": {"=(privileged)": false}}]}}}`,
			`{cel: {expressions: [{expression: "!has(object.spec.containers) || object.spec.containers.all(c, !c.?securityContext.?privileged.orValue(false))"}]}}`} {
			store, _ := started(t, yamlOf("ClusterPolicy", "p", strings.Replace(rule(validate), "[Pod]", "["+kinds+"]", 1)), yamlOf("PodKind", "pods", strings.Replace(farms, "[Farm, Barn]", "[Pod]", 1)))
			result := only(t, store.Set().Decide(t.Context(), writes(t, store.Set(), strings.Replace(dirtyFarm, "Farm", "Pod", 1))))
			if result.Status != decision.Fail || result.Rule != "autogen-r" || !strings.HasPrefix(result.Findings[0].Path, "spec.template") {
				t.Errorf("%s, %s: %+v", kinds, validate, result)
			}
		}
	}
	clean := strings.Replace(dirtyFarm, ", securityContext: {privileged: true}", "", 1)
	store, _ := started(t, yamlOf("ClusterPolicy", "p", strings.Replace(podBaseline, "baseline", "restricted", 1)), yamlOf("PodKind", "farms", completed))
	if result := only(t, store.Set().Decide(t.Context(), writes(t, store.Set(), clean))); result.Status != decision.Pass {
		t.Errorf("what is missing counts where it is completed: %+v", result)
	}
}

// TestPodKindsThatCannotWork writes PodKinds that name the kind, the field and what is
// wrong, into files and to the API server, beside two that work.
func TestPodKindsThatCannotWork(t *testing.T) {
	store, _ := started(t, yamlOf("PodKind", "farms", farms), yamlOf("PodKind", "broken", "spec: {group: y.io, kinds: [Yard], pods: [{path: a..b}]}"))
	for _, c := range []struct{ name, rest, want string }{
		{"p", "spec: {group: x.io, kinds: [Farm], pods: [{path: spec.other}]}", `spec.kinds[0]: Invalid value: "Farm": is registered by PodKind farms already`},
		{"p", "spec: {group: apps, kinds: [Deployment], pods: [{path: spec.other}]}", "spec.group: Invalid value: \"apps\": is a group of Kubernetes itself"},
		{"p", "spec: {group: servers, kinds: [Server], pods: [{path: spec.other}]}", "spec.group: Invalid value: \"servers\": is a group of Kubernetes itself"},
		{"p", "spec: {group: z.io, kinds: [A], pods: [{form: PodSpec}]}", "spec.pods[0].path: Required value: say where the pods stand"},
		{"p", `spec: {group: "", kinds: [Pod], pods: [{path: spec.other}]}`, "spec.group: Required value"},
		{"p", "spec: {group: networking.k8s.io, kinds: [Ingress], pods: [{path: spec.other}]}", "is a group of Kubernetes itself"},
		{"p", "spec: {group: sallyport.io, kinds: [DenyPolicy], pods: [{path: spec.other}]}", "Sallyport's own kinds"},
		{"p", "spec: {group: x.io/v1, kinds: [A], pods: [{path: spec.other}]}", "without a version"},
		{"p", "spec: {group: argoproj.io, kinds: [Workflow], pods: [{path: \"spec.templates[*]\"}]}", "contradicts itself or what is known of the kind"},
		{"p", "spec: {group: argoproj.io, kinds: [workflow], pods: [{path: spec.x}]}", "the kind is written Workflow.argoproj.io"},
		{"p", "spec: {group: z.io, kinds: [A, A], pods: [{path: spec}]}", "spec.kinds[1]: Duplicate value"},
		{"p", "spec: {group: z.io, kinds: [AList], pods: [{path: spec}]}", "spec.kinds[0]"},
		{"p", "spec: {group: z.io, kinds: [], pods: [{path: spec}]}", "spec.kinds: Required value"},
		{"p", "spec: {group: z.io, kinds: [A], pods: []}", "spec.pods: Required value"},
		{"p", "spec: {group: z.io, kinds: [A], pods: [{path: spec}, {path: metadata.x}]}", `spec.pods[1]: Invalid value: "metadata.x"`},
		{"p", "spec: {group: z.io, kinds: [A], pods: [{path: spec, form: Parts}]}", "spec.pods[0].parts: Required value"},
		{"p", "spec: {group: z.io, kinds: [A], pods: [{path: spec, parts: [{from: a, to: spec}]}]}", "spec.pods[0].parts: Forbidden"},
		{"p", "spec: {group: z.io, kinds: [A], pods: [{path: spec, form: Container}]}", "spec.pods[0].form: Unsupported value"},
		{"p", "spec: {group: z.io, kinds: [A], pods: [{path: spec, form: Parts, parts: [{from: a, to: spec.x}]}]}", `to "spec.x"`},
		{"p", "spec: {group: z.io, kinds: [A], pods: [{path: spec}, {path: spec.template}]}", "leads into the pod"},
		{"p", "spec: {group: z.io, kind: A, pods: [{path: spec}]}", "spec.kind"},
		{"farms", "spec: {group: x.io, kinds: [Farm], pods: [{path: spec.template, form: PodSpec}]}", ""},
		{"p", "spec: {group: y.io, kinds: [Yard], pods: [{path: spec}]}", ""},
		{"p", "spec: {group: keda.sh, kinds: [ScaledJob], pods: [{path: spec.more}]}", ""},
	} {
		document := yamlOf("PodKind", c.name, c.rest)
		d := store.Set().Decide(t.Context(), writes(t, store.Set(), document))
		result := only(t, d)
		if d.Refuses() != (c.want != "") || !strings.Contains(result.Message, c.want) {
			t.Errorf("%s: refused is %v: %s", c.rest, d.Refuses(), result.Message)
		}
		if strings.Contains(c.want, "farms") {
			continue
		}
		var sources Sources
		raw, _ := yaml.YAMLToJSON([]byte(document))
		problems := sources.Add(schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: stored.KindPodKind}, raw, "a.yaml")
		if len(problems) == 0 {
			_, problems = Compile(sources, pod.Default(), exception.Options{})
		}
		if (len(problems) > 0) != (c.want != "") || !strings.Contains(fmt.Sprint(problems), c.want) && !strings.Contains(problems.Error(), c.want) {
			t.Errorf("%s, from a file: %v", c.rest, problems)
		}
	}
}

// TestPodKindsChange follows a PodKind, and a policy that names its kind, through their
// lives.
func TestPodKindsChange(t *testing.T) {
	policy := yamlOf("ClusterPolicy", "p", strings.Replace(podBaseline, "[Pod]", "[Farm]", 1))
	kind := yamlOf("PodKind", "farms", farms)
	store, i := started(t, policy)
	status := func() string {
		d := store.Set().Decide(t.Context(), writes(t, store.Set(), dirtyFarm))
		return fmt.Sprint(d.Refuses(), " ", len(store.Set().Broken()))
	}
	steps := []struct {
		documents []string
		want      string
	}{
		{nil, "true 1"}, // the policy says that it holds no pod, and is answered for
		{[]string{policy, kind}, "true 0"},
		{[]string{policy, strings.Replace(kind, "spec.template", "spec.other", 1)}, "false 0"},
		{[]string{policy, kind}, "true 0"},
		{[]string{kind}, "false 0"},
		{[]string{policy}, "true 1"},
	}
	for n, step := range steps {
		if step.documents != nil {
			objects := asStored(t, step.documents...)
			for _, o := range objects {
				o.SetGeneration(int64(n + 1))
				o.SetResourceVersion(fmt.Sprint(n + 10))
			}
			i.Take(objects)
		}
		if got := status(); got != step.want {
			t.Errorf("step %d: %s, want %s", n, got, step.want)
		}
	}
}

// TestBrokenPodKind asks after a start with a PodKind that cannot work, beside one that
// does and 1,000 other objects.
func TestBrokenPodKind(t *testing.T) {
	documents := []string{yamlOf("ClusterPolicy", "p", podBaseline), yamlOf("PodKind", "farms", farms)}
	for n := range 1000 {
		documents = append(documents, yamlOf("ClusterPolicy", fmt.Sprint("other", n), strings.Replace(podBaseline, "[Pod]", "[Job]", 1)))
	}
	custom := func(group, kind string) string {
		return strings.NewReplacer("x.io/v1", group+"/v1", "kind: Farm", "kind: "+kind).Replace(dirtyFarm)
	}
	for _, c := range []struct {
		name, rest, refused, says string
	}{
		{"a bad path", "spec: {group: y.io, kinds: [Yard], pods: [{path: a..b}]}", "Yard.y.io, Farm.x.io", "spec.pods[0]"},
		{"an unknown field", "spec: {group: y.io, kinds: [Yard], pods: [{path: spec, only: x}]}", "Yard.y.io, Farm.x.io", "only"},
		{"a kind that another registers", "spec: {group: x.io, kinds: [Farm, Yard], pods: [{path: spec}]}", "Farm.x.io, Yard.x.io", "farms"},
		{"no kinds that can be read", "spec: {group: y.io, kinds: {a: b}, pods: [{path: spec}]}", "Yard.y.io, Z.z.io, Farm.x.io, Yard.x.io", "kinds"},
		{"no spec", "spec: 3", "Yard.y.io, Z.z.io, Farm.x.io, Yard.x.io", "spec"},
		{"one of Kubernetes", "spec: {group: apps, kinds: [Deployment], pods: [{path: x}]}", "Farm.x.io", "apps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, _ := started(t, append(documents, yamlOf("PodKind", "zz", c.rest))...)
			set := store.Set()
			if broken := set.Broken(); len(broken) != 1 || broken[0].Kind != stored.KindPodKind || !strings.Contains(broken[0].Problems.Error(), c.says) {
				t.Fatalf("%+v", broken[0])
			}
			for name, document := range map[string]string{
				"Yard.y.io": custom("y.io", "Yard"), "Yard.x.io": custom("x.io", "Yard"), "Z.z.io": custom("z.io", "Z"), "Farm.x.io": dirtyFarm,
				"deployment": shopWeb, "configmap": configMaps, "pod": shopPod,
				"kind": yamlOf("PodKind", "zz", "spec: {group: q.io, kinds: [Q], pods: [{path: spec}]}"),
			} {
				r := writes(t, set, document)
				if d := set.Decide(t.Context(), r); d.Refuses() != split(c.refused)[name] {
					t.Errorf("%s: refused is %v: %s", name, d.Refuses(), messages(d))
				}
				if name != "Yard.y.io" || c.refused[:1] != "Y" {
					continue
				}
				r.Operation, r.OldObject = request.Update, r.Object
				if d := set.Decide(t.Context(), r); d.Refuses() {
					t.Errorf("an update that changes nothing is refused: %s", messages(d))
				}
				r.OldObject = writes(t, set, strings.Replace(document, "a:1", "a:2", 1)).Object
				if d := set.Decide(t.Context(), r); !d.Refuses() {
					t.Errorf("an update that changes the image is let in: %s", messages(d))
				}
				r.Operation, r.OldObject, r.Object = request.Delete, r.Object, nil
				if d := set.Decide(t.Context(), r); d.Refuses() {
					t.Errorf("to delete it is refused: %s", messages(d))
				}
			}
		})
	}
}

// TestPodKindsThatSayWhatIsKnown are warned of, each kind once.
func TestPodKindsThatSayWhatIsKnown(t *testing.T) {
	if !(&Set{}).Pods().Makes(schema.GroupKind{Group: "apps", Kind: "Deployment"}) {
		t.Error("a set without anything in it knows no kinds that make pods")
	}
	for rest, want := range map[string]string{
		"spec: {group: monitoring.coreos.com, kinds: [Prometheus], pods: [{path: spec.other}]}": "",
		"spec: {group: x.io, kinds: [Farm], pods: [{path: spec.template}]}":                     "",
		"spec: {group: serving.knative.dev, kinds: [Service], pods: [{path: spec.template}]}":   "spec.kinds[0]: Service makes pods at spec.template, which Sallyport knows by itself",
	} {
		warnings := setOf(t, yamlOf("PodKind", "p", rest)).Warnings()
		if (len(warnings) == 1) != (want != "") || want != "" && !strings.Contains(warnings[0].At(), want) {
			t.Errorf("%s: %v", rest, warnings)
		}
	}
}
