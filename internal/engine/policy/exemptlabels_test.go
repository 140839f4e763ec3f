package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

var exemptYes = map[string]string{"exempt": "yes"}

// exemptStamp is what a mark says of the labels of policy strict in shop.
func exemptStamp(key []byte, namespace string) string {
	return identity.ExemptionSignature(key, namespace, "strict", exemptYes)
}

func markedAs(stamps ...string) string {
	return ", annotations: {sallyport.io/template-judged: '" + identity.Mark(stamps...) + "'}"
}

// labelledYAML is an object of shop whose pods carry labels.
func labelledYAML(apiVersion, kind, name, meta, labels, image string) string {
	return strings.Replace(makerYAML(apiVersion, kind, name, meta, "", image), "annotations: {}", "labels: {"+labels+"}", 1)
}

func exemptSet(t *testing.T, more ...string) *Set {
	t.Helper()
	return setOf(t, append([]string{strict}, more...)...)
}

// exemptObjects is a cluster in which carol may exempt pods from policy strict.
func exemptObjects() []runtime.Object {
	return append(identityObjects(), clusterRole("exempter", exemptRule), boundTo("carol", "exempter"))
}

func exemptResults(d decision.Decision) []decision.Result {
	var found []decision.Result
	for i := range d.Results {
		if d.Results[i].Rule == stored.RuleExemptLabels {
			found = append(found, d.Results[i])
		}
	}
	return found
}

// TestExemptLabelsOfControllers breaks each of the conditions under which a
// controller may set labels that exempt.
func TestExemptLabelsOfControllers(t *testing.T) {
	files, set := clusterOf(t, exemptObjects()...), exemptSet(t)
	good := func(meta string) string {
		return labelledYAML("apps/v1", "ReplicaSet", "web", ", uid: owner"+meta, `exempt: "yes"`, "app:1")
	}
	owner := good(markedAs(exemptStamp(nil, "shop")))
	pod := strings.Replace(childPod(ownedBy("apps/v1", "ReplicaSet", "web", "owner"), ""), "uid: child", `uid: child, labels: {exempt: "yes"}`, 1)
	controller := kubeSystem + "replicaset-controller"
	job := schema.GroupKind{Group: "example.com", Kind: "Job"}
	for _, c := range []struct {
		name, user, owner, document string
		controllers                 *request.Controllers
		ok                          bool
		says                        string
	}{
		{"all hold", controller, owner, pod, nil, true, "from the template of ReplicaSet shop/web, which was judged"},
		{"judged for claims as well", controller, good(markedAs("v1.whatever", exemptStamp(nil, "shop"))), pod, nil, true, ""},
		{"somebody with the right", "carol", owner, pod, nil, true, "may exempt pods"},
		{"a controller that was granted the right", "carol", "", pod, nil, true, "may exempt pods"},

		{"a user forges the owner reference", stranger, owner, pod, nil, false, "may not set them"},
		{"the controller of another kind", kubeSystem + "job-controller", owner, pod, nil, false, "may not set them"},
		{"a kind of that name of another group", kubeSystem + "job-controller", "", strings.NewReplacer("apiVersion: apps/v1", "apiVersion: example.com/v1", "kind: ReplicaSet", "kind: Job").Replace(pod), nil, false, "may not set them"},
		{"that kind, as configured, which is not there", kubeSystem + "job-controller", "", strings.NewReplacer("apiVersion: apps/v1", "apiVersion: example.com/v1", "kind: ReplicaSet", "kind: Job").Replace(pod),
			&request.Controllers{Accounts: map[schema.GroupKind][]string{job: {kubeSystem + "job-controller"}}}, false, "Job shop/web is not there"},
		{"the owner is not the controller", controller, owner, strings.Replace(pod, "controller: true", "controller: false", 1), nil, false, "may not set them"},
		{"the owner is not there", controller, "", pod, nil, false, "is not there"},
		{"the UID does not match", controller, strings.Replace(owner, "uid: owner", "uid: another", 1), pod, nil, false, `has the UID "another"`},
		{"a label that the template does not carry", controller, labelledYAML("apps/v1", "ReplicaSet", "web", ", uid: owner"+markedAs(exemptStamp(nil, "shop")), `exempt: "no"`, "app:1"), pod, nil, false, "does not carry them"},
		{"a template that nobody was judged for", controller, good(""), pod, nil, false, "is not marked as judged for them"},
		{"a template that was judged only for identities", controller, good(markedAs("v1.whatever")), pod, nil, false, "is not marked as judged for them"},
		{"the mark is that of another namespace", controller, good(markedAs(exemptStamp(nil, "other"))), pod, nil, false, "is not marked as judged for them"},
		{"the mark is for another policy", controller, good(markedAs(identity.ExemptionSignature(nil, "shop", "lax", exemptYes))), pod, nil, false, "is not marked as judged for them"},
		{"the mark is for other labels", controller, good(markedAs(identity.ExemptionSignature(nil, "shop", "strict", map[string]string{"exempt": "no"}))), pod, nil, false, "is not marked as judged for them"},
		{"the mark is not made with the key", controller, owner, pod, &request.Controllers{Key: []byte("0123456789abcdef")}, false, "is not marked as judged for them"},

		{"a shared account, not configured", call.SharedAccount, owner, pod, nil, false, "see --shared-controller-account"},
		{"a shared account, as configured", call.SharedAccount, owner, pod, &request.Controllers{Shared: []string{call.SharedAccount}}, true, ""},
		{"another account, as configured", "system:serviceaccount:ops:rs", owner, pod, &request.Controllers{Accounts: map[schema.GroupKind][]string{{Group: "apps", Kind: "ReplicaSet"}: {"system:serviceaccount:ops:rs"}}}, true, ""},
		{"the built-in account where another is configured", controller, owner, pod, &request.Controllers{Accounts: map[schema.GroupKind][]string{{Group: "apps", Kind: "ReplicaSet"}: {"system:serviceaccount:ops:rs"}}}, false, "may not set them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := owned{files, map[string]string{}}
			if c.owner != "" {
				state.objects["ReplicaSet shop/web"] = c.owner
			}
			r := asked(t, state, c.user, "pods", "", "", c.document)
			r.Controllers = c.controllers
			d := set.Decide(t.Context(), r)
			results := exemptResults(d)
			if len(results) != 1 || d.Refuses() == c.ok || !strings.Contains(results[0].Message, c.says) {
				t.Errorf("%s: %+v; want %t with %q", d.Verdict, results, c.ok, c.says)
			}
		})
	}
	t.Run("of a revision that nobody was judged for", func(t *testing.T) {
		state := owned{files, map[string]string{
			"StatefulSet shop/web":          labelledYAML("apps/v1", "StatefulSet", "web", ", uid: owner"+markedAs(exemptStamp(nil, "shop")), `exempt: "yes"`, "app:1"),
			"ControllerRevision shop/web-1": labelledYAML("apps/v1", "ControllerRevision", "web-1", ownerRef("apps/v1", "StatefulSet", "web", "owner"), `exempt: "yes"`, "evil:1"),
		}}
		made := strings.NewReplacer("kind: ReplicaSet", "kind: StatefulSet", `exempt: "yes"`, `exempt: "yes", controller-revision-hash: web-1`).Replace(pod)
		d := set.Decide(t.Context(), asked(t, state, kubeSystem+"statefulset-controller", "pods", "", "", made))
		if results := exemptResults(d); !d.Refuses() || !strings.Contains(results[0].Message, "the revision web-1 of its owner StatefulSet shop/web is not marked") {
			t.Errorf("%+v", results)
		}
	})
}

