package exception

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestRulesThatCannotWork says what an ExceptionPolicy cannot say, and where.
func TestRulesThatCannotWork(t *testing.T) {
	for spec, path := range map[string]string{
		"{policies: [p]}": "", "{policies: []}": "spec.policies", "{policies: [p, '']}": "spec.policies[1]", "{policies: ['a b']}": "spec.policies[0]",
		"{policies: ['{a,b}']}": "spec.policies[0]", "{policies: [p], namespaces: []}": "spec.namespaces", "{policies: [p], namespaces: [dev, '']}": "spec.namespaces[1]",
		"{policies: [p], trustedNamespaces: ['']}": "spec.trustedNamespaces[0]", "{policies: [p], writing: approve}": "", "{policies: [p], writing: maybe}": "spec.writing",
		"{policies: [p], policyKinds: []}": "spec.policyKinds", "{policies: [p], policyKinds: [Policy, Deployment]}": "spec.policyKinds[1]",
		"{policies: [p], allowedSubjects: [{kind: Robot, name: x}]}": "spec.allowedSubjects[0].kind", "{policies: [p], maxDuration: soon}": "spec.maxDuration",
		"{policies: [p], approvalPolicy: Manual}": "", "{policies: [p], approvalPolicy: Sometimes}": "spec.approvalPolicy",
		"{policies: [p], approvalCondition: 'true'}": "spec.approvalCondition", "{policies: [p], approvalPolicy: Automatic, approvalCondition: 'true'}": "",
		"{policies: [p], approvalPolicy: Automatic, approvalCondition: 'object.'}": "spec.approvalCondition",
	} {
		t.Run(spec, func(t *testing.T) {
			s := sources(t, "{exceptions: [{policyName: other}], match: {resources: {kinds: [Pod]}}}", spec)
			s.Exceptions = nil
			_, problems := Compile(s, Options{})
			if path == "" && len(problems) > 0 || path != "" && (len(problems) != 1 || problems[0].Path != path) {
				t.Errorf("%v, want one at %q", problems, path)
			}
		})
	}
}

// TestAllowsSelfApproval goes by every policy that a request names.
func TestAllowsSelfApproval(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		asked  []string
		want   bool
	}{
		"allowed":             {"{policies: [p], allowSelfApproval: true}", []string{"p"}, true},
		"not allowed":         {"{policies: [p]}", []string{"p"}, false},
		"for one of two":      {"{policies: [p], allowSelfApproval: true}", []string{"p", "q"}, false},
		"for nothing":         {"{policies: ['*'], allowSelfApproval: true}", nil, false},
		"in its namespace":    {"{policies: [p], namespaces: [dev], allowSelfApproval: true}", []string{"p"}, true},
		"in another":          {"{policies: [p], namespaces: [prod], allowSelfApproval: true}", []string{"p"}, false},
		"for all its kinds":   {"{policies: [p], policyKinds: [ClusterPolicy], allowSelfApproval: true}", []string{"p"}, false},
		"a Policy of another": {"{policies: ['dev/*'], allowSelfApproval: true}", []string{"ops/p"}, false},
	} {
		q := &v1alpha1.PolicyExceptionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "dev"}}
		for _, policy := range c.asked {
			q.Spec.Exceptions = append(q.Spec.Exceptions, v1alpha1.RequestedException{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: policy}})
		}
		if got := rulesOfPolicies(t, c.policy).AllowsSelfApproval(q); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestStanding says of what stands from before until when it counts, and by what.
