package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// dayOfRequests is the day: what was recorded, by several people, into several pods and
// while things fail, and around it what the recording lacks.
func dayOfRequests(t *testing.T) []dayRequest {
	p := &dayPlan{t: t}
	p.recorded()
	p.from(1, 0)
	p.makers(alice, slices.Sorted(maps.Keys(dayPods))...)
	// No pod can be read.
	p.from(4, 0)
	p.recorded()
	p.from(5, 0)
	p.unknown()
	p.from(6, 0)
	p.makers(carol, "exempting", "identified", "all-wrong")
	p.from(8, 15)
	p.recorded(into("one")...)
	p.recorded(by(dora)...)
	p.from(10, 0)
	p.recorded(by(dora)...)
	p.from(10, 50)
	p.used()
	p.from(11, 10)
	p.used()
	p.from(11, 30)
	// Long after it began, the session lets in, as it was used meanwhile.
	p.enters(erin)
	p.excused()
	p.from(12, 30)
	p.enters(erin)
	p.excused()
	p.recorded(append(by(carol), into("exempted")...)...)
	p.from(13, 35)
	// The session ends in the middle.
	p.recorded(by(dora)...)
	p.recorded(by(carol)...)
	p.from(18, 0)
	p.recorded(by(carol)...)
	p.recorded(append(by(dora), into("calm")...)...)
	p.from(20, 0)
	p.made()
	p.marks()
	p.others()
	p.own()
	p.unjudged()
	return p.requests
}

// changes are how objects come, change and go.
var changes = []struct {
	name, operation, subresource string
	// old is the pod that was there before; "same" for the one that is there now.
	old    string
	dryRun bool
}{
	{"is made", "CREATE", "", "", false},
	{"is tried", "CREATE", "", "", true},
	{"is changed", "UPDATE", "", "good", false},
	{"stays", "UPDATE", "", "same", false},
	{"has a status", "UPDATE", "status", "same", false},
	{"is deleted", "DELETE", "", "same", false},
}

// makers has somebody write, change and delete pods of some sorts in every kind.
func (p *dayPlan) makers(user string, sorts ...string) {
	for i, m := range dayMakers {
		for _, sort := range sorts {
			for _, change := range changes {
				if change.subresource != "" && m.resource == "podtemplates" {
					continue
				}
				namespace := "shop"
				if i%3 == 1 && sort != "identified" {
					namespace = "dev"
				}
				object := made(p.t, i, namespace, "x", dayPods[sort])
				review := dayReview{operation: change.operation, user: user, resource: m.resource, subresource: change.subresource, namespace: namespace, object: object, dryRun: change.dryRun}
				switch change.old {
				case "same":
					review.old = object
				case "good":
					review.old = made(p.t, i, namespace, "x", dayPods["good"])
				}
				if change.operation == "DELETE" {
					review.object = nil
				}
				p.add(dayRequest{
					name: fmt.Sprintf("%s: a %s %s of %s %s", user, sort, m.kind, namespace, change.name), path: "/validate", body: review.body(p.t),
					mutate: m.path != "" && review.object != nil && change.subresource == "",
				})
			}
		}
	}
}

// accounts is what the accounts of controllers begin with.
const accounts = "system:serviceaccount:kube-system:"

// made has controllers make pods of templates that somebody wrote.
func (p *dayPlan) made() {

	for at, m := range dayMakers {
		account := map[string]string{"ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller", "Job": "job-controller"}[m.kind]
		if account == "" {
			continue
		}
		for _, user := range []string{alice, carol} {
			for _, sort := range []string{"good", "of-nobody", "exempting", "identified"} {
				name := strings.ToLower(m.kind) + "-" + strings.TrimSuffix(user, "@example.com") + "-" + sort
				owner := m.kind + " shop/" + name
				p.add(dayRequest{name: user + " makes " + owner, path: "/validate", mutate: true, stores: owner,
					body: dayReview{operation: "CREATE", user: user, resource: m.resource, namespace: "shop", object: made(p.t, at, "shop", name, dayPods[sort])}.body(p.t)})
				child := made(p.t, 0, "shop", name+"-1", dayPods[sort])
				child["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": m.apiVersion, "kind": m.kind, "name": name, "uid": name + "-uid", "controller": true}}
				r := dayRequest{name: account + " makes its pod of " + owner, path: "/validate", follows: owner,
					body: dayReview{operation: "CREATE", user: accounts + account, resource: "pods", namespace: "shop", object: child}.body(p.t)}
				switch {
				case sort == "of-nobody":
					r.observed = []string{"ClusterPolicy/team-label"}
				case user == alice && sort == "exempting":
					r.observed = []string{"DenyPolicy/into-risky"}
				case user == alice && sort == "identified":
					r.observed = []string{"IdentitySource/kerberos"}
				}
				p.add(r)
			}
		}
	}
	// The mark goes from a Deployment to its ReplicaSet.
	for _, user := range []string{alice, carol} {
		name := "deployment-" + strings.TrimSuffix(user, "@example.com")
		owner := "Deployment shop/" + name
		p.add(dayRequest{name: user + " makes " + owner, path: "/validate", mutate: true, stores: owner,
			body: dayReview{operation: "CREATE", user: user, resource: "deployments", namespace: "shop", object: made(p.t, 3, "shop", name, dayPods["exempting"])}.body(p.t)})
		child := made(p.t, 4, "shop", name+"-1", dayPods["exempting"])
		meta := child["metadata"].(map[string]any)
		meta["annotations"] = map[string]any{"sallyport.io/template-judged": markHere}
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name + "-uid", "controller": true}}
		r := dayRequest{name: "its ReplicaSet of " + owner, path: "/validate", mutate: true, follows: owner, maker: owner,
			body: dayReview{operation: "CREATE", user: accounts + "deployment-controller", resource: "replicasets", namespace: "shop", object: child}.body(p.t)}
		if user == alice {
			r.observed = []string{"DenyPolicy/into-risky"}
		}
		p.add(r)
	}
	p.add(dayRequest{name: "a pod that a module would label", path: "/validate", mutate: true, observed: []string{"ClusterPolicy/team-label"},
		body: dayReview{operation: "CREATE", user: alice, resource: "pods", namespace: "labelled", object: made(p.t, 0, "labelled", "x", dayPods["of-nobody"])}.body(p.t)})
}

