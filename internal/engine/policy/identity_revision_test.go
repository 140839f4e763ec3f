package policy

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// revisionYAML is a revision of shop with data, and an owner reference where there
// is one.
func revisionYAML(name, meta, data string) string {
	return "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: " + name + ", namespace: shop" + meta + "}\nrevision: 7\ndata: " + data + "\n"
}

func ownerRef(apiVersion, kind, name, uid string) string {
	return strings.Replace(ownedBy(apiVersion, kind, name, uid), ", uid: child", "", 1)
}

const (
	wholeData  = "{spec: {template: {$patch: replace, metadata: {annotations: {kerberos: legacy-frontend-app}}, spec: {serviceAccountName: app, containers: [{name: app, image: 'app:1'}]}}}}"
	mergedData = "{spec: {template: {spec: {containers: [{name: app, image: 'evil:1'}]}}}}"
	machine    = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: vm, namespace: shop, uid: vm-uid}\nspec: {}\n"
)

// TestIdentityRevisionsOfStrangers hides the identity of a revision from whoever
// goes by the kind of its owner, or by the names of its fields.
func TestIdentityRevisionsOfStrangers(t *testing.T) {
	state, set := owned{identityCluster(t), map[string]string{
		"VirtualMachine shop/vm": machine, "StatefulSet shop/there": makerYAML("apps/v1", "StatefulSet", "there", ", uid: there-uid", "", "app:1"),
	}}, identitySet(t)
	const refused, merged, names = "kerberos/use fail", "identities/use fail", "sallyport/names fail"
	for _, c := range []struct {
		name, meta, data string
		want, says       string
	}{
		{"nobody's", "", wholeData, refused, ""},
		{"a stateful set's", ownerRef("apps/v1", "StatefulSet", "web", "sts-uid"), wholeData, refused, ""},
		{"said to be a virtual machine's, with the UID of a stateful set", ownerRef("kubevirt.io/v1", "VirtualMachine", "vm", "sts-uid"), wholeData, refused, `has the UID "vm-uid"`},
		{"said to be that of a virtual machine that is not there", ownerRef("kubevirt.io/v1", "VirtualMachine", "gone", "sts-uid"), wholeData, refused, "VirtualMachine shop/gone is not there"},
		{"said to be that of a stateful set of another group", ownerRef("example.com/v1", "StatefulSet", "web", "sts-uid"), wholeData, refused, "is read as that of a StatefulSet"},
		{"said to be a cron job's", ownerRef("batch/v1", "CronJob", "web", "sts-uid"), wholeData, refused, "is read as that of a StatefulSet"},
		{"said to be a pod's", ownerRef("v1", "Pod", "app", "sts-uid"), wholeData, refused, "is read as that of a StatefulSet"},
		{"an owner that is not the controller", strings.Replace(ownerRef("kubevirt.io/v1", "VirtualMachine", "vm", "vm-uid"), "controller: true", "controller: false", 1), wholeData, refused, ""},
		{"a virtual machine's", ownerRef("kubevirt.io/v1", "VirtualMachine", "vm", "vm-uid"), wholeData, "", ""},
		{"a virtual machine's that is not a template", ownerRef("kubevirt.io/v1", "VirtualMachine", "vm", "vm-uid"), "{spec: {template: {spec: {volumes: x}}}}", "", ""},
		{"no template of a machine that is not there", ownerRef("kubevirt.io/v1", "VirtualMachine", "gone", "vm-uid"), "{spec: {template: {spec: {volumes: x}}}}", merged + ", " + names, "is read as that of a StatefulSet"},

		{"no data of a template, of a machine that is not there", ownerRef("kubevirt.io/v1", "VirtualMachine", "gone", "vm-uid"), "{spec: {replicas: 3}}", merged, ""},
		{"no data of a template, of a stateful set that is there", ownerRef("apps/v1", "StatefulSet", "there", "there-uid"), "{spec: {replicas: 3}}", merged, ""},

		{"metadata.Annotations", "", strings.Replace(wholeData, "annotations:", "Annotations:", 1), names, "data.spec.template.metadata.Annotations"},
		{"Metadata", "", strings.Replace(wholeData, "metadata:", "Metadata:", 1), names, "data.spec.template.Metadata"},
		{"Template beside template", "", strings.Replace(wholeData, "spec: {template:", "spec: {template: {$patch: replace}, Template:", 1), merged + ", " + names, "data.spec.Template"},
		{"ServiceAccountName", "", strings.Replace(wholeData, "serviceAccountName: app", "ServiceAccountName: gcs", 1), refused + ", " + names, "data.spec.template.spec.ServiceAccountName"},
		{"annotations with a long s", "", strings.Replace(wholeData, "annotations:", "annotationſ:", 1), names, "data.spec.template.metadata"},
		{"serviceAccount beside", "", strings.Replace(wholeData, "serviceAccountName: app", "serviceAccount: gcs, ServiceAccount: app", 1), "kerberos/use fail, gke/use fail, " + names, "ServiceAccount"},

		{"merged, with nothing to see", "", mergedData, merged, "no whole template"},
		{"merged, with claims to see", "", strings.Replace(wholeData, "$patch: replace, ", "", 1), refused + ", " + merged, "no whole template"},
		{"merged, beside the template", "", strings.Replace(wholeData, "{spec: {", "{spec: {serviceName: x, ", 1), refused + ", " + merged, ""},
		{"merged, as a typed object", "", strings.Replace(wholeData, "{spec:", "{apiVersion: apps/v1, kind: StatefulSet, spec:", 1), refused + ", " + merged, ""},
		{"another directive", "", strings.Replace(wholeData, "$patch: replace", "$patch: merge", 1), refused + ", " + merged, ""},
		{"a directive in another case", "", strings.Replace(wholeData, "$patch: replace", "$Patch: replace", 1), refused + ", " + merged, ""},
		{"data that is null", "", "null", merged, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, stranger, "controllerrevisions", "", "", revisionYAML("web-1", c.meta, c.data))
			d := set.Decide(t.Context(), r)
			if got := summaryOfAll(d); got != c.want || !strings.Contains(messages(d), c.says) {
				t.Errorf("%q, want %q with %q: %s", got, c.want, c.says, messages(d))
			}
			if d.Refuses() != (c.want != "") {
				t.Error(d.Verdict)
			}
		})
	}
}

