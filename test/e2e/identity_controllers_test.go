package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// owner is what a pod says of who made it.
type owner struct {
	apiVersion, kind, name, uid string
	controller                  bool
}

// ownedPod is a pod with an owner.
func ownedPod(name, annotations string, o owner) string {
	reference := fmt.Sprintf(", ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: %t}]}", o.apiVersion, o.kind, o.name, o.uid, o.controller)
	metadata := fmt.Sprintf("metadata: {name: %s, annotations: %s", name, annotations)
	return strings.Replace(podOf(name, annotations), metadata+"}", metadata+reference, 1)
}

// controllerAccount is the account that the controllers of a kind work as.
func controllerAccount(name string) string { return "system:serviceaccount:kube-system:" + name }

// as runs kubectl with a manifest as somebody else, whom root impersonates. A
// service account is in its groups as well.
func (l *identityLab) as(user string, groups []string, manifest string, args ...string) lab.Result {
	args = append(args, "--as", user)
	for _, group := range accountGroups(user, groups) {
		args = append(args, "--as-group", group)
	}
	return l.feed(root, manifest, args...)
}

// accountGroups are the groups of a user, with those of every service account if
// it is one.
func accountGroups(user string, groups []string) []string {
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return groups
	}
	namespace, _, _ := strings.Cut(account, ":")
	return append([]string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}, groups...)
}

// stopped is a workload of root's that makes no pods itself.
func stopped(w workload, name, annotations string) string {
	return strings.Replace(w.of(name, annotations), "replicas: 1", "replicas: 0", 1)
}

