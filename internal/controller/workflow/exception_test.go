package workflow

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// holds lets a user approve what is listed as RESOURCE/NAMESPACE/NAME, and notes what
// was asked.
type holds struct {
	rights []string
	asked  []string
}

func (h *holds) Allowed(_ context.Context, _ request.User, a request.Attributes) (bool, error) {
	right := a.Resource + "/" + a.Namespace + "/" + a.Name
	h.asked = append(h.asked, right)
	return a.Verb == VerbApprove && a.Group == v1alpha1.GroupVersion.Group && slices.Contains(h.rights, right), nil
}

// guardOfKinds knows a policy of each of some kinds, all called p, and one of two
// namespaces called local.
func guardOfKinds(t testing.TB, rules ...string) *Guard {
	t.Helper()
	set, problems := policy.Compile(sourcesOfKinds(t, rules...), pod.Default(), exception.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &Guard{Set: func() *policy.Set { return set }, Own: func() []string { return []string{own} }}
}

func sourcesOfKinds(t testing.TB, rules ...string) policy.Sources {
	t.Helper()
	sources := policy.Sources{
		ClusterPolicies: []stored.Sourced[*v1alpha1.ClusterPolicy]{{Object: parse[v1alpha1.ClusterPolicy](t, plainPolicy)}},
		Identities:      []stored.Sourced[*v1alpha1.IdentitySource]{{Object: parse[v1alpha1.IdentitySource](t, "metadata: {name: id}\nspec: {key: id, podAnnotation: {}}")}},
	}
	for _, namespace := range []string{"dev", "prod"} {
		p := parse[v1alpha1.Policy](t, strings.Replace(plainPolicy, "{name: p}", "{name: local, namespace: "+namespace+"}", 1))
		sources.Policies = append(sources.Policies, stored.Sourced[*v1alpha1.Policy]{Object: p})
	}
	for _, text := range rules {
		sources.Exceptions.ExceptionPolicies = append(sources.Exceptions.ExceptionPolicies, source.Of[*v1alpha1.ExceptionPolicy]{Object: parse[v1alpha1.ExceptionPolicy](t, text)})
	}
	return sources
}

func exceptionText(kind, entries string) string {
	namespace := ", namespace: dev"
	if kind == exception.KindClusterException {
		namespace = ""
	}
	return "apiVersion: sallyport.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: e" + namespace + "}\nspec: {exceptions: [" + entries + "], match: {resources: {kinds: [Pod]}}}\n"
}

// TestWritingAsks says what is asked of whoever writes an exception, and what is
// recorded.
func TestWritingAsks(t *testing.T) {
	const e, wide = exception.KindException, exception.KindClusterException
	everywhere := []string{"clusterpolicies//x", "policies/dev/x", "clusteradmissionpolicies//x", "admissionpolicies/dev/x"}
	for name, c := range map[string]struct {
		kind, entries string
		rules, rights []string
		ok            bool
		says          string
		asked         []string
		kinds         string
	}{
		"approved":                    {e, "{policyName: p}", nil, []string{"clusterpolicies//p"}, true, "", []string{"clusterpolicies//p"}, `[["ClusterPolicy"]]`},
		"not approved":                {e, "{policyName: p}", nil, nil, false, `needs the verb approve on clusterpolicies.sallyport.io "p" cluster-wide`, []string{"clusterpolicies//p"}, ""},
		"by a right in the namespace": {e, "{policyName: p}", nil, []string{"clusterpolicies/dev/p"}, false, "cluster-wide", []string{"clusterpolicies//p"}, ""},
		"one of two":                  {e, "{policyName: p}, {policyName: local}", nil, []string{"policies/dev/local"}, false, `exceptions[0] names "p"`, []string{"clusterpolicies//p", "policies/dev/local"}, ""},
		"of its namespace":            {e, "{policyName: local}", nil, []string{"policies/dev/local"}, true, "", []string{"policies/dev/local"}, `[["Policy"]]`},
		"of another namespace":        {e, "{policyName: prod/local}", nil, []string{"policies/dev/local"}, false, "in namespace prod", []string{"policies/prod/local"}, ""},
		"later, of any kind":          {e, "{policyName: x}", nil, everywhere, true, "", everywhere, `[["ClusterPolicy","Policy","ClusterAdmissionPolicy","AdmissionPolicy"]]`},
		"later, with most of it":      {e, "{policyName: x}", nil, everywhere[:3], false, "which no policy is called now", everywhere, ""},
		"later, for the cluster":      {wide, "{policyName: x}", nil, everywhere, false, `denypolicies.sallyport.io "x" cluster-wide`, []string{"clusterpolicies//x", "denypolicies//x", "clusteradmissionpolicies//x", "identitysources//x"}, ""},
		"a pattern":                   {e, "{policyName: 'p*'}", nil, []string{"clusterpolicies//p"}, false, "whatever its name, cluster-wide", []string{"clusterpolicies//", "policies/dev/", "clusteradmissionpolicies//", "admissionpolicies/dev/"}, ""},
		"a pattern of namespaces":     {e, "{policyName: '*/local'}", nil, []string{"policies//local", "admissionpolicies//local"}, true, "", []string{"policies//local", "admissionpolicies//local"}, `[["Policy","AdmissionPolicy"]]`},
		"an identity":                 {e, "{policyName: id}", nil, []string{"identitysources//id"}, false, "only where an ExceptionPolicy names that kind", nil, ""},
		"an identity, for later":      {e, "{policyName: x, policyKind: IdentitySource}", nil, []string{"identitysources//x"}, false, "only where an ExceptionPolicy names that kind", nil, ""},
		"an identity, let":            {e, "{policyName: id}", []string{"metadata: {name: x}\nspec: {policies: [id], policyKinds: [IdentitySource], writing: approve}"}, []string{"identitysources//id"}, true, "", []string{"identitysources//id"}, `[["IdentitySource"]]`},
		"an identity, by rbac":        {e, "{policyName: id}", []string{"metadata: {name: x}\nspec: {policies: [id], policyKinds: [IdentitySource], writing: rbac}"}, nil, true, "", nil, `[[]]`},
		"an identity, cluster":        {wide, "{policyName: id}", nil, []string{"identitysources//id"}, true, "", []string{"identitysources//id"}, `[["IdentitySource"]]`},
		"by rbac":                     {e, "{policyName: p}", []string{"metadata: {name: x}\nspec: {policies: [p], writing: rbac}"}, nil, true, "", nil, `[[]]`},
		"one of two by rbac":          {e, "{policyName: p}, {policyName: local}", []string{"metadata: {name: x}\nspec: {policies: [p], writing: rbac}"}, []string{"policies/dev/local"}, true, "", []string{"policies/dev/local"}, `[[],["Policy"]]`},
		"by rbac, who may not ask":    {e, "{policyName: p}", []string{"metadata: {name: x}\nspec: {policies: [p], writing: rbac, allowedSubjects: []}"}, nil, false, "may not ask", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := written(t, "alice", exceptionText(c.kind, c.entries), "")
			authorizer := &holds{rights: c.rights}
			r.Authorizer = authorizer
			raw, results := admit(t, guardOfKinds(t, c.rules...), r)
			if len(results) != 1 || (results[0].Status == decision.Pass) != c.ok || !strings.Contains(results[0].Message, c.says) {
				t.Fatalf("results %+v", results)
			}
			if !slices.Equal(authorizer.asked, c.asked) {
				t.Errorf("asked about %q, want %q", authorizer.asked, c.asked)
			}
			if !c.ok {
				return
			}
			record, err := exception.ReadApproval(&parse[v1alpha1.PolicyException](t, raw).ObjectMeta)
			if err != nil || record == nil || record.By != "alice" {
				t.Fatalf("record %+v, %v", record, err)
			}
			if kinds, _ := json.Marshal(record.Kinds); string(kinds) != c.kinds {
				t.Errorf("kinds %s, want %s", kinds, c.kinds)
			}
		})
	}
}