// summaryOfAll is summary with the results that belong to no policy.
func summaryOfAll(d decision.Decision) string {
	parts := strings.TrimSpace(summary(d))
	for i := range d.Results {
		if r := &d.Results[i]; r.Kind == "Sallyport" {
			parts = strings.TrimPrefix(parts+", "+r.Policy+"/"+r.Rule+" "+string(r.Status), ", ")
		}
	}
	return parts
}

// TestRevisionsAreRefusedForAPolicy names the policies for whose sake a revision that
// shows too little is refused, and no others.
func TestRevisionsAreRefusedForAPolicy(t *testing.T) {
	state := owned{clusterOf(t, exemptObjects()...), map[string]string{}}
	second := strings.NewReplacer("name: strict", "name: second", "exempt: \"yes\"", "other: label").Replace(strict)
	merged := revisionYAML("web-1", "", mergedData)
	forged := strings.Replace(revisionYAML("web-1", "", wholeData), "namespace: shop", "namespace: shop"+markedAs("x"), 1)
	const identities, labels = "IdentitySource identities use", "DenyPolicy strict " + stored.RuleExemptLabels
	for _, c := range []struct {
		name, document, cluster string
		policies                []string
		want, says              string
	}{
		{"identities", merged, "prod-eu", identitySources, identities, "what its pods carry is not known"},
		{"labels that exempt", merged, "prod-eu", []string{strict}, labels, "whether its pods carry the labels exempt=yes, which exempt from DenyPolicy strict"},
		{"labels of two policies", merged, "prod-eu", []string{strict, second}, "DenyPolicy second " + stored.RuleExemptLabels + ", " + labels, ""},
		{"both", merged, "prod-eu", append([]string{strict}, identitySources...), identities + ", " + labels, ""},
		{"labels in another cluster", merged, "dev", []string{strict}, "", ""},
		{"nothing", merged, "prod-eu", nil, "", ""},
		{"a mark that no one wrote, and labels that exempt", forged, "prod-eu", []string{strict}, "DenyPolicy strict " + identityrule.RuleTemplateJudged, "the mark of a template"},
		{"a mark that no one wrote, where nothing is guarded", strings.Replace(merged, "namespace: shop", "namespace: shop"+markedAs("x"), 1), "prod-eu", nil, "IdentitySource identities " + identityrule.RuleTemplateJudged, "the mark of a template"},
		{"a mark that no one wrote, and identities", forged, "prod-eu", append([]string{strict}, identitySources...), "IdentitySource identities " + identityrule.RuleTemplateJudged, "the mark of a template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, stranger, "controllerrevisions", "", "", c.document)
			r.ClusterName = c.cluster
			d := setOf(t, c.policies...).Decide(t.Context(), r)
			var got []string
			for i := range d.Results {
				got = append(got, d.Results[i].Kind+" "+d.Results[i].Policy+" "+d.Results[i].Rule)
			}
			if strings.Join(got, ", ") != c.want || d.Refuses() != (c.want != "") || !strings.Contains(messages(d), c.says) {
				t.Errorf("%q: %s", got, messages(d))
			}
		})
	}
}