// TestExemptLabelsMarks is about what the mutating webhook makes of a template with
// labels that exempt, and what the validating one lets in.
func TestExemptLabelsMarks(t *testing.T) {
	state, set := clusterOf(t, exemptObjects()...), exemptSet(t, identitySources[0])
	stamp := exemptStamp(nil, "shop")
	of := func(meta, labels, image string) string {
		return labelledYAML("apps/v1", "Deployment", "web", meta, labels, image)
	}
	const exempting = `exempt: "yes"`
	plain, right := of("", exempting, "app:1"), of(markedAs(stamp), exempting, "app:1")
	const forged = "identities/template-judged fail"
	const denied, let = "strict fail", "strict pass"
	for _, c := range []struct{ name, user, old, document, mark, judged string }{
		{"a new template", stranger, "", plain, stamp, denied},
		{"a new template, with the right", "carol", "", plain, stamp, let},
		{"a new template that brings the mark", stranger, "", right, stamp, denied},
		{"a forged mark", stranger, "", of(markedAs("x1.forged"), exempting, "app:1"), stamp, denied + " " + forged},
		{"a mark for labels that come later", stranger, "", of(markedAs(stamp), "a: b", "app:1"), "", forged},
		{"labels are added", stranger, of("", "a: b", "app:1"), plain, stamp, denied},
		{"labels are added, with the right", "carol", of("", "a: b", "app:1"), right, stamp, let},
		{"another image, by anybody", stranger, right, of(markedAs(stamp), exempting, "app:2"), stamp, ""},
		{"another image, of what nobody was judged for", stranger, plain, of("", exempting, "app:2"), "", ""},
		{"another image, of what nobody was judged for, by who may", "carol", plain, of("", exempting, "app:2"), stamp, ""},
		{"a mark is brought with another image", stranger, plain, of(markedAs(stamp), exempting, "app:2"), "", denied},
		{"a mark is added", stranger, plain, right, stamp, denied},
		{"a mark is added, with the right", "carol", plain, right, stamp, let},
		{"it is acknowledged", stranger, plain, of(markedAs("acknowledge"), exempting, "app:1"), stamp, forged},
		{"the mark is taken away", stranger, right, plain, stamp, ""},
		{"the mark is changed", stranger, right, of(markedAs("x"), exempting, "app:1"), stamp, forged},
		{"labels are removed", stranger, right, of(markedAs(stamp), "a: b", "app:1"), "", forged},
		{"scaled, unmarked", stranger, plain, strings.Replace(plain, "replicas: 1", "replicas: 2", 1), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, c.user, "deployments", "", c.old, c.document)
			if !set.Marks(r) {
				t.Fatal("is not marked")
			}
			patch := string(set.Mark(t.Context(), r))
			got := call.MarkOf(r.Object)
			if patch != "" {
				got = ""
				if _, after, ok := strings.Cut(patch, `"value":`); ok {
					got = strings.Trim(strings.TrimPrefix(after, `{"sallyport.io/template-judged":`), `"}]`)
				}
			}
			if got != c.mark {
				t.Errorf("the mark is %q after %s, want %q", got, patch, c.mark)
			}
			d := set.Decide(t.Context(), r)
			judged := summary(d)
			for _, result := range exemptResults(d) {
				judged = strings.TrimSpace(result.Policy + " " + string(result.Status) + " " + judged)
			}
			if judged != c.judged {
				t.Errorf("%q, want %q: %s", judged, c.judged, messages(d))
			}
		})
	}
	t.Run("identities and labels have a part each", func(t *testing.T) {
		both := strings.Replace(plain, "labels: {", "annotations: {kerberos: legacy-frontend-app}, labels: {", 1)
		claims := identity.Signature(nil, "shop", []identity.Claim{frontend})
		if patch := string(set.Mark(t.Context(), asked(t, state, holder, "deployments", "", "", both))); !strings.Contains(patch, `"`+claims+","+stamp+`"`) {
			t.Error(patch)
		}
		// A policy that came later takes nothing from what was judged before.
		old := strings.Replace(both, "namespace: shop", "namespace: shop"+markedAs(claims), 1)
		scaled := strings.Replace(old, "replicas: 1", "replicas: 2", 1)
		if patch := string(set.Mark(t.Context(), asked(t, state, stranger, "deployments", "", old, scaled))); patch != "" {
			t.Error(patch)
		}
		vouched := strings.Replace(both, "namespace: shop", "namespace: shop"+markedAs(v1alpha1Acknowledge), 1)
		if patch := string(set.Mark(t.Context(), asked(t, state, stranger, "deployments", "", old, vouched))); !strings.Contains(patch, claims+","+stamp) {
			t.Error(patch)
		}
	})
	t.Run("without any source of identities", func(t *testing.T) {
		alone := exemptSet(t)
		r := asked(t, state, "carol", "deployments", "", "", plain)
		if !alone.Marks(r) || !strings.Contains(string(alone.Mark(t.Context(), r)), stamp) {
			t.Error("is not marked")
		}
	})
	t.Run("in a cluster that the policy is not about", func(t *testing.T) {
		r := asked(t, state, stranger, "deployments", "", "", plain)
		r.ClusterName = "dev"
		if d := set.Decide(t.Context(), r); len(exemptResults(d)) != 0 || len(set.Mark(t.Context(), r)) != 0 {
			t.Errorf("%s %+v", set.Mark(t.Context(), r), d.Results)
		}
	})
}