// TestUpdatesOfExceptions keep the record, and need approve where the spec changes.
func TestUpdatesOfExceptions(t *testing.T) {
	g := guardOfKinds(t)
	r := written(t, "dave", exceptionText(exception.KindException, "{policyName: p}"), "")
	r.Authorizer = &holds{rights: []string{"clusterpolicies//p"}}
	approved, results := admit(t, g, r)
	if results[0].Status != decision.Pass {
		t.Fatal(results)
	}
	before := exceptionText(exception.KindException, "{policyName: p}")
	changed := strings.Replace(before, "kinds: [Pod]", "kinds: [Pod, Deployment]", 1)
	labelled := strings.Replace(approved, `"name":"e"`, `"name":"e","labels":{"a":"b"}`, 1)
	forged := strings.Replace(approved, `\"by\":\"dave\"`, `\"by\":\"alice\"`, 1)
	all := []string{"clusterpolicies//p"}
	for name, c := range map[string]struct {
		user, object, old string
		rights            []string
		ok                bool
		by                string
	}{
		"the same, without the record":      {"alice", before, approved, nil, true, "dave"},
		"labels":                            {"alice", labelled, approved, nil, true, "dave"},
		"a forged record is put back":       {"alice", forged, approved, nil, true, "dave"},
		"another spec":                      {"alice", changed, approved, nil, false, ""},
		"another spec with the record":      {"alice", strings.Replace(approved, `"kinds":["Pod"]`, `"kinds":["*"]`, 1), approved, nil, false, ""},
		"another spec, approved":            {"erin", changed, approved, all, true, "erin"},
		"the same again by who may":         {"erin", before, approved, all, true, "dave"},
		"approved again":                    {"erin", forged, approved, all, true, "erin"},
		"from before, the same":             {"alice", before, before, nil, true, ""},
		"from before, by who may":           {"erin", before, before, all, true, ""},
		"from before, approved by who may":  {"erin", strings.Replace(before, "{name: e", "{name: e, annotations: {sallyport.io/approval: please}", 1), before, all, true, "erin"},
		"from before, approved by who not":  {"alice", strings.Replace(before, "{name: e", "{name: e, annotations: {sallyport.io/approval: please}", 1), before, nil, true, ""},
		"from before, another spec":         {"alice", changed, before, nil, false, ""},
		"another spec by who may in dev":    {"alice", changed, before, []string{"clusterpolicies/dev/p"}, false, ""},
		"another spec, the name is a new's": {"alice", strings.Replace(before, "policyName: p", "policyName: local", 1), approved, []string{"policies/dev/local"}, true, "alice"},
	} {
		t.Run(name, func(t *testing.T) {
			r := written(t, c.user, c.object, c.old)
			r.Authorizer = &holds{rights: c.rights}
			// Who wrote what was there is not what this is about.
			raw, results := admit(t, g, r)
			if len(results) != 1 || (results[0].Status == decision.Pass) != c.ok {
				t.Fatalf("results %+v", results)
			}
			if !c.ok {
				return
			}
			record, err := exception.ReadApproval(&parse[v1alpha1.PolicyException](t, raw).ObjectMeta)
			if err != nil || (record == nil) != (c.by == "") || record != nil && record.By != c.by {
				t.Errorf("record %+v, %v, want one of %q", record, err, c.by)
			}
		})
	}
}