// TestIdentityRevisionsUpdated gives a revision, whose data never changes, to
// somebody else.
func TestIdentityRevisionsUpdated(t *testing.T) {
	set := identitySet(t)
	of := func(meta string) string { return revisionYAML("web-1", meta, wholeData) }
	vm, sts := ownerRef("kubevirt.io/v1", "VirtualMachine", "vm", "vm-uid"), ownerRef("apps/v1", "StatefulSet", "web", "sts-uid")
	odd := strings.Replace(wholeData, "annotations:", "Annotations:", 1)
	for _, c := range []struct{ name, old, document, machine, want string }{
		{"from a machine to nobody", of(vm), of(""), machine, "kerberos/use fail"},
		{"from a machine to a stateful set", of(vm), of(sts), machine, "kerberos/use fail"},
		{"from a machine that is gone", of(vm), of(sts), "", "kerberos/use fail"},
		{"of a machine that is gone", of(vm), of(vm + ", labels: {a: b}"), "", "kerberos/use fail"},
		{"of a machine", of(vm), of(vm + ", labels: {a: b}"), machine, ""},
		{"of a stateful set", of(sts), of(sts + ", labels: {a: b}"), "", ""},
		{"from a stateful set to nobody", of(sts), of(""), "", ""},
		{"merged, from a machine", revisionYAML("web-1", vm, mergedData), revisionYAML("web-1", sts, mergedData), machine, "identities/use fail"},
		{"merged, of the same stateful set", revisionYAML("web-1", sts, mergedData), revisionYAML("web-1", sts+", labels: {a: b}", mergedData), "", ""},
		{"merged, from one stateful set to another", revisionYAML("web-1", sts, mergedData), revisionYAML("web-1", strings.Replace(sts, "sts-uid", "other-uid", 1), mergedData), "", "identities/use fail"},
		{"without a template, from a machine", revisionYAML("web-1", vm, "{spec: {replicas: 3}}"), revisionYAML("web-1", "", "{spec: {replicas: 3}}"), machine, "identities/use fail"},
		{"names in another case that were there", revisionYAML("web-1", "", odd), revisionYAML("web-1", ", labels: {a: b}", odd), "", ""},
		{"names in another case, from a machine", revisionYAML("web-1", vm, odd), revisionYAML("web-1", "", odd), machine, "sallyport/names fail"},
		{"names in another case, with another value", revisionYAML("web-1", "", odd), revisionYAML("web-1", "", strings.Replace(odd, "legacy-frontend-app", "other-app", 1)), "", "sallyport/names fail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := owned{identityCluster(t), map[string]string{}}
			if c.machine != "" {
				state.objects["VirtualMachine shop/vm"] = c.machine
			}
			d := set.Decide(t.Context(), asked(t, state, stranger, "controllerrevisions", "", c.old, c.document))
			if got := summaryOfAll(d); got != c.want || d.Refuses() != (c.want != "") {
				t.Errorf("%q, want %q: %s", got, c.want, messages(d))
			}
		})
	}
}

// TestIdentityFaultsOfCustomKinds refuses names in another case where the API
// server keeps them.
func TestIdentityFaultsOfCustomKinds(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	rollout := makerYAML("argoproj.io/v1alpha1", "Rollout", "web", "", claimed, "app:1")
	odd := strings.Replace(rollout, "annotations:", "Annotations:", 1)
	for _, c := range []struct{ name, old, document, want string }{
		{"created", "", odd, "sallyport/names fail"},
		{"Spec", "", strings.Replace(rollout, "spec: {replicas", "Spec: {replicas", 1), "sallyport/names fail"},
		{"added", makerYAML("argoproj.io/v1alpha1", "Rollout", "web", "", "", "app:1"), odd, "sallyport/names fail"},
		{"there before", odd, strings.Replace(odd, "namespace: shop", "namespace: shop, labels: {a: b}", 1), ""},
		{"there before, and changed", odd, strings.Replace(odd, "app:1", "app:2", 1), "sallyport/names fail"},
		{"a Deployment's, which the API server drops", "", strings.Replace(deploymentYAML("", claimed, "app:1"), "annotations:", "Annotations:", 1), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := set.Decide(t.Context(), asked(t, state, stranger, "rollouts", "", c.old, c.document))
			if got := summaryOfAll(d); got != c.want {
				t.Errorf("%q, want %q: %s", got, c.want, messages(d))
			}
		})
	}
}

