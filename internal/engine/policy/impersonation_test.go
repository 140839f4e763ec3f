package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// impersonating is a review of the right to act as somebody. what is GROUP/RESOURCE, or
// GROUP/RESOURCE/SUBRESOURCE, with an empty GROUP for the core one.
func impersonating(verb, what, namespace, name string) *request.Request {
	parts := strings.SplitN(what, "/", 3)
	r := &request.Request{
		Door: request.Access, Time: judgedAt, Verb: verb, ClusterName: "prod-eu", User: request.User{Name: "mallory"},
		Resource: schema.GroupVersionResource{Group: parts[0], Resource: parts[1]}, Namespace: namespace, Name: name,
	}
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}
	return r
}

const authn = "authentication.k8s.io"

// TestImpersonationFamily has a rule about impersonate cover each way in which the API
// server asks, and a rule with names what it asks about in place of many.
func TestImpersonationFamily(t *testing.T) {
	any := `{verbs: [impersonate], apiGroups: ["*"], resources: ["*"]}`
	users := `{verbs: [impersonate], apiGroups: [""], resources: [users]}`
	admins := `{verbs: ["*"], apiGroups: ["", authentication.k8s.io], resources: [groups], resourceNames: [cluster-admins]}`
	adminsOfOld := `{verbs: [impersonate], apiGroups: [""], resources: [groups], resourceNames: [cluster-admins]}`
	node := `{verbs: [impersonate], apiGroups: [""], resources: [users], resourceNames: ["system:node:worker-1"]}`
	nodes := `{verbs: [impersonate], apiGroups: [authentication.k8s.io], resources: [nodes], resourceNames: [worker-1]}`
	account := `{verbs: [impersonate], apiGroups: [""], resources: [serviceaccounts], namespaces: [shop], resourceNames: [web]}`
	accountUser := `{verbs: [impersonate], apiGroups: [""], resources: [users], resourceNames: ["system:serviceaccount:shop:web"]}`
	accountUsers := `{verbs: ["*"], apiGroups: [authentication.k8s.io], resources: [users], resourceNames: ["system:serviceaccount:shop:*"]}`
	accountGroup := `{verbs: [impersonate], apiGroups: [""], resources: [groups], resourceNames: ["system:serviceaccounts:shop"]}`
	accountsGroup := `{verbs: [impersonate], apiGroups: [""], resources: [groups], resourceNames: ["system:serviceaccounts"]}`
	accountByLabel := `{verbs: [impersonate], apiGroups: [""], resources: [serviceaccounts], namespaces: {selectorTerms: [{matchLabels: {team: shop}}]}}`
	nodesGroup := `{verbs: [impersonate], apiGroups: [""], resources: [groups], resourceNames: ["system:nodes"]}`
	usersByStar := `{verbs: [impersonate], apiGroups: [""], resources: [users], resourceNames: ["*"]}`
	scopes := `{verbs: [impersonate], apiGroups: [authentication.k8s.io], resources: [userextras/scopes], resourceNames: [all]}`
	one := `{verbs: ["impersonate:user-info"], apiGroups: [authentication.k8s.io], resources: [users]}`
	signer := `{verbs: [approve], apiGroups: [certificates.k8s.io], resources: [signers], resourceNames: ["kubernetes.io/kube-apiserver-client"]}`
	secrets := `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [token], namespaces: [shop]}`
	finalizers := `{verbs: [update], apiGroups: [apps], resources: [deployments/finalizers]}`
	for _, tt := range []struct {
		name, rule string
		r          *request.Request
		denied     bool
	}{
		{"of old", any, impersonating("impersonate", "/users", "", "alice"), true},
		{"as a user", any, impersonating("impersonate:user-info", authn+"/users", "", "alice"), true},
		{"as a service account", any, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "web"), true},
		{"as a node", any, impersonating("impersonate:arbitrary-node", authn+"/nodes", "", "worker-1"), true},
		{"as one's own node", any, impersonating("impersonate:associated-node", authn+"/nodes", "", "*"), true},
		{"to list", any, impersonating("impersonate-on:user-info:list", "/pods", "shop", ""), true},
		{"with an extra", any, impersonating("impersonate:user-info", authn+"/userextras/scopes", "", "all"), true},
		{"with many extras", any, impersonating("impersonate:user-info", authn+"/userextras/*", "", "*"), true},
		{"no impersonation", any, impersonating("list", "/pods", "shop", ""), false},
		{"another verb that begins alike", any, impersonating("impersonates", "/users", "", "alice"), false},

		{"users in the other group", users, impersonating("impersonate:user-info", authn+"/users", "", "alice"), true},
		{"a node is a user", users, impersonating("impersonate:arbitrary-node", authn+"/nodes", "", "worker-1"), true},
		{"any node is a user", users, impersonating("impersonate:associated-node", authn+"/nodes", "", "*"), true},
		{"no user", users, impersonating("impersonate:user-info", authn+"/groups", "", "alice"), false},
		{"users of somebody's own", users, impersonating("impersonate", "example.com/users", "", "alice"), false},

		{"the group", admins, impersonating("impersonate:user-info", authn+"/groups", "", "cluster-admins"), true},
		{"the group of old", admins, impersonating("impersonate", "/groups", "", "cluster-admins"), true},
		{"four groups", admins, impersonating("impersonate:user-info", authn+"/groups", "", "*"), true},
		{"another group", admins, impersonating("impersonate:user-info", authn+"/groups", "", "developers"), false},
		{"by a rule of old", adminsOfOld, impersonating("impersonate:user-info", authn+"/groups", "", "cluster-admins"), true},
		{"four groups by a rule of old", adminsOfOld, impersonating("impersonate:user-info", authn+"/groups", "", "*"), true},

		{"the node by its name as a user", node, impersonating("impersonate:arbitrary-node", authn+"/nodes", "", "worker-1"), true},
		{"any node by one's name as a user", node, impersonating("impersonate:associated-node", authn+"/nodes", "", "*"), true},
		{"another node", node, impersonating("impersonate:arbitrary-node", authn+"/nodes", "", "worker-2"), false},
		{"the node as a user of old", nodes, impersonating("impersonate", "/users", "", "system:node:worker-1"), true},
		{"another node as a user of old", nodes, impersonating("impersonate", "/users", "", "system:node:worker-2"), false},

		{"the account", account, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "web"), true},
		{"the account of another namespace", account, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "other", "web"), false},
		{"another account", account, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "db"), false},

		{"the account by its name as a user", accountUser, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "web"), true},
		{"of old", accountUser, impersonating("impersonate", "/serviceaccounts", "shop", "web"), true},
		{"as a user", accountUser, impersonating("impersonate", "/users", "", "system:serviceaccount:shop:web"), true},
		{"any of its namespace", accountUser, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "*"), true},
		{"its name in every namespace", accountUser, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "", "web"), true},
		{"another account than the user", accountUser, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "db"), false},
		{"the account of that name elsewhere", accountUser, impersonating("impersonate", "/serviceaccounts", "other", "web"), false},
		{"another verb", accountUser, impersonating("get", "/serviceaccounts", "shop", "web"), false},
		{"an account by a pattern of users", accountUsers, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "db"), true},
		{"an account by a pattern of users, of old", accountUsers, impersonating("impersonate", "/serviceaccounts", "shop", "db"), true},
		{"an account that the pattern leaves out", accountUsers, impersonating("impersonate", "/serviceaccounts", "other", "db"), false},
		{"an account by its group", accountGroup, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "db"), true},
		{"an account by its group, as a user", accountGroup, impersonating("impersonate", "/users", "", "system:serviceaccount:shop:db"), true},
		{"an account of another group", accountGroup, impersonating("impersonate", "/serviceaccounts", "other", "db"), false},
		{"every account by the group of all", accountsGroup, impersonating("impersonate", "/serviceaccounts", "other", "db"), true},
		{"which other users are not in", accountsGroup, impersonating("impersonate", "/users", "", "alice"), false},
		{"a node by its group", nodesGroup, impersonating("impersonate:arbitrary-node", authn+"/nodes", "", "worker-1"), true},
		{"a node as a user of old, whose groups are asked about", nodesGroup, impersonating("impersonate", "/users", "", "system:node:worker-1"), false},
		{"the account as a user", account, impersonating("impersonate", "/users", "", "system:serviceaccount:shop:web"), true},
		{"by labels of its namespace, as a user", accountByLabel, impersonating("impersonate", "/users", "", "system:serviceaccount:shop:web"), true},
		{"by labels of another namespace, as a user", accountByLabel, impersonating("impersonate", "/users", "", "system:serviceaccount:other:web"), false},
		{"users in general are not accounts", users, impersonating("impersonate", "/serviceaccounts", "shop", "web"), false},
		{"nor by a star", usersByStar, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "web"), false},

		{"the extra", scopes, impersonating("impersonate:user-info", authn+"/userextras/scopes", "", "all"), true},
		{"many extras and the one", scopes, impersonating("impersonate:user-info", authn+"/userextras/*", "", "*"), true},
		{"another extra", scopes, impersonating("impersonate:user-info", authn+"/userextras/team", "", "all"), false},

		{"only one verb of the family", one, impersonating("impersonate:user-info", authn+"/users", "", "alice"), true},
		{"which is not the one of old", one, impersonating("impersonate", "/users", "", "alice"), false},

		{"a signer", signer, impersonating("approve", "certificates.k8s.io/signers", "", "kubernetes.io/kube-apiserver-client"), true},
		{"all signers of a domain", signer, impersonating("approve", "certificates.k8s.io/signers", "", "kubernetes.io/*"), true},
		{"another signer", signer, impersonating("approve", "certificates.k8s.io/signers", "", "kubernetes.io/kubelet-serving"), false},
		{"all signers of another domain", signer, impersonating("approve", "certificates.k8s.io/signers", "", "example.com/*"), false},
		{"what an admission policy reads, all of it", secrets, impersonating("get", "/secrets", "*", "*"), true},
		{"what it reads in another namespace", secrets, impersonating("get", "/secrets", "other", "*"), false},
		{"the finalizers of anything", finalizers, impersonating("update", "*/*/finalizers", "", "*"), true},
		{"the status of anything", finalizers, impersonating("update", "*/*/status", "", "*"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := setOf(t, "{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: imp}, spec: {rules: ["+tt.rule+"]}}")
			tt.r.Cluster = clusterOf(t, namespace("shop", map[string]string{"team": "shop"}), namespace("other", nil))
			if d := set.Decide(t.Context(), tt.r); d.Refuses() != tt.denied {
				t.Errorf("%+v", d.Results)
			}
		})
	}
}

