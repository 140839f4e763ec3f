package policy

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestWhatDenyRulesAreAbout puts what is asked for to one rule each.
func TestWhatDenyRulesAreAbout(t *testing.T) {
	review := func(verb, group, resource, subresource, name string) *request.Request {
		return &request.Request{
			Door: request.Access, Time: judgedAt, Verb: verb, ClusterName: "prod-eu", User: request.User{Name: "alice"},
			Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Subresource: subresource, Namespace: "shop", Name: name,
		}
	}
	for name, c := range map[string]struct {
		rule   string
		r      *request.Request
		denied bool
	}{
		"everything":                            {`{verbs: [get, update], apiGroups: ["*"], resources: ["*"]}`, review("get", "", "pods", "log", "web"), true},
		"a path that is not a resource":         {`{verbs: [get, update], apiGroups: ["*"], resources: ["*"]}`, &request.Request{Door: request.Access, Time: judgedAt, Verb: "get", NonResourcePath: "/version"}, false},
		"our own objects":                       {`{verbs: [delete], apiGroups: [sallyport.io], resources: [denypolicies]}`, review("delete", "sallyport.io", "denypolicies", "", "x"), true},
		"leases":                                {`{verbs: [get, update], apiGroups: ["*"], resources: ["*"]}`, review("update", "coordination.k8s.io", "leases", "", "x"), true},
		"a pattern, without subresources":       {`{verbs: ["*"], apiGroups: [""], resources: ["pod*"]}`, review("create", "", "pods", "exec", "web"), false},
		"a pattern":                             {`{verbs: ["*"], apiGroups: [""], resources: ["pod*"]}`, review("create", "", "pods", "", "web"), true},
		"a subresource of it":                   {`{verbs: ["*"], apiGroups: [apps], resources: [deployments], subresources: [scale]}`, review("update", "apps", "deployments", "scale", "web"), true},
		"another subresource of it":             {`{verbs: ["*"], apiGroups: [apps], resources: [deployments], subresources: [scale]}`, review("update", "apps", "deployments", "status", "web"), false},
		"this subresource of something else":    {`{verbs: ["*"], apiGroups: [apps], resources: [deployments], subresources: [scale]}`, review("update", "apps", "statefulsets", "scale", "web"), false},
		"subresources of every resource":        {`{verbs: ["*"], apiGroups: [apps], resources: ["*"], subresources: [scale]}`, review("update", "apps", "statefulsets", "scale", "web"), true},
		"and no others":                         {`{verbs: ["*"], apiGroups: [apps], resources: ["*"], subresources: [scale]}`, review("update", "apps", "statefulsets", "status", "web"), false},
		"a way in by another verb":              {`{verbs: [list], apiGroups: [""], resources: ["pods/*"]}`, review("create", "", "pods", "exec", "web"), false},
		"a connect by its verb":                 {`{verbs: [connect], apiGroups: ["*"], resources: ["*"]}`, review("create", "", "pods", "exec", "web"), true},
		"what is called so in another group":    {`{verbs: [connect], apiGroups: ["*"], resources: ["*"]}`, review("create", "example.com", "pods", "exec", "web"), false},
		"what is called so of another resource": {`{verbs: [connect], apiGroups: ["*"], resources: ["*"]}`, review("create", "", "services", "exec", "web"), false},
		"a way in that is not a connect":        {`{verbs: [connect], apiGroups: ["*"], resources: ["*"]}`, review("patch", "", "pods", "ephemeralcontainers", "web"), false},
		"a proxied name":                        {`{verbs: ["*"], apiGroups: [""], resources: [services/proxy], resourceNames: [web]}`, review("get", "", "services", "proxy", "https:web:443"), true},
		"a name with a colon":                   {`{verbs: ["*"], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [admin]}`, review("get", "rbac.authorization.k8s.io", "clusterroles", "", "admin:view"), false},
		"a name with a star that is only that":  {`{verbs: [impersonate], apiGroups: [""], resources: [groups], resourceNames: [cluster-admins]}`, review("impersonate", "", "groups", "", "cluster-*"), false},
		"signers of a domain":                   {`{verbs: [approve], apiGroups: ["*"], resources: ["*"], resourceNames: [example.com/web]}`, review("approve", "certificates.k8s.io", "signers", "", "example.com/*"), true},
		"signers of a domain, of another group": {`{verbs: [approve], apiGroups: ["*"], resources: ["*"], resourceNames: [example.com/web]}`, review("approve", "example.com", "signers", "", "example.com/*"), false},
		"a domain of what are not signers":      {`{verbs: [approve], apiGroups: ["*"], resources: ["*"], resourceNames: [example.com/web]}`, review("approve", "certificates.k8s.io", "others", "", "example.com/*"), false},
		"some signers of a domain":              {`{verbs: [approve], apiGroups: ["*"], resources: ["*"], resourceNames: [example.com/web]}`, review("approve", "certificates.k8s.io", "signers", "", "example.com/w*"), false},
	} {
		t.Run(name, func(t *testing.T) {
			c.r.Cluster = clusterOf(t, namespace("shop", nil))
			d := setOf(t, "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: p}, spec: {rules: ["+c.rule+"]}}").Decide(t.Context(), c.r)
			if d.Refuses() != c.denied {
				t.Errorf("%s: %s", d.Verdict, messages(d))
			}
		})
	}
}

// TestFirstRuleThatDenies is the one that is told of.
func TestFirstRuleThatDenies(t *testing.T) {
	const rule = `{verbs: [create], apiGroups: [""], resources: [pods/exec]}`
	set := setOf(t, "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: p}, spec: {rules: ["+rule+", "+rule+"]}}")
	if got := only(t, set.Decide(t.Context(), exec(clusterOf(t, namespace("shop", nil)), "shop", "web"))); got.Rule != "rules[0]" || got.Status != decision.Fail {
		t.Errorf("%+v", got)
	}
}

// TestRulesAreRememberedByWhatIsAsked has a set that knows which rules are about users
// find those that are about the account that one of them is.
func TestRulesAreRememberedByWhatIsAsked(t *testing.T) {
	set := setOf(t, `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: p}, spec: {rules: [{verbs: [impersonate], apiGroups: [""], resources: [serviceaccounts], namespaces: [shop], resourceNames: [web]}]}}`)
	for _, c := range []struct {
		user   string
		denied bool
	}{{"alice", false}, {"system:serviceaccount:shop:web", true}, {"alice", false}} {
		r := impersonating("impersonate", "/users", "", c.user)
		r.Cluster = clusterOf(t, namespace("shop", nil))
		if d := set.Decide(t.Context(), r); d.Refuses() != c.denied {
			t.Errorf("%s: %s", c.user, messages(d))
		}
	}
}

// TestMemo works an answer out once, and only so many of them.
func TestMemo(t *testing.T) {
	var m deny.Memo[int, int]
	worked := 0
	double := func(key int) int {
		return m.Get(key, func() int { worked++; return 2 * key })
	}
	for range 2 {
		for key := range deny.MaxRemembered {
			if double(key) != 2*key {
				t.Fatalf("%d: %d", key, double(key))
			}
		}
	}
	if worked != deny.MaxRemembered {
		t.Errorf("%d answers were worked out, want each once", worked)
	}
	double(deny.MaxRemembered)
	if double(deny.MaxRemembered); worked != deny.MaxRemembered+2 {
		t.Errorf("what goes beyond is remembered")
	}
}
