package cli

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
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
		return identity.Stamp(nil, namespace, []identity.Claim{{Key: "kerberos", Value: value}})
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
			status, out, errs, cluster := people(t, "", objects(), append([]string{"identities", "bootstrap"}, strings.Fields(c.args)...)...)
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
	t.Run("without a source", func(t *testing.T) {
		if status, _, errs, _ := people(t, "", nil, "identities", "bootstrap"); status != 2 || !strings.Contains(errs, "has no IdentitySource") {
			t.Errorf("%d: %s", status, errs)
		}
	})
}

func TestControllerFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--controller-account Rollout.argoproj.io", "KIND.GROUP=USER is expected"},
		{"--controller-account rollout.argoproj.io=x", "KIND.GROUP=USER is expected"},
		{"--controller-account =x", "KIND.GROUP=USER is expected"},
		{"--controller-account Rollout.argoproj.io=", "KIND.GROUP=USER is expected"},
		{"--shared-controller-account=", "names nobody"},
		{"--template-key-file /dev/null", "at least 16 are needed"},
	} {
		t.Run(c.args, func(t *testing.T) {
			status, _, errs := run(t, "", append([]string{"serve", "--from", "../../examples/demo", "--insecure-http", "--addr", "127.0.0.1:0"}, strings.Fields(c.args)...)...)
			if status != 2 || !strings.Contains(errs, c.says) {
				t.Errorf("%d: %s", status, errs)
			}
		})
	}
}