// TestIdentityOwners tries each condition under which a controller makes a pod
// without being reviewed, by leaving out only that one.
func TestIdentityOwners(t *testing.T) {
	replicaSet := workloadOf("ReplicaSet")
	other := newNamespace(t, "id-other", stopped(replicaSet, "web", bothClaims))
	l := newIdentityLab(t)
	l.given(stopped(replicaSet, "web", kerberos) + stopped(replicaSet, "plain", noClaim) + stopped(replicaSet, "gone", kerberos) +
		stopped(workloadOf("Deployment"), "top", kerberos))
	uid := func(object string) string { return l.get(object, "{.metadata.uid}") }
	web := owner{"apps/v1", "ReplicaSet", "web", uid("rs/web"), true}
	gone := owner{"apps/v1", "ReplicaSet", "gone", uid("rs/gone"), true}
	l.allowed(l.do(root, "delete", "rs", "gone"))
	elsewhere := web
	elsewhere.uid = other.get("rs/web", "{.metadata.uid}")
	forged := web
	forged.uid = "00000000-0000-4000-8000-000000000000"
	beside := web
	beside.controller = false
	missing := owner{"apps/v1", "ReplicaSet", "missing", web.uid, true}
	version := web
	version.apiVersion = "extensions/v1beta1"
	kind := web
	kind.kind = "StatefulSet"

	maker := controllerAccount("replicaset-controller")
	for i, tt := range []struct {
		name        string
		user        string
		annotations string
		owner       owner
		ok          bool
	}{
		{"the controller's own", maker, kerberos, web, true},
		{"a UID that does not match", maker, kerberos, forged, false},
		{"the UID of one in another namespace", maker, kerberos, elsewhere, false},
		{"an owner that is not the controller", maker, kerberos, beside, false},
		{"an owner that is not there", maker, kerberos, missing, false},
		{"an owner that was deleted meanwhile", maker, kerberos, gone, false},
		{"an API version that is not served", maker, kerberos, version, false},
		{"another kind", maker, kerberos, kind, false},
		{"a claim beyond the template's", maker, bothClaims, web, false},
		{"another value than the template's", maker, "{kerberos: other}", web, false},
		{"a template without claims", maker, kerberos, owner{"apps/v1", "ReplicaSet", "plain", uid("rs/plain"), true}, false},
		{"an owner of another controller's kind", maker, kerberos, owner{"apps/v1", "Deployment", "top", uid("deployment/top"), true}, false},
		{"the controller of another kind", controllerAccount("job-controller"), kerberos, web, false},
		{"a controller account's name in another namespace", "system:serviceaccount:" + l.namespace + ":replicaset-controller", kerberos, web, false},
		{"a user who is not a controller", employee, kerberos, web, false},
		{"a user who may use the identity", holder, kerberos, beside, true},
	} {
		l.run(tt.name, func(l *identityLab) {
			r := l.as(tt.user, []string{"staff"}, ownedPod(fmt.Sprintf("owned-%d", i), tt.annotations, tt.owner), "create", "--dry-run=server")
			if tt.ok {
				l.allowed(r)
				return
			}
			l.refused(r, kerberosKey)
		})
	}

	l.run("no owner at all", func(l *identityLab) {
		l.refused(l.as(maker, []string{"staff"}, podOf("orphan", kerberos), "create"), kerberosKey)
	})
	l.run("the employee with every reference there is", func(l *identityLab) {
		for i, o := range []owner{web, forged, elsewhere, beside, missing, gone} {
			l.refused(l.feed(employee, ownedPod(fmt.Sprintf("mine-%d", i), kerberos, o), "create"), kerberosKey, kerberosValue)
		}
	})
	l.run("owners in a circle", func(l *identityLab) {
		l.given(stopped(replicaSet, "left", kerberos) + stopped(replicaSet, "right", kerberos))
		for from, to := range map[string]string{"left": "right", "right": "left"} {
			patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"%s","uid":"%s","controller":true}]}}`, to, uid("rs/"+to))
			l.allowed(l.do(root, "patch", "rs", from, "--type=merge", "-p", patch))
		}
		o := owner{"apps/v1", "ReplicaSet", "left", uid("rs/left"), true}
		l.refused(l.as(maker, nil, ownedPod("dizzy", kerberos, o), "create"), kerberosKey)
	})
	// A ReplicaSet that is made by a user is reviewed, whatever owns it.
	l.run("a ReplicaSet that says it is a Deployment's", func(l *identityLab) {
		reference := fmt.Sprintf("{name: sub, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: top, uid: %s, controller: true}]}", uid("deployment/top"))
		sub := strings.Replace(replicaSet.of("sub", kerberos), "{name: sub}", reference, 1)
		l.refused(l.feed(employee, sub, "create"), kerberosKey)
		l.allowed(l.as(controllerAccount("deployment-controller"), nil, sub, "create", "--dry-run=server"))
		l.refused(l.as(controllerAccount("deployment-controller"), nil, strings.Replace(sub, kerberos, bothClaims, 1), "create", "--dry-run=server"), gcpKey)
	})
	// What nobody judged lends its claims to nobody.
	l.run("a template that was never judged", func(l *identityLab) {
		unwire(l.T, shared.UnwireAdmission)
		r := l.feed(employee, stopped(replicaSet, "unjudged", kerberos), "create")
		l.wireAdmission()
		l.allowed(r)
		o := owner{"apps/v1", "ReplicaSet", "unjudged", uid("rs/unjudged"), true}
		l.refused(l.as(maker, nil, ownedPod("smuggled", kerberos, o), "create"), kerberosKey)
	})
}

// newNamespace is a namespace that Sallyport does not watch over yet, with
// objects.
func newNamespace(t *testing.T, name, manifest string) *identityLab {
	t.Helper()
	l := &identityLab{T: t, namespace: name}
	if err := shared.CreateNamespace(t.Context(), name, nil); err != nil {
		t.Fatal(err)
	}
	l.given(manifest)
	return l
}

// TestIdentityControllerRevisions lets nobody but their controllers write what a
// StatefulSet or a DaemonSet goes back to.
func TestIdentityControllerRevisions(t *testing.T) {
	l := newIdentityLab(t)
	revision := func(name, annotations string) string {
		return fmt.Sprintf(`
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: %s}
revision: 7
data: {spec: {template: {$patch: replace, metadata: {labels: {app: a}, annotations: %s}, spec: {containers: [{name: app, image: app}]}}}}
`, name, annotations)
	}
	l.refused(l.feed(employee, revision("a", kerberos), "create"), kerberosKey, kerberosValue)
	l.refused(l.feed(halfHolder, revision("a", bothClaims), "create"), gcpKey)
	l.allowed(l.feed(employee, revision("plain", noClaim), "create"))
	l.allowed(l.feed(holder, revision("held", bothClaims), "create"))
	// A controller's revisions have its object for an owner; the real ones are made
	// in TestIdentityWorkloads.
	l.refused(l.as(controllerAccount("statefulset-controller"), nil, revision("own", kerberos), "create", "--dry-run=server"), kerberosKey)
	l.refused(l.as(controllerAccount("job-controller"), []string{"staff"}, revision("foreign", kerberos), "create", "--dry-run=server"), kerberosKey)
}

// TestIdentityMirrorPods are pods that a node reports of itself: they carry no
// claims.
func TestIdentityMirrorPods(t *testing.T) {
	l := newIdentityLab(t)
	node := shared.Kubectl(t.Context(), root, "get", "node", lab.NodeName, "-o", "jsonpath={.metadata.uid}").Stdout
	mirror := func(name, claims string) string {
		annotations := strings.Replace(claims, "{", "{kubernetes.io/config.mirror: abc, kubernetes.io/config.hash: abc, kubernetes.io/config.source: file, ", 1)
		pod := ownedPod(name, annotations, owner{"v1", "Node", lab.NodeName, node, true})
		return strings.Replace(pod, "spec:\n", "spec:\n  nodeName: "+lab.NodeName+"\n", 1)
	}
	kubelet, groups := "system:node:"+lab.NodeName, []string{"system:nodes"}
	l.allowed(l.as(kubelet, groups, mirror("plain-"+lab.NodeName, noClaim), "create"))
	l.refused(l.as(kubelet, groups, mirror("claims-"+lab.NodeName, kerberos), "create"), kerberosKey)
	// Anybody can write the annotation that tells a mirror pod.
	l.refused(l.feed(employee, mirror("forged-"+lab.NodeName, kerberos), "create"), kerberosKey)
}
