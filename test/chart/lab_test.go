package chart_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sallyport-io/sallyport/test/lab"
)

// limit is how long something may take on a machine that is busy.
const limit = 90 * time.Second

// eventually waits until holds is true.
func eventually(t *testing.T, what string, holds func(ctx context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// onLab are the kinds of other projects, which a bare API server does not have.
func onLab(document string) bool {
	return !slices.ContainsFunc([]string{"Certificate", "ServiceMonitor"}, func(kind string) bool { return strings.Contains(document, "\nkind: "+kind+"\n") })
}

// controlPlane is one with an API server and controllers, until the test ends.
func controlPlane(t *testing.T) *lab.Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	l, err := lab.Start(t.Context(), lab.Options{Controllers: lab.OwnAccounts, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestOnAnAPIServer has a real API server take each set, in a dry run, and the least of
// them in earnest. Sallyport then starts by the rendered arguments, with the rendered rights.
func TestOnAnAPIServer(t *testing.T) {
	l := controlPlane(t)
	labels := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	for _, namespace := range []string{own, guard} {
		if err := l.CreateNamespace(t.Context(), namespace, labels); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range sets {
		t.Run("dry run "+name, func(t *testing.T) {
			manifest := strings.Join(slices.DeleteFunc(documents(render(t, guard, set(name))), func(d string) bool { return !onLab(d) }), "\n---\n")
			r := l.Run(t.Context(), lab.Kubectl{User: lab.Admin, Args: []string{"apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"}, Stdin: strings.NewReader(manifest)})
			if !r.OK() || strings.Contains(r.Stderr, "Warning") {
				t.Error(r)
			}
		})
	}
	t.Run("everything starts", func(t *testing.T) { starts(t, l, "everything", guard) })
	t.Run("minimal is applied", func(t *testing.T) { applied(t, l) })
	t.Run("minimal starts", func(t *testing.T) { starts(t, l, "minimal", own) })
}

// apply applies what a set comes to, as Helm would, except for what leave says.
func apply(t *testing.T, l *lab.Lab, name, namespace string, leave func(document string) bool) {
	t.Helper()
	manifest := strings.Join(slices.DeleteFunc(documents(render(t, namespace, set(name))), func(d string) bool { return !onLab(d) || leave(d) }), "\n---\n")
	r := l.Run(t.Context(), lab.Kubectl{User: lab.Admin, Args: []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, Stdin: strings.NewReader(manifest)})
	if !r.OK() {
		t.Fatal(r)
	}
}

func webhookConfiguration(document string) bool {
	return strings.Contains(document, "WebhookConfiguration\n")
}

// applied installs the least set. No Sallyport runs, as no pod gets a node: its pods are made
// all the same, and so are those of others, as there are no webhooks before one answers.
func applied(t *testing.T, l *lab.Lab) {
	apply(t, l, "minimal", own, func(string) bool { return false })
	eventually(t, "two pods are made", func(ctx context.Context) bool {
		pods, err := l.Client.CoreV1().Pods(own).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=sallyport"})
		return err == nil && len(pods.Items) == 2
	})
	const other = "apiVersion: v1\nkind: Pod\nmetadata: {name: other, namespace: default}\nspec: {containers: [{name: c, image: x}]}\n"
	letIn := func(when string) {
		t.Helper()
		if r := l.Run(t.Context(), lab.Kubectl{User: lab.Admin, Args: []string{"apply", "--dry-run=server", "-f", "-"}, Stdin: strings.NewReader(other)}); !r.OK() {
			t.Errorf("%s: %s", when, r)
		}
	}
	letIn("before Sallyport runs")
	// Applied again it changes nothing of what the leader wrote meanwhile.
	const leads = `{"webhooks":[{"name":"of.the.leader","clientConfig":{"url":"https://127.0.0.1:1/"},"sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":"Ignore","rules":[{"apiGroups":["example.com"],"apiVersions":["v1"],"resources":["widgets"],"operations":["CREATE"]}]}]}`
	r := l.Kubectl(t.Context(), lab.Admin, "patch", "validatingwebhookconfiguration", "sallyport-rules", "--field-manager=sallyport-webhooks", "--type=merge", "-p", leads)
	if !r.OK() {
		t.Fatal(r)
	}
	apply(t, l, "minimal", own, func(string) bool { return false })
	following, err := l.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "sallyport-rules", metav1.GetOptions{})
	if err != nil || len(following.Webhooks) != 1 {
		t.Errorf("the leader's webhooks are %+v, %v", following, err)
	}
	// Helm takes webhook configurations away last, when what answers them is long gone.
	// Nothing that goes before is refused, and what stays is only what is kept.
	rendered, err := try("-uninstall", "-namespace", own, "-values", set("minimal"))
	if err != nil {
		t.Fatal(err)
	}
	going := slices.DeleteFunc(documents(rendered), func(d string) bool { return strings.Contains(d, "helm.sh/resource-policy: keep") })
	if !webhookConfiguration(going[len(going)-1]) || len(going) < 10 {
		t.Errorf("%d objects go, the last of them\n%s", len(going), going[len(going)-1])
	}
	if r := l.Run(t.Context(), lab.Kubectl{User: lab.Admin, Args: []string{"delete", "--wait=false", "-f", "-"}, Stdin: strings.NewReader(strings.Join(going, "\n---\n"))}); !r.OK() {
		t.Fatal(r)
	}
	letIn("after it is uninstalled")
}

// starts runs Sallyport by the arguments of a set and as the account of the release, and
// waits until it is ready. The rights that it lacks would keep it from that.
func starts(t *testing.T, l *lab.Lab, name, namespace string) {
	apply(t, l, name, namespace, webhookConfiguration)
	eventually(t, "the definitions are served", func(ctx context.Context) bool {
		return l.Kubectl(ctx, lab.Admin, "get", "denypolicies,podkinds,policyservers").OK()
	})
	eventually(t, "the account is there", func(ctx context.Context) bool {
		_, err := l.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, "sallyport", metav1.GetOptions{})
		return !apierrors.IsNotFound(err)
	})
	kubeconfig, err := l.Kubeconfig(t.Context(), "system:serviceaccount:"+namespace+":sallyport")
	if err != nil {
		t.Fatal(err)
	}
	mounted := t.TempDir()
	for file, content := range map[string]string{
		"template-key/key": "a secret of enough bytes", "registries/config.json": "{}", "tokens/tokens": "a-token-that-nobody-guesses\n", "notifications/notify.yaml": "targets: [{name: nobody, url: https://127.0.0.1:1/, format: cloudevents}]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(mounted, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(mounted, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, args := deployed(t, set(name))
	kept := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--certificate-secret=") })
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		// The lab gives these itself: another address, certificates that are real, and no
		// delay at the end.
		flag, _, _ := strings.Cut(arg, "=")
		return slices.Contains([]string{"--addr", "--tls-cert-file", "--tls-private-key-file", "--client-ca-file", "--shutdown-delay"}, flag)
	})
	for i := range args {
		args[i] = strings.NewReplacer("/etc/sallyport/", mounted+"/", "/var/cache/sallyport", mounted).Replace(args[i])
	}
	// In a pod both follow from where it runs.
	args = append(args, "--kubeconfig="+kubeconfig, "--leader-election-namespace="+namespace, "--policy-server-namespace="+namespace, "--cluster-secret-namespace="+namespace)
	s, err := l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "chart-" + name, Args: args, Standalone: true, Kept: kept, SecretNamespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	// It leads, and so has written what it leads by.
	eventually(t, "a replica leads", func(ctx context.Context) bool {
		leases, err := l.Client.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(leases.Items) >= 2
	})
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if log := s.Log(); strings.Contains(log, "forbidden") {
		t.Errorf("something was forbidden:\n%s", log)
	}
}
