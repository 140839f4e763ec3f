package exception

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

func rulesOfPolicies(t testing.TB, policies ...string) *Rules {
	t.Helper()
	s := sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", policies...)
	s.Exceptions = nil
	set, _ := Compile(s, Options{})
	return set.Rules()
}

// TestWriting says what writing takes, by kind, name and namespace.
func TestWriting(t *testing.T) {
	const all = "{policies: ['*'], writing: rbac}"
	for name, c := range map[string]struct {
		policies              []string
		namespace, kind, what string
		want                  Writing
	}{
		"nothing said":                       {nil, "dev", "ClusterPolicy", "p", Writing{}},
		"nothing said, an identity":          {nil, "dev", "IdentitySource", "p", Writing{Barred: true}},
		"nothing said, a DenyPolicy":         {nil, "dev", "DenyPolicy", "p", Writing{Barred: true}},
		"an identity, for the cluster":       {nil, "", "IdentitySource", "p", Writing{}},
		"all by rbac":                        {[]string{all}, "dev", "ClusterPolicy", "p", Writing{RBAC: true}},
		"all by rbac, for the cluster":       {[]string{all}, "", "ClusterPolicy", "p", Writing{RBAC: true}},
		"all by rbac, an identity":           {[]string{all}, "dev", "IdentitySource", "p", Writing{Barred: true}},
		"all by rbac, identity, cluster":     {[]string{all}, "", "IdentitySource", "p", Writing{}},
		"the identity only by name":          {[]string{"{policies: [p], writing: rbac}"}, "dev", "IdentitySource", "p", Writing{Barred: true}},
		"the identity by kind":               {[]string{"{policies: [p], policyKinds: [IdentitySource], writing: rbac}"}, "dev", "IdentitySource", "p", Writing{RBAC: true}},
		"the identity by kind, approved":     {[]string{"{policies: [p], policyKinds: [IdentitySource], writing: approve}"}, "dev", "IdentitySource", "p", Writing{}},
		"by kind, without writing":           {[]string{"{policies: [p], policyKinds: [IdentitySource]}"}, "dev", "IdentitySource", "p", Writing{Barred: true}},
		"by kind, another":                   {[]string{"{policies: [p], policyKinds: [IdentitySource], writing: rbac}"}, "dev", "ClusterPolicy", "p", Writing{}},
		"by kind, elsewhere":                 {[]string{"{policies: [p], policyKinds: [IdentitySource], namespaces: [prod], writing: rbac}"}, "dev", "IdentitySource", "p", Writing{Barred: true}},
		"another policy":                     {[]string{"{policies: [q], writing: rbac}"}, "dev", "ClusterPolicy", "p", Writing{}},
		"another namespace":                  {[]string{"{policies: [p], namespaces: [prod], writing: rbac}"}, "dev", "ClusterPolicy", "p", Writing{}},
		"a namespace, and the cluster's":     {[]string{"{policies: [p], namespaces: [dev], writing: rbac}"}, "", "ClusterPolicy", "p", Writing{}},
		"a pattern that is covered":          {[]string{"{policies: [p*], writing: rbac}"}, "dev", "ClusterPolicy", "pa*", Writing{RBAC: true}},
		"a pattern that is wider":            {[]string{"{policies: [pa*], writing: rbac}"}, "dev", "ClusterPolicy", "p*", Writing{}},
		"the stricter of two":                {[]string{all, "{policies: [p], writing: approve}"}, "dev", "ClusterPolicy", "p", Writing{}},
		"the stricter of two, elsewhere":     {[]string{all, "{policies: [p], namespaces: [prod], writing: approve}"}, "dev", "ClusterPolicy", "p", Writing{RBAC: true}},
		"the stricter of two, another kind":  {[]string{all, "{policies: [p], policyKinds: [DenyPolicy], writing: approve}"}, "dev", "ClusterPolicy", "p", Writing{RBAC: true}},
		"a pattern that the stricter may be": {[]string{all, "{policies: [px], writing: approve}"}, "dev", "ClusterPolicy", "p*", Writing{}},
		"every namespace, and the cluster's": {[]string{"{policies: [p], namespaces: ['*'], writing: rbac}"}, "", "ClusterPolicy", "p", Writing{}},
		"a pattern that ? may cover":         {[]string{"{policies: ['p?'], writing: rbac}"}, "dev", "ClusterPolicy", "p*", Writing{}},
		"a name that ? covers":               {[]string{"{policies: ['p?'], writing: rbac}"}, "dev", "ClusterPolicy", "pa", Writing{RBAC: true}},
		"the stricter of another":            {[]string{all, "{policies: [q], writing: approve}"}, "dev", "ClusterPolicy", "p", Writing{RBAC: true}},
		"the kind, and not the name":         {[]string{"{policies: [q], policyKinds: [IdentitySource], writing: rbac}"}, "dev", "IdentitySource", "p", Writing{Barred: true}},
		"a Policy":                           {[]string{"{policies: [dev/p], writing: rbac}"}, "dev", "Policy", "dev/p", Writing{RBAC: true}},
		"a broken one":                       {[]string{"{policies: ['*'], writing: maybe}"}, "dev", "ClusterPolicy", "p", Writing{}},
	} {
		t.Run(name, func(t *testing.T) {
			kind, ok := excusableKind(c.kind)
			if !ok {
				t.Fatal("no such kind")
			}
			if got := rulesOfPolicies(t, c.policies...).Writing(c.namespace, kind, c.what); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// recordIn writes a record of dave's for what an exception says.
func recordIn(t testing.TB, e *v1alpha1.PolicyException, kinds ...[]string) {
	t.Helper()
	digest, err := Digest(KindException, e.Namespace, &e.Spec)
	if err != nil {
		t.Fatal(err)
	}
	record := &Approval{By: "dave", At: metav1.NewTime(now), Spec: digest, Kinds: kinds}
	text, err := record.String()
	if err != nil {
		t.Fatal(err)
	}
	e.Annotations = map[string]string{v1alpha1.AnnotationApproval: text}
}

// excuses says which kinds of policies called p are excused, and why the others are
// not.
func excuses(t testing.TB, s Sources, at time.Time) (kinds, why string) {
	t.Helper()
	set, _ := Compile(s, Options{})
	for _, e := range excusables {
		q := &Query{
			PolicyKind: e.Kind, Policy: "p", Rule: "r", Now: at,
			Targets: []*match.Target{{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "dev", Name: "x", User: &request.User{Name: "alice"}}},
		}
		if e.Namespaced {
			q.PolicyNamespace = "dev"
		}
		excused := false
		for _, trouble := range set.Find(t.Context(), q, func(*Exception) bool { excused = true; return false }) {
			why += e.Kind + ": " + trouble.Err.Error() + "\n"
		}
		if excused {
			kinds += e.Kind + " "
		}
	}
	return strings.TrimSpace(kinds), why
}

const everyKind = "ClusterPolicy Policy DenyPolicy ClusterAdmissionPolicy AdmissionPolicy IdentitySource"

// TestPinned holds exceptions to the kinds that they were approved for.
func TestPinned(t *testing.T) {
	const spec = "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}"
	approved := func(kinds ...string) func(*v1alpha1.PolicyException) {
		return func(e *v1alpha1.PolicyException) { recordIn(t, e, kinds) }
	}
	changed := func(e *v1alpha1.PolicyException) {
		recordIn(t, e, []string{"ClusterPolicy"})
		e.Spec.Reason = "another"
	}
	for name, c := range map[string]struct {
		record   func(*v1alpha1.PolicyException)
		policies []string
		at       time.Time
		want     string
		why      string
	}{
		"approved for one":          {approved("ClusterPolicy"), nil, now, "ClusterPolicy", "IdentitySource: a PolicyException excuses from an IdentitySource only where"},
		"for another":               {approved("AdmissionPolicy"), nil, now, "AdmissionPolicy", `ClusterPolicy: it was approved for an AdmissionPolicy called "p", and not for a ClusterPolicy`},
		"for one that is barred":    {approved("ClusterPolicy", "IdentitySource"), nil, now, "ClusterPolicy", "IdentitySource: "},
		"and is let":                {approved("ClusterPolicy", "IdentitySource"), []string{"{policies: [p], policyKinds: [IdentitySource], writing: approve}"}, now, "ClusterPolicy IdentitySource", "DenyPolicy: "},
		"let, and not approved":     {approved("ClusterPolicy"), []string{"{policies: [p], policyKinds: [IdentitySource], writing: approve}"}, now, "ClusterPolicy", "IdentitySource: it was approved for a ClusterPolicy"},
		"the right is enough":       {approved(), []string{"{policies: [p], writing: rbac}"}, now, "ClusterPolicy ClusterAdmissionPolicy", ""},
		"it was enough":             {approved(), nil, now, "", "ClusterPolicy: spec.exceptions"},
		"it was, and is for others": {approved(), []string{"{policies: [p], namespaces: [prod], writing: rbac}"}, now, "", "no one approved it"},
		"from before":               {nil, nil, now, everyKind, ""},
		"changed since":             {changed, nil, now, everyKind, ""},
		"changed since, and over":   {changed, []string{"{policies: [p], unapprovedUntil: '2026-11-28T12:00:00Z'}"}, now, "", "let such exceptions count until 2026-11-28T12:00:00Z"},
		"from before, not over":     {nil, []string{"{policies: [p], unapprovedUntil: '2026-11-28T12:00:01Z'}"}, now, everyKind, ""},
		"the earliest end counts":   {nil, []string{"{policies: ['*'], unapprovedUntil: '2027-01-01T00:00:00Z'}", "{policies: [p], unapprovedUntil: '2026-01-01T00:00:00Z'}"}, now, "", "until 2026-01-01"},
		"an end for a kind":         {nil, []string{"{policies: [p], policyKinds: [IdentitySource], unapprovedUntil: '2026-01-01T00:00:00Z'}"}, now, "ClusterPolicy Policy DenyPolicy ClusterAdmissionPolicy AdmissionPolicy", "IdentitySource: no one approved it"},
		"an end for another":        {nil, []string{"{policies: [q], unapprovedUntil: '2026-01-01T00:00:00Z'}"}, now, everyKind, ""},
		"an end, and rbac":          {nil, []string{"{policies: ['*'], unapprovedUntil: '2026-01-01T00:00:00Z', writing: rbac}"}, now, "ClusterPolicy Policy ClusterAdmissionPolicy AdmissionPolicy", "DenyPolicy: no one approved it"},
		"a record of no one": {func(e *v1alpha1.PolicyException) {
			recordIn(t, e, []string{"ClusterPolicy"})
			e.Annotations[v1alpha1.AnnotationApproval] = strings.Replace(e.Annotations[v1alpha1.AnnotationApproval], "dave", "", 1)
		}, []string{"{policies: [p], unapprovedUntil: '2026-01-01T00:00:00Z'}"}, now, "", "no one approved it"},
		"a record of fewer entries": {func(e *v1alpha1.PolicyException) { recordIn(t, e) }, []string{"{policies: [p], unapprovedUntil: '2026-01-01T00:00:00Z'}"}, now, "", "no one approved it"},
		"a record of more entries":  {func(e *v1alpha1.PolicyException) { recordIn(t, e, []string{"ClusterPolicy"}, nil) }, []string{"{policies: [p], unapprovedUntil: '2026-01-01T00:00:00Z'}"}, now, "", "no one approved it"},
		"a record of nothing": {func(e *v1alpha1.PolicyException) {
			e.Annotations = map[string]string{v1alpha1.AnnotationApproval: "yes"}
		}, []string{"{policies: [p], unapprovedUntil: '2026-01-01T00:00:00Z'}"}, now, "", "no one approved it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sources(t, spec, c.policies...)
			if c.record != nil {
				c.record(s.Exceptions[0].Object)
			}
			kinds, why := excuses(t, s, c.at)
			if kinds != c.want || !strings.Contains(why, c.why) {
				t.Errorf("excuses %q, want %q; says\n%s", kinds, c.want, why)
			}
		})
	}
	t.Run("one of two entries", func(t *testing.T) {
		for _, kinds := range [][][]string{{{"ClusterPolicy"}, {"AdmissionPolicy"}}, {{"AdmissionPolicy"}, {"ClusterPolicy"}}} {
			s := sources(t, "{exceptions: [{policyName: p}, {policyName: p}], match: {resources: {kinds: [Pod]}}}")
			recordIn(t, s.Exceptions[0].Object, kinds...)
			if kinds, why := excuses(t, s, now); kinds != "ClusterPolicy AdmissionPolicy" {
				t.Errorf("excuses %q; says\n%s", kinds, why)
			}
		}
	})
	t.Run("a record of another namespace", func(t *testing.T) {
		s := sources(t, spec, "{policies: [p], unapprovedUntil: '2026-01-01T00:00:00Z'}")
		recordIn(t, s.Exceptions[0].Object, []string{"ClusterPolicy"})
		s.Exceptions[0].Object.Namespace = "prod"
		set, _ := Compile(s, Options{})
		if p := set.Exceptions()[0]; p.Approval() != nil || !p.Unapproved() {
			t.Errorf("the record of dev counts in prod")
		}
	})
	t.Run("files are the administrator's", func(t *testing.T) {
		s := sources(t, spec, "{policies: ['*'], unapprovedUntil: '2026-01-01T00:00:00Z'}")
		s.Exceptions[0].Origin = "e.yaml"
		if kinds, why := excuses(t, s, now); kinds != everyKind {
			t.Errorf("excuses %q; says\n%s", kinds, why)
		}
	})
}

// TestAnswersFromBefore hold for the kinds that were asked about then.
func TestAnswersFromBefore(t *testing.T) {
	q := read[v1alpha1.PolicyExceptionRequest](t, "metadata: {name: q, namespace: dev, uid: u, generation: 1}\nspec: {exceptions: [{policyName: p}], exclude: {resources: {kinds: [Pod]}}}")
	a := read[v1alpha1.PolicyExceptionResponse](t, "metadata: {name: a, generation: 1}\nspec: {name: q, namespace: dev, status: Approved, requestUID: u, requestGeneration: 1, approver: dave, approvalTime: '2026-11-28T11:00:00Z', exceptions: [{policyName: p}]}")
	s := Sources{Requests: []source.Of[*v1alpha1.PolicyExceptionRequest]{{Object: q}}, Responses: []source.Of[*v1alpha1.PolicyExceptionResponse]{{Object: a}}}
	kinds, why := excuses(t, s, now)
	if kinds != "ClusterPolicy Policy DenyPolicy" || !strings.Contains(why, "IdentitySource: it was approved for") {
		t.Errorf("excuses %q; says\n%s", kinds, why)
	}
	// An answer of a file is the administrator's, and holds for every kind.
	s.Responses[0].Origin = "answer.yaml"
	if kinds, why := excuses(t, s, now); kinds != everyKind {
		t.Errorf("of a file: excuses %q; says\n%s", kinds, why)
	}
	s.Responses[0].Origin = ""
	a.Spec.Exceptions[0].PolicyKind = "IdentitySource"
	if kinds, _ := excuses(t, s, now); kinds != "IdentitySource" {
		t.Errorf("excuses %q", kinds)
	}
}

// TestNamesThatMeanNothing refuses what no kind of policy can be called.
func TestNamesThatMeanNothing(t *testing.T) {
	for excepted, path := range map[string]string{
		"{policyName: dev/p, policyKind: ClusterPolicy}": "spec.exceptions[0].policyName",
		"{policyName: p, policyKind: Deployment}":        "spec.exceptions[0].policyKind",
		"{policyName: dev/p, policyKind: Policy}":        "",
		"{policyName: p, policyKind: AdmissionPolicy}":   "",
	} {
		_, problems := Compile(sources(t, "{exceptions: ["+excepted+"], match: {resources: {kinds: [Pod]}}}"), Options{})
		if path == "" && len(problems) > 0 || path != "" && (len(problems) == 0 || problems[0].Path != path) {
			t.Errorf("%s: %v", excepted, problems)
		}
	}
}

// TestUnapprovedKinds is about exceptions each of which names one kind: what no one
// approved need not be where the right to write it is enough, and what was approved
// is worth nothing where no ExceptionPolicy names the kind.
func TestUnapprovedKinds(t *testing.T) {
	for name, c := range map[string]struct {
		excepted, kind string
		policies       []string
		unapproved     bool
		problem        string
	}{
		"no one approved it":                {"{policyName: p, policyKind: ClusterPolicy}", "", nil, true, ""},
		"the right to write it is enough":   {"{policyName: p, policyKind: ClusterPolicy}", "", []string{"{policies: [p], writing: rbac}"}, false, ""},
		"approved":                          {"{policyName: p, policyKind: ClusterPolicy}", "ClusterPolicy", nil, false, ""},
		"approved, of a kind that is named": {"{policyName: p, policyKind: IdentitySource}", "IdentitySource", []string{"{policies: [p], policyKinds: [IdentitySource], writing: approve}"}, false, ""},
		"approved, of a kind that none is":  {"{policyName: p, policyKind: IdentitySource}", "IdentitySource", nil, false, `names "p", an IdentitySource, which a PolicyException excuses only where`},
		"without a policy":                  {"", "", nil, false, "excuses nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sources(t, "{exceptions: ["+c.excepted+"], match: {resources: {kinds: [Pod]}}}", c.policies...)
			if c.kind != "" {
				recordIn(t, s.Exceptions[0].Object, []string{c.kind})
			}
			set, problems := Compile(s, Options{})
			if c.problem != "" {
				if len(problems) != 1 || problems[0].Path != "spec.exceptions" || !strings.Contains(problems[0].Detail, c.problem) {
					t.Errorf("%v", problems)
				}
				return
			}
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := set.Exceptions()[0].Unapproved(); got != c.unapproved {
				t.Errorf("unapproved: %v", got)
			}
		})
	}
}