// TestUnfilledRecords refuses a record that nobody filled in, as if /mutate were not
// there, and one that says something else.
func TestUnfilledRecords(t *testing.T) {
	g := guardOfKinds(t)
	full, _ := admit(t, g, func() *request.Request {
		r := written(t, "dave", exceptionText(exception.KindException, "{policyName: p}"), "")
		r.Authorizer = &holds{rights: []string{"clusterpolicies//p"}}
		return r
	}())
	for name, text := range map[string]string{
		"none":               strings.Replace(exceptionText(exception.KindException, "{policyName: p}"), "{name: e", "{name: e, annotations: {sallyport.io/created-by: dave}", 1),
		"another's":          strings.Replace(full, `\"by\":\"dave\"`, `\"by\":\"root\"`, 1),
		"another spec":       strings.Replace(full, `"kinds":["Pod"]`, `"kinds":["*"]`, 1),
		"no kinds at all":    strings.Replace(full, `\"kinds\":[[\"ClusterPolicy\"]]`, `\"kinds\":[]`, 1),
		"another time":       strings.Replace(full, "2026-11-28T12:00:00Z", "2026-11-28T10:00:00Z", 1),
		"kinds not approved": strings.Replace(full, `[\"ClusterPolicy\"]`, `[\"ClusterPolicy\",\"DenyPolicy\"]`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			r := written(t, "dave", text, "")
			r.Authorizer = &holds{rights: []string{"clusterpolicies//p"}}
			if text == full {
				t.Fatal("nothing was replaced")
			}
			if results := g.Validate(t.Context(), r); len(results) != 1 || !results[0].Blocks() {
				t.Errorf("results %+v", results)
			}
		})
	}
}

// TestAnswersArePinned expands what an answer means to the kinds that were asked
// about.
func TestAnswersArePinned(t *testing.T) {
	g := guardOfKinds(t)
	for name, want := range map[string]string{
		"p": "ClusterPolicy", "local": "Policy", "id": "IdentitySource", "dev/local": "Policy",
		"x":     "ClusterPolicy Policy DenyPolicy ClusterAdmissionPolicy AdmissionPolicy IdentitySource",
		"p*":    "ClusterPolicy Policy DenyPolicy ClusterAdmissionPolicy AdmissionPolicy IdentitySource",
		"dev/x": "Policy AdmissionPolicy", "*/p": "Policy AdmissionPolicy",
	} {
		x := v1alpha1.RequestedException{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: name}}
		var kinds []string
		for _, one := range g.pinned(x, "dev") {
			kinds = append(kinds, one.PolicyKind)
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%s is pinned to %s, want %s", name, got, want)
		}
	}
	// One that says a kind that the name cannot mean stays, so that it is refused.
	odd := v1alpha1.RequestedException{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: "dev/p", PolicyKind: "ClusterPolicy"}}
	if got := g.pinned(odd, "dev"); len(got) != 1 || got[0].PolicyKind != "ClusterPolicy" {
		t.Errorf("pinned to %+v", got)
	}
}
