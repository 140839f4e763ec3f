package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

const own = "system:serviceaccount:sallyport-system:sallyport"

// rights lets each user approve exceptions to the named policies.
type rights map[string]string

func (r rights) Allowed(_ context.Context, user request.User, a request.Attributes) (bool, error) {
	if user.Name == "unknown" {
		return false, errors.New("no answer")
	}
	return a.Verb == VerbApprove && a.Group == "sallyport.io" && a.Name != "" && r[user.Name] == a.Resource+"/"+a.Name, nil
}

var approvers = rights{"dave": "clusterpolicies/p", "carol": "clusterpolicies/p", "deny": "denypolicies/p"}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// parse reads an object of ours.
func parse[T any](t testing.TB, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

const asked = `
apiVersion: sallyport.io/v1alpha1
kind: PolicyExceptionRequest
metadata: {name: q, namespace: dev, uid: u1, generation: 3, resourceVersion: "7"}
spec:
  exceptions: [{policyName: p, ruleNames: [r]}]
  reason: why
  exclude: {any: [{resources: {kinds: [Pod], names: [x]}}]}
  duration: 10d
  requesters: [carol]
`

func responseText(more string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: PolicyExceptionResponse\nmetadata: {name: a}\nspec: {name: q, " + more + "}\n"
}

const plainPolicy = `
metadata: {name: p}
spec: {rules: [{name: r, match: {resources: {kinds: [Pod]}}, validate: {pattern: {metadata: {name: "?*"}}}}]}
`

// guard makes a Guard of a cluster that holds these objects.
func guardOf(t testing.TB, rules []string, objects ...client.Object) *Guard {
	t.Helper()
	p := parse[v1alpha1.ClusterPolicy](t, plainPolicy)
	sources := policy.Sources{ClusterPolicies: []stored.Sourced[*v1alpha1.ClusterPolicy]{{Object: p}}}
	for _, text := range rules {
		sources.Exceptions.ExceptionPolicies = append(sources.Exceptions.ExceptionPolicies, source.Of[*v1alpha1.ExceptionPolicy]{Object: parse[v1alpha1.ExceptionPolicy](t, text)})
	}
	set, problems := policy.Compile(sources, pod.Default(), exception.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &Guard{
		Reader: fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build(),
		Set:    func() *policy.Set { return set }, Own: func() []string { return []string{own} },
	}
}

// written is the admission request of somebody who writes an object.
func written(t testing.TB, user, object, old string) *request.Request {
	t.Helper()
	read := func(text string) *pod.Object {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.TypeMeta
		if err := json.Unmarshal(raw, &meta); err != nil {
			t.Fatal(err)
		}
		o, err := pod.Default().Decode(meta.GroupVersionKind(), raw)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	r := &request.Request{Door: request.Admission, Operation: request.Create, Time: noon, User: request.User{Name: user}, Authorizer: approvers, Object: read(object)}
	r.Name, r.Namespace = r.Object.Meta.Name, r.Object.Meta.Namespace
	if old != "" {
		r.Operation, r.OldObject = request.Update, read(old)
	}
	return r
}

// admit does what the API server does: it has the object filled in, and then
// judged.
func admit(t testing.TB, g *Guard, r *request.Request) (string, []decision.Result) {
	t.Helper()
	patch, refused := g.Mutate(t.Context(), r)
	if refused != nil {
		return "", refused
	}
	raw := r.Object.Raw
	if patch != nil {
		raw = applyPatch(t, raw, patch)
		o, err := pod.Default().Decode(r.Object.GVK, raw)
		if err != nil {
			t.Fatal(err)
		}
		changed := *r
		changed.Object = o
		r = &changed
	}
	return string(raw), g.Validate(t.Context(), r)
}

// applyPatch carries out the few operations that Mutate makes.
func applyPatch(t testing.TB, raw, patch []byte) []byte {
	t.Helper()
	var operations []patchOperation
	var tree map[string]any
	if err := errors.Join(json.Unmarshal(patch, &operations), json.Unmarshal(raw, &tree)); err != nil {
		t.Fatal(err)
	}
	for _, op := range operations {
		steps := strings.Split(strings.TrimPrefix(op.Path, "/"), "/")
		at := tree
		for _, s := range steps[:len(steps)-1] {
			at = at[s].(map[string]any)
		}
		last := strings.ReplaceAll(steps[len(steps)-1], "~1", "/")
		if op.Op == "remove" {
			delete(at, last)
			continue
		}
		at[last] = op.Value
	}
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestResponses(t *testing.T) {
	const version = `status: Approved, requestUID: u1, requestGeneration: 3`
	q := parse[v1alpha1.PolicyExceptionRequest](t, asked)
	other := parse[v1alpha1.PolicyExceptionResponse](t, "metadata: {name: before}\nspec: {name: q, namespace: dev, status: Denied, requestUID: u1, requestGeneration: 3}")
	earlier := parse[v1alpha1.PolicyExceptionResponse](t, "metadata: {name: before}\nspec: {name: q, namespace: dev, status: Denied, requestUID: u1, requestGeneration: 2}")
	twin := parse[v1alpha1.PolicyExceptionRequest](t, strings.Replace(asked, "namespace: dev", "namespace: prod", 1))
	later := parse[v1alpha1.PolicyExceptionRequest](t, strings.Replace(asked, "policyName: p", "policyName: x", 1))
	selfApproval := "metadata: {name: x}\nspec: {policies: [p], allowSelfApproval: true}"
	strict := "metadata: {name: x}\nspec: {policies: [p], maxDuration: 1d}"
	cases := map[string]struct {
		user, spec string
		rules      []string
		objects    []client.Object
		status     decision.Status
		says       string
	}{
		"approved by version":              {"dave", version, nil, []client.Object{q}, decision.Pass, ""},
		"approved by resource version":     {"dave", `status: Approved, requestResourceVersion: "7"`, nil, []client.Object{q}, decision.Pass, ""},
		"by uid and resource version":      {"dave", `status: Approved, requestUID: u1, requestResourceVersion: "7"`, nil, []client.Object{q}, decision.Pass, ""},
		"without a version":                {"dave", `status: Approved`, nil, []client.Object{q}, decision.Fail, "does not say which version"},
		"a generation without the uid":     {"dave", `status: Approved, requestGeneration: 3`, nil, []client.Object{q}, decision.Fail, "does not say which version"},
		"another generation":               {"dave", `status: Approved, requestUID: u1, requestGeneration: 2`, nil, []client.Object{q}, decision.Fail, "has changed since"},
		"another resource version":         {"dave", `status: Approved, requestResourceVersion: "6"`, nil, []client.Object{q}, decision.Fail, "has changed since"},
		"made again":                       {"dave", `status: Approved, requestUID: u0, requestGeneration: 3`, nil, []client.Object{q}, decision.Fail, "deleted and made again"},
		"made again, same version":         {"dave", `status: Approved, requestUID: u0, requestResourceVersion: "7"`, nil, []client.Object{q}, decision.Fail, "deleted and made again"},
		"denied without a version":         {"dave", `status: Denied`, nil, []client.Object{q}, decision.Pass, ""},
		"denied, another version":          {"dave", `status: Denied, requestUID: u1, requestGeneration: 2`, nil, []client.Object{q}, decision.Fail, "has changed since"},
		"by who asked":                     {"carol", version, nil, []client.Object{q}, decision.Fail, "carol, who asked for it"},
		"by who asked, allowed":            {"carol", version, []string{selfApproval}, []client.Object{q}, decision.Pass, ""},
		"without the right":                {"mallory", version, nil, []client.Object{q}, decision.Fail, "needs the verb approve on clusterpolicies"},
		"denied without the right":         {"mallory", "status: Denied", nil, []client.Object{q}, decision.Fail, "needs the verb approve"},
		"with a right to another kind":     {"deny", version, nil, []client.Object{q}, decision.Fail, "needs the verb approve on clusterpolicies"},
		"a right that nobody can tell":     {"unknown", version, nil, []client.Object{q}, decision.Error, "no answer"},
		"no request":                       {"dave", version, nil, nil, decision.Fail, "there is no PolicyExceptionRequest q"},
		"two requests of that name":        {"dave", version, nil, []client.Object{q, twin}, decision.Fail, "namespaces dev, prod"},
		"one of two, named":                {"dave", version + ", namespace: dev", nil, []client.Object{q, twin}, decision.Pass, ""},
		"answered already":                 {"dave", version, nil, []client.Object{q, other}, decision.Fail, "is answered already"},
		"an earlier version was denied":    {"dave", version, nil, []client.Object{q, earlier}, decision.Pass, ""},
		"automatic by a user":              {"dave", version + ", approvalPolicy: Automatic", nil, []client.Object{q}, decision.Fail, "what Sallyport answers by itself"},
		"automatic by Sallyport":           {own, version + ", approvalPolicy: Automatic", []string{"metadata: {name: x}\nspec: {policies: [p], approvalPolicy: Automatic}"}, []client.Object{q}, decision.Pass, ""},
		"automatic without a rule":         {own, version + ", approvalPolicy: Automatic", nil, []client.Object{q}, decision.Fail, "no ExceptionPolicy approves automatically"},
		"automatic, for what is not there": {own, version + ", approvalPolicy: Automatic", []string{"metadata: {name: x}\nspec: {policies: [p], approvalPolicy: Automatic}"}, []client.Object{later}, decision.Fail, "which no policy is called now"},
		"longer than the rules let":        {"dave", version, []string{strict}, []client.Object{q}, decision.Fail, "cannot be approved as it is"},
		"a forged approver is replaced":    {"dave", version + ", approver: root, requesters: [x]", nil, []client.Object{q}, decision.Pass, ""},
		"forged exceptions are replaced":   {"dave", version + `, exceptions: [{policyName: "*"}], exclude: {any: [{resources: {kinds: ["*"]}}]}`, nil, []client.Object{q}, decision.Pass, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := guardOf(t, c.rules, c.objects...)
			raw, results := admit(t, g, written(t, c.user, responseText(c.spec), ""))
			if len(results) != 1 || results[0].Status != c.status || !strings.Contains(results[0].Message, c.says) {
				t.Fatalf("results %+v", results)
			}
			if c.status != decision.Pass {
				return
			}
			a := parse[v1alpha1.PolicyExceptionResponse](t, raw)
			if a.Spec.Approver != c.user || a.Spec.RequestUID != "u1" || a.Spec.RequestGeneration != 3 || a.Spec.ApprovalTime == nil || len(a.Spec.Requesters) != 1 || a.Spec.Requesters[0] != "carol" {
				t.Errorf("filled in %+v", a.Spec)
			}
			if approved := a.Spec.Status == v1alpha1.ResponseApproved; approved != (len(a.Spec.Exceptions) == 1) {
				t.Errorf("exceptions %+v", a.Spec.Exceptions)
			} else if approved && (a.Spec.Exceptions[0].PolicyName != "p" || a.Spec.Exceptions[0].PolicyKind != "ClusterPolicy" || !a.Spec.ExpiresAt.Time.Equal(noon.Add(240*time.Hour))) {
				t.Errorf("exceptions %+v until %v", a.Spec.Exceptions, a.Spec.ExpiresAt)
			}
		})
	}
}

// TestUnfilled refuses what did not pass through Mutate, as if that webhook were
// not there.
func TestUnfilled(t *testing.T) {
	q := parse[v1alpha1.PolicyExceptionRequest](t, asked)
	g := guardOf(t, nil, q)
	forged := strings.Replace(asked, "[carol]", "[bob]", 1)
	dated := responseText(`status: Denied, requestUID: u1, requestGeneration: 3, namespace: dev, approver: dave, requesters: [carol], approvalTime: "2026-11-28T12:01:00Z"`)
	if results := g.Validate(t.Context(), written(t, "dave", dated, "")); results[0].Blocks() {
		t.Fatalf("results %+v", results)
	}
	cases := map[string]*request.Request{
		"a response":                     written(t, "dave", responseText("status: Approved, requestUID: u1, requestGeneration: 3, namespace: dev"), ""),
		"a response with another as who": written(t, "dave", responseText(`status: Denied, requestUID: u1, requestGeneration: 3, namespace: dev, approver: root, requesters: [carol], approvalTime: "2026-11-28T12:00:00Z"`), ""),
		"a response of another time":     written(t, "dave", strings.Replace(dated, "12:01:00", "12:01:01", 1), ""),
		"a response of no time":          written(t, "dave", strings.Replace(dated, `, approvalTime: "2026-11-28T12:01:00Z"`, "", 1), ""),
		"a request":                      written(t, "alice", asked, ""),
		"a request that loses who asked": written(t, "alice", forged, asked),
		"an exception":                   written(t, "alice", "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: dev, annotations: {sallyport.io/created-by: bob}}\nspec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}\n", ""),
	}
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			if results := g.Validate(t.Context(), r); len(results) != 1 || !results[0].Blocks() {
				t.Errorf("results %+v", results)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	changed := strings.Replace(asked, "why", "because", 1)
	approved := parse[v1alpha1.PolicyExceptionResponse](t, "metadata: {name: a}\nspec: {name: q, namespace: dev, status: Approved, requestUID: u1, requestGeneration: 3}")
	denied := approved.DeepCopy()
	denied.Spec.Status = v1alpha1.ResponseDenied
	cases := map[string]struct {
		user, object, old string
		rules             []string
		objects           []client.Object
		ok                bool
		requesters        string
	}{
		"asked for":                    {"carol", asked, "", nil, nil, true, "carol"},
		"asked for, forged":            {"alice", asked, "", nil, nil, true, "alice"},
		"changed by another":           {"alice", changed, asked, nil, nil, true, "carol,alice"},
		"changed by the same":          {"carol", changed, asked, nil, nil, true, "carol"},
		"touched by another":           {"alice", strings.Replace(asked, "generation: 3", "generation: 3, labels: {a: b}", 1), asked, nil, nil, true, "carol"},
		"changed once approved":        {"carol", changed, asked, nil, []client.Object{approved}, false, ""},
		"labelled once approved":       {"carol", strings.Replace(asked, "generation: 3", "generation: 3, labels: {a: b}", 1), asked, nil, []client.Object{approved}, true, "carol"},
		"changed once denied":          {"carol", changed, asked, nil, []client.Object{denied}, true, "carol"},
		"by somebody who may not ask":  {"carol", asked, "", []string{"metadata: {name: x}\nspec: {policies: [p], allowedSubjects: [{kind: User, name: bob}]}"}, nil, false, ""},
		"as it was suggested":          {"carol", strings.Replace(asked, "reason: why", "reason: say why", 1), "", nil, nil, false, ""},
		"an end that is past":          {"carol", strings.Replace(asked, "duration: 10d", "expiresAt: \"2026-11-28T12:00:00Z\"", 1), "", nil, nil, false, ""},
		"an end of an entry past":      {"carol", strings.Replace(asked, "ruleNames: [r]", "ruleNames: [r], expiresAt: \"2020-01-01T00:00:00Z\"", 1), "", nil, nil, false, ""},
		"an end that is a second away": {"carol", strings.Replace(asked, "duration: 10d", "expiresAt: \"2026-11-28T12:00:01Z\"", 1), "", nil, nil, true, "carol"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			raw, results := admit(t, guardOf(t, c.rules, c.objects...), written(t, c.user, c.object, c.old))
			if len(results) != 1 || results[0].Blocks() == c.ok {
				t.Fatalf("results %+v", results)
			}
			if c.ok {
				if got := strings.Join(parse[v1alpha1.PolicyExceptionRequest](t, raw).Spec.Requesters, ","); got != c.requesters {
					t.Errorf("requesters %s", got)
				}
			}
		})
	}
}

// TestStatusIsSallyports refuses status that others write.
func TestStatusIsSallyports(t *testing.T) {
	for user, ok := range map[string]bool{own: true, "carol": false, "root": false} {
		r := written(t, user, asked, asked)
		r.Subresource = "status"
		if results := guardOf(t, nil).Validate(t.Context(), r); results[0].Blocks() == ok {
			t.Errorf("%s: %+v", user, results)
		}
	}
}

// TestUnreadableClusters refuses what cannot be judged.
func TestUnreadableClusters(t *testing.T) {
	g := guardOf(t, nil)
	broken := errors.New("etcd is away")
	g.Reader = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	})
	for name, r := range map[string]*request.Request{
		"a response": written(t, "dave", responseText("status: Denied"), ""),
		"a change":   written(t, "carol", strings.Replace(asked, "why", "because", 1), asked),
	} {
		_, results := admit(t, g, r)
		if len(results) != 1 || results[0].Status != decision.Error || !results[0].Blocks() || !results[0].FailClosed {
			t.Errorf("%s: %+v", name, results)
		}
	}
}
