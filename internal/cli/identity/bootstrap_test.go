package identity_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// TestIdentitiesBootstrap lists templates by their marks, and writes the word by
// which they are acknowledged.
func TestIdentitiesBootstrap(t *testing.T) {
	source := &v1alpha1.IdentitySource{}
	source.Name, source.Spec.Key, source.Spec.PodAnnotation = "kerberos", "kerberos", &v1alpha1.PodAnnotationIdentity{}
	deployment := func(namespace, name, value, mark string) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Namespace, d.Name = namespace, name
		if value != "" {
			d.Spec.Template.Annotations = map[string]string{"kerberos": value}
		}
		if mark != "" {
			d.Annotations = map[string]string{v1alpha1.AnnotationTemplateJudged: mark}
		}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "app"}}
		return d
	}
	mark := func(namespace, value string) string {
		return identity.Signature(nil, namespace, []identity.Claim{{Key: "kerberos", Value: value}})
	}
	objects := func() []client.Object {
		return []client.Object{
			source, deployment("shop", "old", "web", ""), deployment("shop", "judged", "web", mark("shop", "web")), deployment("shop", "copied", "web", mark("other", "web")),
			deployment("shop", "plain", "", ""), deployment("shop", "wrong", "a/b", ""), deployment("other", "old", "web", ""),
		}
	}
	for _, c := range []struct {
		name   string
		args   string
		status int
		says   []string
		not    []string
	}{
		{"of a namespace", "-n shop", 2, []string{"Deployment/old", "not judged", "Deployment/copied", "judged for other identities", "Deployment/wrong", `contains "/"`, `kerberos="web"`, "3 templates"}, []string{"Deployment/judged", "Deployment/plain", "other    "}},
		{"of all", "-A", 2, []string{"4 templates", "other    "}, nil},
		{"of one that is in order", "-n empty", 0, []string{"0 templates"}, nil},
		{"acknowledged", "-n other --acknowledge", 0, []string{"acknowledged", "1 template carries identities that nobody was judged for; 1 acknowledged."}, nil},
		{"as JSON", "-n other -o json", 0, []string{`"kind": "Deployment"`, `"acknowledged": false`}, nil},
		{"another format", "-o xml", 2, []string{"text and json"}, nil},
		{"no key", "--template-key-file /gone", 2, []string{"--template-key-file cannot be read"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errs, cluster := clitest.People(t, "", objects(), append([]string{"identities", "bootstrap"}, strings.Fields(c.args)...)...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, text := range c.says {
				if !strings.Contains(out+errs, text) {
					t.Errorf("%q is not said:\n%s%s", text, out, errs)
				}
			}
			for _, text := range c.not {
				if strings.Contains(out, text) {
					t.Errorf("%q is said:\n%s", text, out)
				}
			}
			d := &appsv1.Deployment{}
			if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: "other", Name: "old"}, d); err != nil {
				t.Fatal(err)
			}
			want := ""
			if c.name == "acknowledged" {
				want = v1alpha1.AcknowledgeTemplate
			}
			if got := d.Annotations[v1alpha1.AnnotationTemplateJudged]; got != want {
				t.Errorf("the annotation is %q, want %q", got, want)
			}
		})
	}
	t.Run("labels that exempt", func(t *testing.T) {
		policy := &v1alpha1.DenyPolicy{}
		policy.Name = "strict"
		policy.Spec.AppliesTo = &v1alpha1.DenyPolicyScope{Clusters: []string{"prod-*"}}
		policy.Spec.PodSecurityRules = &v1alpha1.PodSecurityRules{BlockFactors: []string{"hostPID"}, Exemptions: &v1alpha1.PodSecurityExemptions{PodLabels: map[string]string{"debug": "allowed"}}}
		labelled := func(name, value, mark string) *appsv1.Deployment {
			d := deployment("shop", name, value, mark)
			d.Spec.Template.Labels = map[string]string{"debug": "allowed"}
			return d
		}
		stamp := identity.ExemptionSignature(nil, "shop", "strict", map[string]string{"debug": "allowed"})
		all := []client.Object{source, policy, labelled("old", "", ""), labelled("judged", "", stamp), labelled("half", "web", mark("shop", "web")), labelled("both", "web", identity.Mark(mark("shop", "web"), stamp))}
		status, out, errs, _ := clitest.People(t, "", all, "identities", "bootstrap", "-n", "shop", "--cluster-name", "prod-eu")
		for _, text := range []string{"CARRIES", "Deployment/old", "Deployment/half", "debug=allowed (DenyPolicy strict)", "2 templates carry identities, or labels that exempt, that nobody was judged for."} {
			if !strings.Contains(out, text) {
				t.Errorf("%q is not said (%d):\n%s%s", text, status, out, errs)
			}
		}
		if strings.Contains(out, "Deployment/judged") || strings.Contains(out, "Deployment/both") {
			t.Errorf("what was judged is listed:\n%s", out)
		}
		if _, out, errs, _ := clitest.People(t, "", all, "identities", "bootstrap", "-n", "shop", "--cluster-name", "dev"); !strings.Contains(out, "0 templates") {
			t.Errorf("in a cluster that the policy is not about:\n%s%s", out, errs)
		}
	})
	t.Run("revisions that pods are made from", func(t *testing.T) {
		set := &appsv1.StatefulSet{}
		set.Namespace, set.Name, set.UID = "shop", "web", "set"
		set.Annotations = map[string]string{v1alpha1.AnnotationTemplateJudged: mark("shop", "web")}
		set.Spec.Template = deployment("shop", "web", "web", "").Spec.Template
		set.Status.CurrentRevision, set.Status.UpdateRevision = "web-1", "web-2"
		revision := func(name, image string) *appsv1.ControllerRevision {
			r := &appsv1.ControllerRevision{}
			r.Namespace, r.Name = "shop", name
			yes := true
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "set", Controller: &yes}}
			r.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{"kerberos":"web"}},"spec":{"containers":[{"name":"app","image":"` + image + `","resources":{}}]}}}}`)
			return r
		}
		all := []client.Object{source, set, revision("web-1", "older"), revision("web-2", "app"), revision("web-0", "oldest")}
		status, out, errs, _ := clitest.People(t, "", all, "identities", "bootstrap", "-n", "shop")
		if status != 0 || !strings.Contains(out, "ControllerRevision/web-1") || !strings.Contains(out, "1 template carries") {
			t.Errorf("%d:\n%s%s", status, out, errs)
		}
	})
	t.Run("without a source", func(t *testing.T) {
		if status, _, errs, _ := clitest.People(t, "", nil, "identities", "bootstrap"); status != 2 || !strings.Contains(errs, "has no IdentitySource") {
			t.Errorf("%d: %s", status, errs)
		}
	})
}
