package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestIdentityRevisions refuses a revision whose pods would have the identities of
// the template that it is merged into.
func TestIdentityRevisions(t *testing.T) {
	revision := func(data, meta string) string {
		return "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: web-1, namespace: shop" + meta + "}\nrevision: 1\ndata: " + data
	}
	const (
		pod       = "spec: {containers: [{name: c, image: evil, command: [steal]}]}"
		owner     = ", ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: u, controller: true}]"
		machine   = ", ownerReferences: [{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: web, uid: u, controller: true}]"
		statefuls = "system:serviceaccount:kube-system:statefulset-controller"
		replicas  = "system:serviceaccount:kube-system:replication-controller"
		daemons   = "system:serviceaccount:kube-system:daemon-set-controller"
	)
	set := setOf(t, identitySources...)
	for name, c := range map[string]struct {
		user, data, meta string
		refused          bool
	}{
		"a whole template":           {stranger, "{spec: {template: {$patch: replace, metadata: {}, " + pod + "}}}", "", false},
		"merged":                     {stranger, "{spec: {template: {" + pod + "}}}", "", true},
		"merged, of an owner":        {stranger, "{spec: {template: {" + pod + "}}}", owner, true},
		"merged, by its holder":      {holder, "{spec: {template: {" + pod + "}}}", owner, true},
		"merged, another directive":  {stranger, "{spec: {template: {$patch: merge, " + pod + "}}}", "", true},
		"more than the template":     {stranger, "{spec: {updateStrategy: {}, template: {$patch: replace, " + pod + "}}}", "", true},
		"more than the spec":         {stranger, "{metadata: {annotations: {}}, spec: {template: {$patch: replace, " + pod + "}}}", "", true},
		"the directive further in":   {stranger, "{spec: {template: {spec: {$patch: replace, containers: [{name: c, image: evil}]}}}}", "", true},
		"the directive further out":  {stranger, "{spec: {$patch: replace, template: {" + pod + "}}}", "", true},
		"by its controller":          {statefuls, "{spec: {template: {" + pod + "}}}", owner, false},
		"by another controller":      {daemons, "{spec: {template: {" + pod + "}}}", owner, true},
		"by a controller, unowned":   {statefuls, "{spec: {template: {" + pod + "}}}", "", true},
		"of no kind at all":          {replicas, "{spec: {template: {" + pod + "}}}", strings.NewReplacer("apps/v1", "a/b/c", "StatefulSet", "ReplicationController").Replace(owner), true},
		"of something without a pod": {stranger, "{spec: {template: {" + pod + "}}}", machine, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := asked(t, identityCluster(t), c.user, "controllerrevisions", "", "", revision(c.data, c.meta))
			d := set.Decide(t.Context(), r)
			if d.Refuses() != c.refused {
				t.Errorf("%s: %+v", d.Verdict, d.Results)
			}
			r.Object.GVK.Group = "example.com"
			if another := set.Decide(t.Context(), r); another.Refuses() {
				t.Errorf("of another group: %+v", another.Results)
			}
			r.Object.GVK.Group = "apps"
			if without := setOf(t).Decide(t.Context(), r); without.Refuses() {
				t.Errorf("without a source: %+v", without.Results)
			}
		})
	}
}

// TestIdentityAccountsAreKept wants the right to an identity from whoever takes it
// off an account, or takes the account away: its pods run on.
func TestIdentityAccountsAreKept(t *testing.T) {
	const account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: gcs, namespace: shop, annotations: {iam.gke.io/gcp-service-account: gcs@mycompany.gserviceaccount.com}}\n"
	set := setOf(t, identitySources...)
	for name, c := range map[string]struct {
		user, document string
		refused        bool
	}{
		"a stranger":                {stranger, account, true},
		"the holder":                {holder, account, false},
		"everything in there":       {"ns-admin", account, true},
		"the namespace goes":        {"system:serviceaccount:kube-system:namespace-controller", account, false},
		"the owner went":            {"system:serviceaccount:kube-system:generic-garbage-collector", account, false},
		"of the same name, by name": {"system:serviceaccount:shop:namespace-controller", account, true},
		"one without":               {stranger, strings.Replace(account, "iam.gke.io/gcp-service-account", "other", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := asked(t, identityCluster(t), c.user, "serviceaccounts", "", "", c.document)
			r.Operation, r.Object, r.OldObject = request.Delete, nil, r.Object
			if d := set.Decide(t.Context(), r); d.Refuses() != c.refused {
				t.Errorf("%s: %+v", d.Verdict, d.Results)
			}
		})
	}
}

// TestIdentityCertificates asks whoever requests a certificate of a pod's, and not
// the node that runs it.
func TestIdentityCertificates(t *testing.T) {
	set := setOf(t, identitySources[0], identitySources[1], "apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: cert}\nspec: {key: vault, podCertificate: {signerName: example.com/workload}}")
	for name, c := range map[string]struct {
		user, signer string
		groups       []string
		want         decision.Verdict
	}{
		"a stranger":     {stranger, "example.com/workload", nil, decision.Deny},
		"the holder":     {holder, "example.com/workload", nil, decision.Allow},
		"another signer": {stranger, "example.com/other", nil, decision.Allow},
		"the node":       {"system:node:node-1", "example.com/workload", []string{"system:nodes"}, decision.Allow},
		"no node":        {"system:node:node-1", "example.com/workload", nil, decision.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			r := asked(t, identityCluster(t), c.user, "podcertificaterequests", "", "", "apiVersion: certificates.k8s.io/v1\nkind: PodCertificateRequest\nmetadata: {name: r, namespace: shop}\nspec: {signerName: "+c.signer+", podName: app, serviceAccountName: app}")
			r.User.Groups = append(r.User.Groups, c.groups...)
			if d := set.Decide(t.Context(), r); d.Verdict != c.want {
				t.Errorf("%s: %+v", d.Verdict, d.Results)
			}
		})
	}
}
