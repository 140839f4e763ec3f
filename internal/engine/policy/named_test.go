package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// TestNamed says which policies whoever approves an exception is asked about: those
// that it can mean, and no others.
func TestNamed(t *testing.T) {
	clusterWide := rulePolicy("", "match: {any: [{resources: {kinds: [Deployment]}}]}"+never)
	in := func(namespace string) string {
		return strings.Replace(strings.Replace(clusterWide, "kind: ClusterPolicy", "kind: Policy", 1), "{name: p", "{name: p, namespace: "+namespace, 1)
	}
	deny := strings.Replace(strict, "name: strict", "name: p", 1)
	// Another with two rules is next to p, and is one policy.
	two := strings.Replace(clusterWide, "{name: p", "{name: s", 1) + "\n  - name: second" + strings.SplitN(clusterWide, "- name: r", 2)[1]
	set := setOf(t, clusterWide, two, in("dev"), in("prod"), deny)
	for name, c := range map[string]struct {
		kind, namespace, own, policy string
		want                         []string
	}{
		"a bare name, in a namespace":         {"", "", "dev", "p", []string{"ClusterPolicy /p", "DenyPolicy /p", "Policy dev/p"}},
		"a bare name, in one without any":     {"", "", "test", "p", []string{"ClusterPolicy /p", "DenyPolicy /p"}},
		"a bare name, of the cluster":         {"", "", "", "p", []string{"ClusterPolicy /p", "DenyPolicy /p", "Policy dev/p", "Policy prod/p"}},
		"a namespace's":                       {"", "dev", "", "p", []string{"Policy dev/p"}},
		"every namespace's":                   {"", "*", "", "p", []string{"Policy dev/p", "Policy prod/p"}},
		"a namespace that has none":           {"", "test", "", "p", nil},
		"one kind":                            {stored.KindClusterPolicy, "", "dev", "p", []string{"ClusterPolicy /p"}},
		"another kind":                        {stored.KindDenyPolicy, "", "dev", "p", []string{"DenyPolicy /p"}},
		"a kind that is not there":            {stored.KindAdmissionPolicy, "", "dev", "p", nil},
		"a name that is not there":            {"", "", "dev", "q", nil},
		"a pattern":                           {stored.KindClusterPolicy, "", "dev", "?", []string{"ClusterPolicy /p", "ClusterPolicy /s"}},
		"a pattern for one of them":           {stored.KindClusterPolicy, "", "dev", "s*", []string{"ClusterPolicy /s"}},
		"a pattern that none has":             {"", "", "dev", "q*", nil},
		"what the API server knew validated":  {identity.KindSource, "", "", identityrule.PolicyValidatedAnnotations, []string{"IdentitySource /" + identityrule.PolicyValidatedAnnotations}},
		"a kind of the cluster, by namespace": {stored.KindClusterPolicy, "*", "", "p", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, ref := range set.Named(c.kind, c.namespace, c.own, c.policy) {
				got = append(got, ref.Kind+" "+ref.Namespace+"/"+ref.Name)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestExceptionsToWhatIsNotThere are told of, and those to what is there are not.
func TestExceptionsToWhatIsNotThere(t *testing.T) {
	clusterWide := rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never)
	deny := strings.Replace(strict, "name: strict", "name: d", 1)
	for name, c := range map[string]struct{ policy, rule, says string }{
		"a rule":                              {"p", "r", ""},
		"its form for templates":              {"p", "autogen-r", ""},
		"its form for cron jobs":              {"p", "autogen-cronjob-r", ""},
		"a pattern of rules":                  {"p", "r*", ""},
		"a pattern of that form":              {"p", "autogen-*", ""},
		"another form":                        {"p", "other-r", `names the rule "other-r", which policy "p" does not have`},
		"the score of a DenyPolicy":           {"d", stored.RulePodSecurity, ""},
		"a rule that a DenyPolicy lacks":      {"d", "rules[7]", `names the rule "rules[7]", which policy "d" does not have`},
		"a form that a DenyPolicy lacks":      {"d", "autogen-" + stored.RulePodSecurity, "does not have"},
		"a form that a DenyPolicy lacks, too": {"d", "autogen-cronjob-" + stored.RulePodSecurity, "does not have"},
		"a policy":                            {"q", "r", `names the policy "q", which is not there`},
	} {
		t.Run(name, func(t *testing.T) {
			exception := "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: dev}\nspec: {exceptions: [{policyName: " + c.policy + `, ruleNames: ["` + c.rule + `"]}], match: {any: [{resources: {kinds: [Pod]}}]}}`
			problems := setOf(t, clusterWide, deny, exception).exceptionEffects()
			if c.says == "" && len(problems) > 0 || c.says != "" && (len(problems) != 1 || !strings.Contains(problems[0].Error(), c.says)) {
				t.Errorf("%v, want %q", problems, c.says)
			}
		})
	}
}