const v1alpha1Acknowledge = "acknowledge"

// TestExemptLabelsChains follows labels from whoever writes them to the pods, as
// the controllers make one of the other.
func TestExemptLabelsChains(t *testing.T) {
	set, files := exemptSet(t), clusterOf(t, exemptObjects()...)
	for _, chain := range [][]struct{ apiVersion, kind, controller string }{
		{{"apps/v1", "Deployment", "deployment-controller"}, {"apps/v1", "ReplicaSet", "replicaset-controller"}},
		{{"batch/v1", "CronJob", "cronjob-controller"}, {"batch/v1", "Job", "job-controller"}},
		{{"v1", "ReplicationController", "replication-controller"}},
	} {
		t.Run(chain[0].kind, func(t *testing.T) {
			state := owned{files, map[string]string{}}
			user, owner := "carol", ""
			for _, link := range append(chain, struct{ apiVersion, kind, controller string }{"v1", "Pod", ""}) {
				document := labelledYAML(link.apiVersion, link.kind, "web", ", uid: uid-"+link.kind+owner, `exempt: "yes"`, "app:1")
				if link.kind == "Pod" {
					document = strings.Replace(childPod(owner, ""), "namespace: shop", `namespace: shop, labels: {exempt: "yes"}`, 1)
				} else {
					if mark := set.Mark(t.Context(), asked(t, state, user, "any", "", "", document)); !strings.Contains(string(mark), exemptStamp(nil, "shop")) {
						t.Fatalf("%s: the mark is %s", link.kind, mark)
					}
					document = strings.Replace(document, "uid: uid-", strings.TrimPrefix(markedAs(exemptStamp(nil, "shop")), ", ")+", uid: uid-", 1)
					state.objects[link.kind+" shop/web"] = document
				}
				if d := set.Decide(t.Context(), asked(t, state, user, "any", "", "", document)); d.Refuses() || len(exemptResults(d)) != 1 {
					t.Fatalf("%s by %s: %s: %s", link.kind, user, d.Verdict, messages(d))
				}
				user = kubeSystem + link.controller
				owner = ownerRef(link.apiVersion, link.kind, "web", "uid-"+link.kind)
			}
		})
	}
}
