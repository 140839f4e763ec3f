package chart_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/test/lab"
)

// TestHelm goes through the life of a release with Helm's own program, where there is one:
// installed, upgraded, rolled back and uninstalled. What the leader wrote stays throughout.
func TestHelm(t *testing.T) {
	helm, err := exec.LookPath(cmp.Or(os.Getenv("HELM"), "helm"))
	if err != nil {
		t.Skip("there is no helm in PATH, and HELM names none; what the chart comes to is rendered by Helm's library in the other tests")
	}
	l := controlPlane(t)
	if err := l.CreateNamespace(t.Context(), guard, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := l.Kubeconfig(t.Context(), lab.Admin)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		command := exec.Command(helm, append(args, "--namespace", guard, "--kubeconfig", kubeconfig)...)
		home := t.TempDir()
		command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		if err := command.Run(); err != nil {
			t.Fatalf("helm %v: %v\n%s", args, err, &out)
		}
		return out.String()
	}
	replicas := func(want int32) {
		t.Helper()
		d, err := l.Client.AppsV1().Deployments(guard).Get(t.Context(), "sallyport", metav1.GetOptions{})
		if err != nil || *d.Spec.Replicas != want {
			t.Fatalf("%v, %v; want %d replicas", d, err, want)
		}
	}
	followed := func() {
		t.Helper()
		following, err := l.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "sallyport-rules", metav1.GetOptions{})
		if err != nil || len(following.Webhooks) != 1 {
			t.Fatalf("what the leader wrote has become %+v, %v", following, err)
		}
	}

	if out := run("install", "sallyport", chart, "--values", set("minimal")); !strings.Contains(out, "sallyport.guard.svc") {
		t.Errorf("the notes are\n%s", out)
	}
	replicas(2)
	const leads = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"sallyport-rules"},"webhooks":[{"name":"of.the.leader","clientConfig":{"url":"https://127.0.0.1:1/"},"sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":"Ignore","rules":[{"apiGroups":["example.com"],"apiVersions":["v1"],"resources":["widgets"],"operations":["CREATE"]}]}]}`
	if r := l.Run(t.Context(), lab.Kubectl{User: lab.Admin, Args: []string{"apply", "--server-side", "--field-manager=sallyport-webhooks", "-f", "-"}, Stdin: strings.NewReader(leads)}); !r.OK() {
		t.Fatal(r)
	}
	run("upgrade", "sallyport", chart, "--values", set("minimal"), "--set", "replicas=3")
	replicas(3)
	followed()
	run("rollback", "sallyport", "1")
	replicas(2)
	followed()
	// What a GitOps controller would find to differ: nothing.
	manifest := run("get", "manifest", "sallyport")
	if r := l.Run(t.Context(), lab.Kubectl{User: lab.Admin, Args: []string{"diff", "--server-side", "--field-manager=gitops", "--force-conflicts", "-f", "-"}, Stdin: strings.NewReader(manifest)}); !r.OK() {
		t.Errorf("what is there differs from the release: %s", r)
	}
	// Helm keeps a release in a Secret, which has to have room for the definitions.
	secrets, err := l.Client.CoreV1().Secrets(guard).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil || len(secrets.Items) != 3 {
		t.Fatalf("%d releases, %v", len(secrets.Items), err)
	}
	for _, s := range secrets.Items {
		if size := len(s.Data["release"]); size > 700<<10 {
			t.Errorf("%s has %d bytes of the 1,048,576 that there is room for", s.Name, size)
		}
	}

	run("uninstall", "sallyport", "--wait")
	webhooks := l.Client.AdmissionregistrationV1()
	judging, err := webhooks.ValidatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	changing, also := webhooks.MutatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	if err != nil || also != nil || len(judging.Items)+len(changing.Items) > 0 {
		t.Errorf("there are webhooks left: %v %v, %v %v", judging, changing, err, also)
	}
	if r := l.Kubectl(t.Context(), lab.Admin, "get", "denypolicies,clusterpolicies,policyexceptions", "-A"); !r.OK() {
		t.Errorf("the definitions did not stay: %s", r)
	}
	if _, err := l.Client.AppsV1().Deployments(guard).Get(t.Context(), "sallyport", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment is still there: %v", err)
	}
	// Definitions that stayed are taken over by the next release.
	run("install", "sallyport", chart, "--values", set("minimal"))
	replicas(2)
}
