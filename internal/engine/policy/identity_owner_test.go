package policy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const kubeSystem = "system:serviceaccount:kube-system:"

func ownedBy(apiVersion, kind, name, uid string) string {
	return fmt.Sprintf(", uid: child, ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]", apiVersion, kind, name, uid)
}

func childPod(meta, annotations string) string {
	return strings.Replace(podYAML("web-1", annotations, "app:1"), "namespace: shop", "namespace: shop"+meta, 1)
}

// TestIdentityControllers breaks, one at a time, each of the conditions
// under which a controller is not judged.
func TestIdentityControllers(t *testing.T) {
	files := identityCluster(t)
	rs := func(name, meta, annotations string) string {
		return makerYAML("apps/v1", "ReplicaSet", name, ", uid: owner"+meta, annotations, "app:1")
	}
	good := rs("web", marked(frontend), claimed)
	pod := childPod(ownedBy("apps/v1", "ReplicaSet", "web", "owner"), claimed)
	controller := kubeSystem + "replicaset-controller"
	cases := []struct {
		name, user, owner, document string
		controllers                 *request.Controllers
		want, message               string
	}{
		{"all hold", controller, good, pod, nil, "pass", "from the template of ReplicaSet shop/web, which was judged"},
		{"fewer claims than the template", controller, rs("web", marked(frontend, identity.Claim{Key: "vault", Value: "shop:app"}), claimed), pod, nil, "fail", "was judged for other identities"},

		{"a user forges the owner reference", stranger, good, pod, nil, "fail", "may not act as"},
		{"the controller of another kind", kubeSystem + "job-controller", good, pod, nil, "fail", "may not act as"},
		{"an account of that name in another namespace", "system:serviceaccount:shop:replicaset-controller", good, pod, nil, "fail", "may not act as"},
		{"the owner is not the controller", controller, good, strings.Replace(pod, "controller: true", "controller: false", 1), nil, "fail", "may not act as"},
		{"the owner reference does not say", controller, good, strings.Replace(pod, ", controller: true", "", 1), nil, "fail", "may not act as"},
		{"two owners are the controller", controller, good, strings.Replace(pod, "ownerReferences: [", "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: owner, controller: true}, ", 1), nil, "fail", "more than one owner"},
		{"a group that is another", controller, good, strings.Replace(pod, "apiVersion: apps/v1", "apiVersion: example.com/v1", 1), nil, "fail", "may not act as"},
		{"the owner was deleted meanwhile", controller, "", pod, nil, "fail", "is not there"},
		{"the UID does not match", controller, strings.Replace(good, "uid: owner", "uid: another", 1), pod, nil, "fail", `has the UID "another"`},
		{"no UID at all", controller, strings.Replace(good, ", uid: owner", "", 1), strings.Replace(pod, "uid: owner", `uid: ""`, 1), nil, "fail", "has the UID"},
		{"the owner is in another namespace", controller, strings.Replace(good, "namespace: shop", "namespace: other", 1), pod, nil, "fail", "is not ReplicaSet shop/web"},
		{"a claim that the template does not have", controller, rs("web", "", ""), pod, nil, "fail", "does not carry kerberos"},
		{"a claim added between template and pod", controller, rs("web", marked(frontend), claimed), childPod(ownedBy("apps/v1", "ReplicaSet", "web", "owner"), "kerberos: other-app"), nil, "fail", "does not carry kerberos"},
		{"the identities of the template are not known", controller, rs("web", marked(frontend), claimed+", sallyport.io/validated-annotations: x"), pod, nil, "fail", "of its owner ReplicaSet shop/web, "},
		{"the template was not judged", controller, rs("web", "", claimed), pod, nil, "fail", "is not marked as judged"},
		{"the mark is that of another namespace", controller, rs("web", ", annotations: {sallyport.io/template-judged: "+identity.Signature(nil, "other", []identity.Claim{frontend})+"}", claimed), pod, nil, "fail", "was judged for other identities"},
		{"the mark is for another value", controller, rs("web", marked(identity.Claim{Key: "kerberos", Value: "other-app"}), claimed), pod, nil, "fail", "was judged for other identities"},
		{"the mark is not made with the key", controller, good, pod, &request.Controllers{Key: []byte("0123456789abcdef")}, "fail", "was judged for other identities"},
		{"the mark is a word", controller, rs("web", ", annotations: {sallyport.io/template-judged: acknowledge}", claimed), pod, nil, "fail", "was judged for other identities"},
		{"a circle", controller, rs("web", marked(frontend)[:len(marked(frontend))]+ownedBy("v1", "Pod", "web-1", "child")[len(", uid: child"):], ""), pod, nil, "fail", "does not carry"},
		{"its owner is itself", controller, "", strings.NewReplacer("kind: ReplicaSet, name: web,", "kind: Pod, name: web-1,", "apiVersion: apps/v1", "apiVersion: v1").Replace(pod), nil, "fail", "may not act as"},

		{"a shared account, as configured", "system:kube-controller-manager", good, pod, &request.Controllers{Shared: []string{"system:kube-controller-manager"}}, "pass", ""},
		{"a shared account, not configured", "system:kube-controller-manager", good, pod, nil, "fail", ""},
		{"another account, as configured", "system:serviceaccount:ops:rs", good, pod, &request.Controllers{Accounts: map[schema.GroupKind][]string{{Group: "apps", Kind: "ReplicaSet"}: {"system:serviceaccount:ops:rs"}}}, "pass", ""},
		{"the built-in account where another is configured", controller, good, pod, &request.Controllers{Accounts: map[schema.GroupKind][]string{{Group: "apps", Kind: "ReplicaSet"}: {"system:serviceaccount:ops:rs"}}}, "fail", ""},
	}
	set := identitySet(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			state := owned{files, map[string]string{}}
			if c.owner != "" {
				state.objects["ReplicaSet shop/web"] = c.owner
			}
			r := asked(t, state, c.user, "pods", "", "", c.document)
			r.Controllers = c.controllers
			d := set.Decide(t.Context(), r)
			if got := summary(d); got != "kerberos/use "+c.want || !strings.Contains(messages(d), c.message) {
				t.Errorf("%q: %s; want %s with %q", got, messages(d), c.want, c.message)
			}
		})
	}
	t.Run("the account of a template was given another identity since", func(t *testing.T) {
		withAccount := func(text string) string {
			return strings.Replace(text, "serviceAccountName: app", "serviceAccountName: gcs", 1)
		}
		old := identity.Claim{Key: "cloud.google.com/serviceaccount", Value: "harmless"}
		state := owned{files, map[string]string{"ReplicaSet shop/web": withAccount(rs("web", marked(old), ""))}}
		d := set.Decide(t.Context(), asked(t, state, controller, "pods", "", "", withAccount(childPod(ownedBy("apps/v1", "ReplicaSet", "web", "owner"), ""))))
		if got := summary(d); got != "gke/use fail" {
			t.Errorf("%q: %s", got, messages(d))
		}
	})
}