func TestStanding(t *testing.T) {
	const spec = "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}"
	later, sooner := "{policies: ['*'], unapprovedUntil: '2027-02-01T00:00:00Z'}", "{policies: [p], policyKinds: [ClusterPolicy], unapprovedUntil: '2027-01-01T00:00:00Z'}"
	for name, c := range map[string]struct {
		kinds        []string
		policies     []string
		kind, policy string
		until, by    string
		stands       bool
		lacks        bool
		unapproved   bool
	}{
		"from before":             {nil, nil, "ClusterPolicy", "p", "", "", true, false, true},
		"another policy":          {nil, nil, "ClusterPolicy", "q", "", "", false, false, true},
		"with an end":             {nil, []string{later}, "ClusterPolicy", "p", "2027-02-01", "rules-a", true, false, true},
		"with two":                {nil, []string{later, sooner}, "ClusterPolicy", "p", "2027-01-01", "rules-b", true, false, true},
		"with two, the other way": {nil, []string{sooner, later}, "ClusterPolicy", "p", "2027-01-01", "rules-a", true, false, true},
		"with one for its kind":   {nil, []string{later, sooner}, "DenyPolicy", "p", "2027-02-01", "rules-a", true, false, true},
		"with one for others":     {nil, []string{sooner}, "DenyPolicy", "p", "", "", true, false, true},
		"approved":                {[]string{"ClusterPolicy"}, []string{later}, "ClusterPolicy", "p", "", "", false, false, false},
		"approved for another":    {[]string{"AdmissionPolicy"}, []string{later}, "ClusterPolicy", "p", "", "", false, true, false},
		"approved, and not that":  {[]string{"AdmissionPolicy"}, nil, "ClusterPolicy", "q", "", "", false, false, false},
		"the right is enough":     {nil, []string{later, "{policies: [p], writing: rbac}"}, "ClusterPolicy", "p", "", "", false, false, true},
		"and for others not":      {nil, []string{later, "{policies: [p], writing: rbac}"}, "DenyPolicy", "p", "2027-02-01", "rules-a", true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := sources(t, spec, c.policies...)
			if c.kinds != nil {
				recordIn(t, s.Exceptions[0].Object, c.kinds)
			}
			set, problems := Compile(s, Options{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			p := set.Exceptions()[0]
			until, by, stands := p.Standing(c.kind, "", c.policy)
			if got := until.Format(time.DateOnly); stands != c.stands || by != c.by || c.until != "" && got != c.until || c.until == "" && !until.IsZero() {
				t.Errorf("stands %t until %s by %q", stands, until, by)
			}
			if err := p.Lacks(c.kind, "", c.policy); (err != nil) != c.lacks {
				t.Errorf("lacks %v", err)
			}
			if got := p.Unapproved(); got != c.unapproved {
				t.Errorf("unapproved: %t", got)
			}
		})
	}
	// One of two entries is enough, whichever it is.
	for _, kinds := range [][][]string{{{"ClusterPolicy"}, {"AdmissionPolicy"}}, {{"AdmissionPolicy"}, {"ClusterPolicy"}}} {
		s := sources(t, "{exceptions: [{policyName: p}, {policyName: p}], match: {resources: {kinds: [Pod]}}}")
		recordIn(t, s.Exceptions[0].Object, kinds...)
		set, _ := Compile(s, Options{})
		if err := set.Exceptions()[0].Lacks("ClusterPolicy", "", "p"); err != nil {
			t.Errorf("%v: %v", kinds, err)
		}
	}
}

// TestExcuses says which policies a pass names, whatever rules of them.
func TestExcuses(t *testing.T) {
	for name, c := range map[string]struct {
		excepted                string
		kind, namespace, policy string
		want                    bool
	}{
		"by its name":              {"{policyName: p}", "ClusterPolicy", "", "p", true},
		"another":                  {"{policyName: p}", "ClusterPolicy", "", "q", false},
		"by its kind":              {"{policyName: p, policyKind: ClusterPolicy}", "ClusterPolicy", "", "p", true},
		"another kind":             {"{policyName: p, policyKind: DenyPolicy}", "ClusterPolicy", "", "p", false},
		"by a pattern":             {"{policyName: 'p*'}", "ClusterPolicy", "", "px", true},
		"by another pattern":       {"{policyName: 'q*'}", "ClusterPolicy", "", "px", false},
		"of its own namespace":     {"{policyName: p}", "Policy", "dev", "p", true},
		"of another":               {"{policyName: p}", "Policy", "ops", "p", false},
		"of a namespace":           {"{policyName: ops/p}", "Policy", "ops", "p", true},
		"of a namespace, and not":  {"{policyName: ops/p}", "Policy", "dev", "p", false},
		"of a namespace, and none": {"{policyName: ops/p}", "ClusterPolicy", "", "p", false},
		"of every namespace":       {"{policyName: '*/p'}", "Policy", "ops", "p", true},
	} {
		set, problems := Compile(sources(t, "{exceptions: ["+c.excepted+"], match: {resources: {kinds: [Pod]}}}", "{policies: ['*', '*/*'], allowAnyPolicy: true}"), Options{})
		if len(problems) > 0 {
			t.Fatal(name, problems)
		}
		p := set.Exceptions()[0]
		if got := p.Excuses(c.kind, c.namespace, c.policy); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		q := podIn("dev", now)
		q.PolicyKind, q.PolicyNamespace, q.Policy = c.kind, c.namespace, c.policy
		if n, _ := finds(t.Context(), set, q); (n > 0) != c.want {
			t.Errorf("%s: excused %d times", name, n)
		}
	}
}

// TestNamesOfRules excuses a rule by its name, and by that of the rule that it was
// generated from.
func TestNamesOfRules(t *testing.T) {
	for name, c := range map[string]struct {
		names, rule, base string
		want              bool
	}{
		"by its name":            {"[r]", "r", "", true},
		"another":                {"[r]", "s", "", false},
		"by its origin":          {"[r]", "autogen-r", "r", true},
		"by another origin":      {"[r]", "autogen-s", "s", false},
		"by the generated":       {"[autogen-r]", "autogen-r", "r", true},
		"by a pattern":           {"['r*']", "rx", "", true},
		"by another pattern":     {"['r*']", "sx", "", false},
		"by a pattern of both":   {"['r*', x]", "autogen-rx", "rx", true},
		"by one of two":          {"['s*', rx]", "autogen-rx", "rx", true},
		"by a pattern of others": {"['s*']", "autogen-rx", "rx", false},
		"by any":                 {"['*']", "r", "", true},
	} {
		set, problems := Compile(sources(t, "{exceptions: [{policyName: p, ruleNames: "+c.names+"}], match: {resources: {kinds: [Pod]}}}"), Options{})
		q := podIn("dev", now)
		q.Rule, q.BaseRule = c.rule, c.base
		if n, _ := finds(t.Context(), set, q); len(problems) > 0 || (n > 0) != c.want {
			t.Errorf("%s: excused %d times, %v", name, n, problems)
		}
	}
}

// TestLimitsByKind limits what an exception can mean, or was approved for.
func TestLimitsByKind(t *testing.T) {
	const about = "{policies: [p], policyKinds: [DenyPolicy], maxDuration: 1d}"
	for name, c := range map[string]struct {
		excepted string
		approved []string
		policy   string
		limited  bool
	}{
		"that kind":               {"{policyName: p, policyKind: DenyPolicy}", nil, about, true},
		"another kind":            {"{policyName: p, policyKind: ClusterPolicy}", nil, about, false},
		"any kind":                {"{policyName: p}", nil, about, true},
		"approved for another":    {"{policyName: p}", []string{"ClusterPolicy"}, about, false},
		"approved for it":         {"{policyName: p}", []string{"DenyPolicy", "ClusterPolicy"}, "{policies: [p], policyKinds: [DenyPolicy], writing: approve, maxDuration: 1d}", true},
		"a Policy of its own":     {"{policyName: p}", nil, "{policies: [dev/p], maxDuration: 1d}", true},
		"a Policy of another":     {"{policyName: ops/p}", nil, "{policies: [dev/p], maxDuration: 1d}", false},
		"a Policy of that one":    {"{policyName: ops/p}", nil, "{policies: [ops/p], maxDuration: 1d}", true},
		"a pattern":               {"{policyName: 'p*'}", nil, "{policies: [x], maxDuration: 1d, allowAnyPolicy: true}", true},
		"all Policies, by a name": {"{policyName: p}", nil, "{policies: ['*/*'], maxDuration: 1d}", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := sources(t, "{exceptions: ["+c.excepted+"], match: {resources: {kinds: [Pod]}}}", c.policy, "{policies: ['p*'], allowAnyPolicy: true}")
			if c.approved != nil {
				recordIn(t, s.Exceptions[0].Object, c.approved)
			}
			_, problems := Compile(s, Options{})
			if (len(problems) > 0) != c.limited || len(problems) > 0 && problems[0].Path != "spec.duration" {
				t.Errorf("%v", problems)
			}
		})
	}
	// A ClusterPolicyException names no Policy but by its namespace.
	rules := rulesOfPolicies(t, "{policies: ['*/*'], maxDuration: 1d}").policies[0]
	for policy, want := range map[string]bool{"p": false, "ops/p": true} {
		if got := rules.limits("", rulesOf([]v1alpha1.ExceptedRules{{PolicyName: policy}}, "")); got != want {
			t.Errorf("%s is limited: %t", policy, got)
		}
	}
	// How long a request of a file will hold is not known before it is answered.
	s := asked(t, "{exceptions: [{policyName: p}], exclude: {resources: {kinds: [Pod]}}, expiresAt: '2027-11-28T12:00:00Z'}")
	s.Requests[0].Object.CreationTimestamp = metav1.Time{}
	s.ExceptionPolicies = sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", "{policies: [p], maxDuration: 1d}").ExceptionPolicies
	if _, problems := Compile(s, Options{}); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
	s.Requests[0].Object.Spec.ExpiresAt, s.Requests[0].Object.Spec.Duration = nil, "2d"
	if _, problems := Compile(s, Options{}); len(problems) != 1 || problems[0].Path != "spec.duration" {
		t.Errorf("%v", problems)
	}
}