// used is a request that the group of erin's session may make.
func (p *dayPlan) used() {
	p.add(dayRequest{name: erin + " deletes a pod", path: "/validate",
		body: dayReview{operation: "DELETE", user: erin, resource: "pods", namespace: "shop", old: made(p.t, 0, "shop", "x", dayPods["good"])}.body(p.t)})
}

// enters has somebody exec into what is risky, at both doors.
func (p *dayPlan) enters(user string) {
	object := tree(p.t, "{apiVersion: v1, kind: PodExecOptions, metadata: {name: web}, container: app, command: [sh]}")
	p.add(dayRequest{name: user + " asks for an exec", path: "/authorize", body: strings.NewReplacer(`"name":"web"},"user":"alice"`, `"name":"web"},"user":"`+user+`","groups":["developers"]`).Replace(sar)})
	p.add(dayRequest{name: user + " execs", path: "/validate", body: dayReview{operation: "CONNECT", user: user, resource: "pods", subresource: "exec", namespace: "shop", object: object}.body(p.t)})
}

// excused is a Deployment that an exception excuses until noon, and one that it does not.
func (p *dayPlan) excused() {
	for _, name := range []string{"excused", "toys", "other"} {
		p.add(dayRequest{name: "Deployment " + name, path: "/validate", mutate: true,
			body: dayReview{operation: "CREATE", user: alice, resource: "deployments", namespace: "shop", object: made(p.t, 3, "shop", name, dayPods["of-nobody"])}.body(p.t)})
	}
}

// marked is a Deployment with a mark that nobody was given.
func (p *dayPlan) marked() dayReview {
	object := made(p.t, 3, "shop", "marked", dayPods["exempting"])
	object["metadata"].(map[string]any)["annotations"] = map[string]any{"sallyport.io/template-judged": "v1.made-up"}
	return dayReview{operation: "CREATE", user: alice, resource: "deployments", namespace: "shop", object: object}
}

// marks come with templates: past the mutating webhook they are refused.
func (p *dayPlan) marks() {
	review := p.marked()
	p.add(dayRequest{name: "a mark by hand", path: "/validate", mutate: true, body: review.body(p.t)})
	p.add(dayRequest{name: "a mark by hand, past the mutating webhook", path: "/validate", body: review.body(p.t), stays: true})
	review.old = made(p.t, 3, "shop", "marked", dayPods["exempting"])
	p.add(dayRequest{name: "a mark by hand, put in later", path: "/validate", mutate: true, body: review.body(p.t)})
	p.add(dayRequest{name: "a mark by hand, put in later, past the mutating webhook", path: "/validate", body: review.body(p.t), stays: true})
}

// unknown is what comes while Sallyport does not know what it must.
func (p *dayPlan) unknown() {
	p.recorded()
	p.add(dayRequest{name: "a template", path: "/validate", body: dayReview{operation: "CREATE", user: alice, resource: "deployments", namespace: "shop", object: made(p.t, 3, "shop", "x", dayPods["good"])}.body(p.t)})
	p.add(dayRequest{name: "a template with a mark", path: "/validate", body: p.marked().body(p.t), stays: true})
}