// TestIdentityChains follows templates from their writer to the pods, as the
// controllers make one of the other.
func TestIdentityChains(t *testing.T) {
	set, files := identitySet(t), identityCluster(t)
	for _, chain := range [][]struct{ apiVersion, kind, controller string }{
		{{"apps/v1", "Deployment", "deployment-controller"}, {"apps/v1", "ReplicaSet", "replicaset-controller"}},
		{{"batch/v1", "CronJob", "cronjob-controller"}, {"batch/v1", "Job", "job-controller"}},
		{{"apps/v1", "StatefulSet", "statefulset-controller"}},
		{{"apps/v1", "DaemonSet", "daemon-set-controller"}},
		{{"v1", "ReplicationController", "replication-controller"}},
	} {
		t.Run(chain[0].kind, func(t *testing.T) {
			state := owned{files, map[string]string{}}
			user, owner := holder, ""
			for _, link := range append(chain, struct{ apiVersion, kind, controller string }{"v1", "Pod", ""}) {
				document := makerYAML(link.apiVersion, link.kind, "web", ", uid: uid-"+link.kind+owner, claimed, "app:1")
				if link.kind == "Pod" {
					document = childPod(strings.Replace(owner, ", uid: child", "", 1), claimed)
					if chain[0].kind == "StatefulSet" || chain[0].kind == "DaemonSet" {
						// Its revision, which nobody marked, holds what the owner does.
						document = strings.Replace(document, "namespace: shop", "namespace: shop, labels: {controller-revision-hash: web-1}", 1)
						state.objects["ControllerRevision shop/web-1"] = makerYAML("apps/v1", "ControllerRevision", "web-1", owner, claimed, "app:1")
					}
				}
				r := asked(t, state, user, "any", "", "", document)
				if mark := set.Mark(t.Context(), r); link.kind != "Pod" {
					stored := strings.Replace(document, "uid: uid-", "annotations: {sallyport.io/template-judged: "+identity.Signature(nil, "shop", []identity.Claim{frontend})+"}, uid: uid-", 1)
					if !strings.Contains(string(mark), identity.Signature(nil, "shop", []identity.Claim{frontend})) {
						t.Fatalf("%s: the mark is %s", link.kind, mark)
					}
					state.objects[link.kind+" shop/web"] = stored
					r = asked(t, state, user, "any", "", "", stored)
				}
				if d := set.Decide(t.Context(), r); d.Verdict != decision.Allow || summary(d) != "kerberos/use pass" {
					t.Fatalf("%s by %s: %s: %s", link.kind, user, d.Verdict, messages(d))
				}
				user = kubeSystem + link.controller
				owner = strings.Replace(ownedBy(link.apiVersion, link.kind, "web", "uid-"+link.kind), ", uid: child", "", 1)
			}
		})
	}
}