// TestWhoHoldsASessionIsNotImpersonated refuses to let anyone act as who holds a session
// that is active.
func TestWhoHoldsASessionIsNotImpersonated(t *testing.T) {
	plain, byName := escalation("emergency", "{}"), session("s", "emergency", "")
	of := func(user, uid string) string {
		return strings.Replace(byName, "user: alice,", "user: '"+user+"', userUID: '"+uid+"',", 1)
	}
	allowed := plain + "  allowImpersonation: true\n"
	for _, tt := range []struct {
		name    string
		docs    []string
		r       *request.Request
		refused bool
	}{
		{"by name, of old", []string{plain, byName}, impersonating("impersonate", "/users", "", "alice"), true},
		{"by name", []string{plain, byName}, impersonating("impersonate:user-info", authn+"/users", "", "alice"), true},
		{"by uid, of old", []string{plain, of("alice", "u-1")}, impersonating("impersonate", authn+"/uids", "", "u-1"), true},
		{"by uid", []string{plain, of("alice", "u-1")}, impersonating("impersonate:user-info", authn+"/uids", "", "u-1"), true},
		{"by another uid", []string{plain, of("alice", "u-1")}, impersonating("impersonate:user-info", authn+"/uids", "", "u-2"), false},
		{"a uid, where the session has none", []string{plain, byName}, impersonating("impersonate", authn+"/uids", "", "u-1"), false},
		{"a service account, of old", []string{plain, of("system:serviceaccount:shop:web", "")}, impersonating("impersonate", "/serviceaccounts", "shop", "web"), true},
		{"a service account", []string{plain, of("system:serviceaccount:shop:web", "")}, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "web"), true},
		{"a service account, as a user", []string{plain, of("system:serviceaccount:shop:web", "")}, impersonating("impersonate", "/users", "", "system:serviceaccount:shop:web"), true},
		{"any service account of its namespace", []string{plain, of("system:serviceaccount:shop:web", "")}, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "shop", "*"), true},
		{"its name in every namespace", []string{plain, of("system:serviceaccount:shop:web", "")}, impersonating("impersonate", "/serviceaccounts", "", "web"), true},
		{"any service account of another namespace", []string{plain, of("system:serviceaccount:shop:web", "")}, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "other", "*"), false},
		{"another service account", []string{plain, of("system:serviceaccount:shop:web", "")}, impersonating("impersonate:serviceaccount", authn+"/serviceaccounts", "other", "web"), false},
		{"a node", []string{plain, of("system:node:n1", "")}, impersonating("impersonate:arbitrary-node", authn+"/nodes", "", "n1"), true},
		{"any node", []string{plain, of("system:node:n1", "")}, impersonating("impersonate:associated-node", authn+"/nodes", "", "*"), true},
		{"any node, and no node holds one", []string{plain, byName}, impersonating("impersonate:associated-node", authn+"/nodes", "", "*"), false},
		{"somebody who holds none", []string{plain, byName}, impersonating("impersonate", "/users", "", "bob"), false},
		{"a group", []string{plain, byName}, impersonating("impersonate", "/groups", "", "developers"), false},
		{"many groups", []string{plain, byName}, impersonating("impersonate:user-info", authn+"/groups", "", "*"), false},
		{"to do something as him", []string{plain, byName}, impersonating("impersonate-on:user-info:get", "/pods", "shop", "alice"), false},
		{"a question about all", []string{plain, byName}, impersonating("impersonate", "/users", "", ""), false},
		{"another verb", []string{plain, byName}, impersonating("get", "/users", "", "alice"), false},
		{"it is allowed", []string{allowed, byName}, impersonating("impersonate", "/users", "", "alice"), false},
		{"it is allowed only since", []string{allowed, session("s", "emergency", "  terms: {escalatedGroup: oncall}\n")}, impersonating("impersonate", "/users", "", "alice"), true},
		{"it was allowed, and is no more", []string{plain, session("s", "emergency", "  terms: {allowImpersonation: true}\n")}, impersonating("impersonate", "/users", "", "alice"), true},
		{"one of two sessions allows it", []string{allowed, byName, escalation("other", "{}"), session("t", "other", "")}, impersonating("impersonate", "/users", "", "alice"), true},
		{"the session is over", []string{plain, strings.Replace(byName, "state: Approved", "state: Revoked", 1)}, impersonating("impersonate", "/users", "", "alice"), false},
		{"the session is pending", []string{plain, strings.Replace(byName, "state: Approved", "state: Pending", 1)}, impersonating("impersonate", "/users", "", "alice"), false},
		{"the session is for another cluster", []string{plain, strings.Replace(byName, "prod-eu", "prod-us", 1)}, impersonating("impersonate", "/users", "", "alice"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Cluster = clusterOf(t)
			d := setOf(t, tt.docs...).Decide(t.Context(), tt.r)
			if d.Refuses() != tt.refused {
				t.Fatalf("%+v", d.Results)
			}
			if tt.refused && !strings.Contains(only(t, d).Message, "holds the active BreakglassSession") {
				t.Errorf("%s", only(t, d).Message)
			}
		})
	}
}