// others are requests about labels of namespaces, and of kinds that make no pods.
func (p *dayPlan) others() {
	namespace := func(labels string) map[string]any {
		return tree(p.t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: "+labels+"}}")
	}
	for _, user := range []string{alice, carol} {
		for _, labels := range []string{`{tier: frozen, exempt: "yes"}`, "{}", "{tier: frozen, other: a}", "{tier: frozen, pod-security.kubernetes.io/enforce: privileged}"} {
			p.add(dayRequest{name: user + " labels a namespace " + labels, path: "/validate",
				body: dayReview{operation: "UPDATE", user: user, resource: "namespaces", namespace: "shop", object: namespace(labels), old: namespace("{tier: frozen, pod-security.kubernetes.io/enforce: baseline}")}.body(p.t)})
		}
	}
	for _, data := range []string{`{replicas: "3"}`, `{replicas: "0"}`, `{replicas: many}`, "{}"} {
		p.add(dayRequest{name: "a ConfigMap " + data, path: "/validate",
			body: dayReview{operation: "CREATE", user: alice, resource: "configmaps", namespace: "shop", object: tree(p.t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: shop}, data: "+data+"}")}.body(p.t)})
	}
	p.add(dayRequest{name: "a Secret", path: "/validate",
		body: dayReview{operation: "CREATE", user: alice, resource: "secrets", namespace: "shop", object: tree(p.t, "{apiVersion: v1, kind: Secret, metadata: {name: x, namespace: shop}}")}.body(p.t)})
	p.add(dayRequest{name: "more replicas", path: "/validate",
		body: dayReview{operation: "UPDATE", user: alice, resource: "deployments", subresource: "scale", namespace: "shop",
			object: tree(p.t, "{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: x, namespace: shop}, spec: {replicas: 2}}"), old: tree(p.t, "{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: x, namespace: shop}, spec: {replicas: 1}}")}.body(p.t)})
}

// own is about Sallyport's own kinds, which nobody may write here.
func (p *dayPlan) own() {
	for _, text := range []string{
		"{kind: PolicyException, metadata: {name: x, namespace: shop}, spec: {}}",
		"{kind: PolicyExceptionRequest, metadata: {name: x, namespace: shop}, spec: {}}",
		"{kind: BreakglassSession, metadata: {name: x}, spec: {}}",
		"{kind: DenyPolicy, metadata: {name: x}, spec: {podSecurityRules: {blockFactors: [nonsense]}}}",
	} {
		object := tree(p.t, text)
		resource := strings.ToLower(object["kind"].(string)) + "s"
		resource = strings.Replace(resource, "policys", "policies", 1)
		object["apiVersion"] = "sallyport.io/v1alpha1"
		namespace, _ := object["metadata"].(map[string]any)["namespace"].(string)
		p.add(dayRequest{name: "of " + resource, path: "/validate", stays: true, body: dayReview{operation: "CREATE", user: alice, resource: resource, namespace: namespace, object: object}.body(p.t)})
	}
	p.add(dayRequest{name: "a definition is deleted", path: "/validate", stays: true, body: dayReview{operation: "DELETE", user: alice, resource: "customresourcedefinitions",
		old: tree(p.t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: denypolicies.sallyport.io}}")}.body(p.t)})
}

// unjudged is what no policy comes to judge.
func (p *dayPlan) unjudged() {
	good := dayReview{operation: "CREATE", user: alice, resource: "pods", namespace: "shop", object: made(p.t, 0, "shop", "x", dayPods["good"])}.body(p.t)
	p.add(dayRequest{name: "a name that stands twice", path: "/validate", body: strings.Replace(good, `"spec":{`, `"spec":{"hostPID":true,"hostPID":false,`, 1)})
	p.add(dayRequest{name: "a mark, and a name that stands twice", path: "/validate", body: strings.Replace(p.marked().body(p.t), `"spec":{`, `"spec":{"a":1,"a":2,`, 1), stays: true})
	p.add(dayRequest{name: "a cluster that nobody knows", path: "/validate/elsewhere", body: good})
	p.add(dayRequest{name: "a cluster that nobody knows, at the side door", path: "/authorize/elsewhere", body: sar})
	p.add(dayRequest{name: "a policy that is not there", path: "/policy/clusterwide-nothing/validate", body: good})
	bad := strings.Replace(good, `"team":"a"`, `"other":"a"`, 1)
	for _, path := range []string{"/ignore/validate", "/validate/here", "/converted/validate"} {
		p.add(dayRequest{name: "at " + path, path: path, body: bad})
	}
	p.add(dayRequest{name: "at /ignore/authorize", path: "/ignore/authorize", body: sar})
	// What is not to be changed is judged where changes are asked for as well.
	p.add(dayRequest{name: "at /mutate", path: "/mutate",
		body: dayReview{operation: "CREATE", user: alice, resource: "configmaps", namespace: "shop", object: tree(p.t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: shop}, data: {replicas: many}}")}.body(p.t)})
	p.add(dayRequest{name: "one policy", path: "/policy/clusterwide-network/validate", body: strings.Replace(good, `"spec":{`, `"spec":{"hostNetwork":true,`, 1)})
}