// TestIdentityMarks is about the mark of a template: what the mutating webhook
// makes of it, and what the validating one lets in.
func TestIdentityMarks(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	right := identity.Signature(nil, "shop", []identity.Claim{frontend})
	with := func(mark string) string { return ", annotations: {a: b, sallyport.io/template-judged: " + mark + "}" }
	plain, justRight, bare := deploymentYAML("", claimed, "app:1"), deploymentYAML(with(right), claimed, "app:1"), deploymentYAML("", "", "app:1")
	add := func(mark string) string {
		return `[{"op":"add","path":"/metadata/annotations/sallyport.io~1template-judged","value":"` + mark + `"}]`
	}
	const remove = `[{"op":"remove","path":"/metadata/annotations/sallyport.io~1template-judged"}]`
	for _, c := range []struct {
		name, old, document string
		// patch is what the mutating webhook changes, and judged what the other says
		// of the object where that one is not installed, for somebody who does not
		// hold the identity.
		patch, judged string
	}{
		{"a new template", "", plain, `[{"op":"add","path":"/metadata/annotations","value":{"sallyport.io/template-judged":"` + right + `"}}]`, "kerberos/use fail"},
		{"a new template that brings the mark", "", justRight, "", "kerberos/use fail"},
		{"a forged mark", "", deploymentYAML(with("v1.forged"), claimed, "app:1"), add(right), "identities/template-judged fail"},
		{"a mark without identity, for one that the account gets later", "", deploymentYAML(with(right), "", "app:1"), remove, "identities/template-judged fail"},
		{"nothing to mark", "", bare, "", ""},
		{"the mark is added to a template that was there", plain, justRight, "", "kerberos/use fail"},
		{"a wrong mark is added", plain, deploymentYAML(with("x"), claimed, "app:1"), remove, "identities/template-judged fail"},
		{"the word is added", plain, deploymentYAML(with(v1alpha1.AcknowledgeTemplate), claimed, "app:1"), add(right), "identities/template-judged fail"},
		{"the mark is taken away", justRight, plain, `[{"op":"add","path":"/metadata/annotations","value":{"sallyport.io/template-judged":"` + right + `"}}]`, ""},
		{"the mark is changed", justRight, deploymentYAML(with("x"), claimed, "app:1"), add(right), "identities/template-judged fail"},
		{"scaled, unmarked", plain, strings.Replace(plain, "replicas: 1", "replicas: 2", 1), "", ""},
		{"scaled, marked", justRight, strings.Replace(justRight, "replicas: 1", "replicas: 2", 1), "", ""},
		{"scaled, with a mark that is outdated", deploymentYAML(with("v1.old"), claimed, "app:1"), strings.Replace(deploymentYAML(with("v1.old"), claimed, "app:1"), "replicas: 1", "replicas: 2", 1), "", ""},
		{"the template changes, with a mark that is outdated", deploymentYAML(with("v1.old"), claimed, "app:1"), deploymentYAML(with("v1.old"), claimed, "app:2"), add(right), "identities/template-judged fail"},
		{"the template changes while it carries nothing, and keeps the mark", deploymentYAML(with(right), "", "app:1"), deploymentYAML(with(right), "", "app:2"), remove, "identities/template-judged fail"},
		{"an outdated mark is taken away", deploymentYAML(with("v1.old"), claimed, "app:1"), plain, `[{"op":"add","path":"/metadata/annotations","value":{"sallyport.io/template-judged":"v1.old"}}]`, ""},
		{"an empty mark", "", deploymentYAML(with(`""`), "", "app:1"), remove, ""},
		{"the identity is removed", justRight, deploymentYAML(with(right), "", "app:1"), remove, "identities/template-judged fail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, stranger, "deployments", "", c.old, c.document)
			if !set.Marks(r) {
				t.Fatal("is not marked")
			}
			if got := string(set.Mark(t.Context(), r)); got != c.patch {
				t.Errorf("patch %s, want %s", got, c.patch)
			}
			d := set.Decide(t.Context(), r)
			if got := summary(d); got != c.judged {
				t.Errorf("%q, want %q: %s", got, c.judged, messages(d))
			}
		})
	}
	t.Run("a mark by status", func(t *testing.T) {
		d := set.Decide(t.Context(), asked(t, state, stranger, "deployments", "status", plain, justRight))
		if got := summary(d); got != "kerberos/use fail" {
			t.Errorf("%q", got)
		}
	})
	for user, want := range map[string]string{"root": "acknowledges the template", holder: "may act as", stranger: "by which a template is acknowledged"} {
		t.Run("acknowledged by "+user, func(t *testing.T) {
			d := set.Decide(t.Context(), asked(t, state, user, "deployments", "", plain, justRight))
			if d.Refuses() != (user == stranger) || !strings.Contains(messages(d), want) {
				t.Errorf("%s: %s", d.Verdict, messages(d))
			}
		})
	}
	t.Run("to acknowledge is not a right to change a template", func(t *testing.T) {
		if d := set.Decide(t.Context(), asked(t, state, "root", "deployments", "", plain, deploymentYAML(with(right), claimed, "app:2"))); !d.Refuses() {
			t.Error("is let in")
		}
	})
	t.Run("one of two identities goes, and the mark follows", func(t *testing.T) {
		gcs := identity.Claim{Key: "cloud.google.com/serviceaccount", Value: "gcs@mycompany.gserviceaccount.com"}
		both, one := identity.Signature(nil, "shop", []identity.Claim{frontend, gcs}), identity.Signature(nil, "shop", []identity.Claim{gcs})
		of := func(mark, annotations string) string {
			return strings.Replace(deploymentYAML(with(mark), annotations, "app:1"), "serviceAccountName: app", "serviceAccountName: gcs", 1)
		}
		if got := string(set.Mark(t.Context(), asked(t, state, stranger, "deployments", "", of(both, claimed), of(both, "")))); got != add(one) {
			t.Errorf("%s", got)
		}
		if d := set.Decide(t.Context(), asked(t, state, stranger, "deployments", "", of(both, claimed), of(one, ""))); d.Verdict != decision.Allow {
			t.Errorf("%s", messages(d))
		}
		if got := string(set.Mark(t.Context(), asked(t, state, stranger, "deployments", "", of("x", claimed), of("x", "")))); got != remove {
			t.Errorf("an outdated mark: %s", got)
		}
	})
}