// forbidding is a cluster whose revisions may not be read.
type forbidding struct{ owned }

func (f forbidding) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	if kind.Kind == "ControllerRevision" {
		return nil, apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, name, nil)
	}
	return f.owned.Object(ctx, kind, namespace, name)
}

// TestIdentityPodsOfRevisions makes pods from revisions that a StatefulSet or a
// DaemonSet has, each of which may be anybody's.
func TestIdentityPodsOfRevisions(t *testing.T) {
	set, files := identitySet(t), identityCluster(t)
	mine := ownerRef("apps/v1", "StatefulSet", "web", "owner")
	other := strings.Replace(wholeData, "app:1", "app:2", 1)
	good := makerYAML("apps/v1", "StatefulSet", "web", ", uid: owner"+marked(frontend), claimed, "app:1")
	another := marked(identity.Claim{Key: "kerberos", Value: "other-app"})
	for _, c := range []struct{ name, revision, want, says string }{
		{"what the owner has, unmarked", revisionYAML("web-1", mine, wholeData), "pass", "which was judged"},
		{"another that was judged", revisionYAML("web-1", mine+marked(frontend), other), "pass", "which was judged"},
		{"that nobody owns, and was judged", revisionYAML("web-1", marked(frontend), other), "pass", ""},

		{"another that nobody was judged for", revisionYAML("web-1", mine, other), "fail", "the revision web-1 of its owner StatefulSet shop/web is not marked as judged"},
		{"nobody's, that nobody was judged for", revisionYAML("web-1", "", other), "fail", "is not marked as judged"},
		{"judged for something else", revisionYAML("web-1", mine+another, other), "fail", "was judged for other identities"},
		{"without the claim", revisionYAML("web-1", mine, strings.Replace(other, "{kerberos: legacy-frontend-app}", "{}", 1)), "fail", "does not carry kerberos"},
		{"said to be of a kind without pods", revisionYAML("web-1", ownerRef("kubevirt.io/v1", "VirtualMachine", "vm", "owner"), other), "fail", "is not marked as judged"},
		{"names in another case", revisionYAML("web-1", mine+marked(frontend), strings.Replace(other, "image:", "Image: evil, image:", 1)), "fail", "data.spec.template.spec.containers[0].Image"},
		{"merged", revisionYAML("web-1", mine+marked(frontend), strings.Replace(other, "$patch: replace, ", "", 1)), "fail", "holds no whole template"},
		{"null", revisionYAML("web-1", mine, "null"), "fail", "holds no whole template"},
		{"of another owner", revisionYAML("web-1", ownerRef("apps/v1", "StatefulSet", "web", "somebody"), wholeData), "fail", "has no revision web-1"},
		{"not there", "", "fail", "has no revision web-1"},
		{"something else of that name", revisionYAML("web-2", mine, wholeData), "fail", "is something else"},
		{"something else of another namespace", strings.Replace(revisionYAML("web-1", mine, wholeData), "namespace: shop", "namespace: dev", 1), "fail", "is something else"},
		{"no template at all", revisionYAML("web-1", mine, "{spec: {template: 1}}"), "fail", "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, kind := range []string{"StatefulSet", "DaemonSet"} {
				state := owned{files, map[string]string{kind + " shop/web": strings.Replace(good, "StatefulSet", kind, 1)}}
				if c.revision != "" {
					state.objects["ControllerRevision shop/web-1"] = strings.Replace(c.revision, "StatefulSet", kind, 1)
				}
				user := map[string]string{"StatefulSet": "statefulset-controller", "DaemonSet": "daemon-set-controller"}[kind]
				pod := childPod(ownedBy("apps/v1", kind, "web", "owner")+", labels: {controller-revision-hash: web-1}", claimed)
				d := set.Decide(t.Context(), asked(t, state, kubeSystem+user, "pods", "", "", pod))
				says := strings.Replace(c.says, "StatefulSet", kind, 1)
				if got := summary(d); got != "kerberos/use "+c.want || !strings.Contains(messages(d), says) {
					t.Errorf("%s: %q: %s; want %s with %q", kind, got, messages(d), c.want, says)
				}
			}
		})
	}
	pod := childPod(ownedBy("apps/v1", "StatefulSet", "web", "owner"), claimed)
	state := owned{files, map[string]string{"StatefulSet shop/web": good}}
	t.Run("a pod that names none", func(t *testing.T) {
		d := set.Decide(t.Context(), asked(t, state, kubeSystem+"statefulset-controller", "pods", "", "", pod))
		if got := summary(d); got != "kerberos/use fail" || !strings.Contains(messages(d), "which revision of its owner") {
			t.Errorf("%q: %s", got, messages(d))
		}
	})
	t.Run("revisions that may not be read", func(t *testing.T) {
		labelled := strings.Replace(pod, "uid: child", "uid: child, labels: {controller-revision-hash: web-1}", 1)
		d := set.Decide(t.Context(), asked(t, forbidding{state}, kubeSystem+"statefulset-controller", "pods", "", "", labelled))
		if got := summary(d); got != "kerberos/use fail" || !strings.Contains(messages(d), "is forbidden") {
			t.Errorf("%q: %s", got, messages(d))
		}
	})
	t.Run("by the end of its name, for a daemon set", func(t *testing.T) {
		daemons := owned{files, map[string]string{
			"DaemonSet shop/web":            strings.Replace(good, "StatefulSet", "DaemonSet", 1),
			"ControllerRevision shop/web-x": revisionYAML("web-x", ownerRef("apps/v1", "DaemonSet", "web", "owner"), wholeData),
		}}
		labelled := strings.Replace(strings.Replace(pod, "StatefulSet", "DaemonSet", 1), "uid: child", "uid: child, labels: {controller-revision-hash: x}", 1)
		if d := set.Decide(t.Context(), asked(t, daemons, kubeSystem+"daemon-set-controller", "pods", "", "", labelled)); d.Refuses() {
			t.Error(messages(d))
		}
	})
	t.Run("a revision without a whole template, where nothing is merged with it", func(t *testing.T) {
		replicas := owned{files, map[string]string{
			"ReplicaSet shop/web":         strings.Replace(good, "StatefulSet", "ReplicaSet", 1),
			"ControllerRevision shop/web": strings.Replace(revisionYAML("web", ownerRef("apps/v1", "ReplicaSet", "web", "owner"), wholeData), "$patch: replace, ", "", 1),
		}}
		labelled := strings.Replace(strings.Replace(pod, "StatefulSet", "ReplicaSet", 1), "uid: child", "uid: child, labels: {controller-revision-hash: web}", 1)
		if d := set.Decide(t.Context(), asked(t, replicas, kubeSystem+"replicaset-controller", "pods", "", "", labelled)); d.Refuses() {
			t.Error(messages(d))
		}
	})
	t.Run("a label of no revision, where pods need none", func(t *testing.T) {
		replicas := owned{files, map[string]string{"ReplicaSet shop/web": strings.Replace(good, "StatefulSet", "ReplicaSet", 1)}}
		labelled := strings.Replace(strings.Replace(pod, "StatefulSet", "ReplicaSet", 1), "uid: child", "uid: child, labels: {controller-revision-hash: x}", 1)
		if d := set.Decide(t.Context(), asked(t, replicas, kubeSystem+"replicaset-controller", "pods", "", "", labelled)); d.Refuses() {
			t.Error(messages(d))
		}
	})
}

// TestWhatIsMadeFromRevisions are pods, and nothing else that a controller makes.
func TestWhatIsMadeFromRevisions(t *testing.T) {
	owner := &pod.Object{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, Meta: &metav1.ObjectMeta{Name: "web"}}
	for kind, wants := range map[schema.GroupVersionKind]bool{
		call.PodGVK: true,
		{Group: "example.com", Version: "v1", Kind: "Pod"}: false,
		{Version: "v1", Kind: "PersistentVolumeClaim"}:     false,
	} {
		r := &request.Request{Object: &pod.Object{GVK: kind, Meta: &metav1.ObjectMeta{}}}
		if _, why := identitySet(t).RevisionOf(t.Context(), r, "StatefulSet shop/web", owner); strings.Contains(why, "does not say") != wants {
			t.Errorf("%s: %q", kind, why)
		}
	}
}
