package chart_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
	"github.com/sallyport-io/sallyport/test/lab"
)

// image is the repository of the image that the chart names.
const image = "ghcr.io/sallyport-io/sallyport"

// runningChart is the chart in a cluster where its pods run.
type runningChart struct {
	*testing.T
	lab     *lab.Lab
	release *release
	load    *load
	// certificate is the Secret that it stands in.
	certificate string
	// replicas is how many there are.
	replicas int
}

// TestRunning has the pods of the chart run, with the rights that it renders, called
// through its Service, by a certificate that they make themselves. Through all that is
// done to a release, requests are answered, and none fails.
func TestRunning(t *testing.T) {
	c := newRunning(t, map[string]string{image: product.Quick})
	minimal, observing, enforcing := set("minimal"), file(t, "mode: observe\n"), file(t, `
templateKey: {existingSecret: template-key}
extraArgs: [--certificate-overlap=4s]
`)
	c.release.upgrade(minimal, enforcing)
	c.rolledOut()
	c.filledIn(admissionregistrationv1.Fail)
	c.policy()
	c.load = startLoad(t, c.lab)

	c.load.during("restart", false, func() {
		c.must(c.lab.Kubectl(t.Context(), lab.Admin, "-n", guard, "rollout", "restart", "deployment/sallyport"))
		c.rolledOut()
	})
	c.load.during("the pod of the leader is deleted", false, func() {
		leader := c.leader()
		c.must(c.lab.Kubectl(t.Context(), lab.Admin, "-n", guard, "delete", "pod", leader))
		c.rolledOut()
		eventually(t, "another leads", func(context.Context) bool { now := c.leader(); return now != "" && now != leader })
	})
	c.load.during("the node is drained", false, func() {
		c.must(c.lab.Kubectl(t.Context(), lab.Admin, "drain", lab.NodeName, "--delete-emptydir-data", "--timeout=150s"))
		c.must(c.lab.Kubectl(t.Context(), lab.Admin, "uncordon", lab.NodeName))
		c.rolledOut()
	})
	c.load.during("another CA", false, c.rotate)
	// Where nobody is left who answers, nothing is let in, and Sallyport itself comes back.
	c.load.outage("all replicas are gone at once", func() {
		c.must(c.lab.Kubectl(t.Context(), lab.Admin, "-n", guard, "delete", "pods", "--all", "--grace-period=0", "--force"))
		c.rolledOut()
	})
	c.load.during("to observing", true, func() {
		c.release.upgrade(minimal, enforcing, observing)
		c.rolledOut()
		c.filledIn(admissionregistrationv1.Ignore)
	})
	if n := c.load.settled(20); n.refused > 0 {
		t.Errorf("%d pods are refused while it observes", n.refused)
	}
	c.load.during("back to enforcing", true, func() {
		c.release.upgrade(minimal, enforcing)
		c.rolledOut()
		c.filledIn(admissionregistrationv1.Fail)
	})
	if n := c.load.settled(20); n.letInThough > 0 {
		t.Errorf("%d pods are let in that the policy refuses, once it enforces again", n.letInThough)
	}
	if log := c.log(); strings.Contains(log, "forbidden") {
		t.Errorf("something was forbidden:\n%s", grep(log, "forbidden"))
	}
	c.rights(minimal, enforcing)
	c.load.during("uninstall, as it is documented", true, func() {
		c.release.upgrade(minimal, enforcing, file(t, "webhook: {enabled: false}\n"))
		c.rolledOut()
		c.noWebhooks()
		c.release.uninstall(minimal, enforcing)
		c.goes()
	})
}

// newRunning starts a cluster whose pods run the programs of images.
func newRunning(t *testing.T, programs map[string]string) *runningChart {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	l, err := lab.Start(t.Context(), lab.Options{
		Controllers: lab.OwnAccounts, Kubelet: true, Audit: true, Log: os.Stderr,
		Programs: programs,
	})
	if errors.Is(err, lab.ErrPrograms) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &runningChart{T: t, lab: l, release: newRelease(t, l, guard), certificate: "sallyport-certificate", replicas: 2}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.Kubectl(context.Background(), lab.Admin, "-n", guard, "get", "pods,endpointslices", "-o", "wide"))
			t.Log(without(c.log(), `"door":"admission"`))
		}
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := l.CreateNamespace(t.Context(), guard, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(l.CallerCA())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{
		"api-server-ca": {"ca.crt": ca}, "template-key": {"key": []byte("a secret of enough bytes")},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
		if _, err := l.Client.CoreV1().Secrets(guard).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *runningChart) must(r lab.Result) {
	c.Helper()
	if !r.OK() {
		c.Fatal(r)
	}
}

// log is what all replicas have written, those that are gone included.
func (c *runningChart) log() string {
	log, err := c.lab.PodLog(guard)
	if err != nil {
		return err.Error()
	}
	return log
}

// without leaves out lines with a word.
func without(text, word string) string {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, word) {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

// grep returns the first lines with a word.
func grep(text, word string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return strings.Join(found[:min(len(found), 20)], "")
}

// rolledOut waits until all replicas are ready that are as the Deployment is now, and no
// others are left.
func (c *runningChart) rolledOut() {
	c.Helper()
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "-n", guard, "rollout", "status", "deployment/sallyport", "--timeout=180s"))
	eventually(c.T, "all replicas are ready, and no others are left", func(ctx context.Context) bool {
		pods, err := c.lab.Client.CoreV1().Pods(guard).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=sallyport,pod-template-hash"})
		if err != nil || len(pods.Items) != c.replicas {
			return false
		}
		for _, p := range pods.Items {
			if p.DeletionTimestamp != nil || len(p.Status.ContainerStatuses) != 1 || !p.Status.ContainerStatuses[0].Ready {
				return false
			}
		}
		return true
	})
}

// filledIn waits until the leader has filled in all webhooks that are shipped, which lead
// to the Service, trust what the Secret holds, and fail as they are to.
func (c *runningChart) filledIn(policy admissionregistrationv1.FailurePolicyType) {
	c.Helper()
	var last string
	defer func() {
		if c.Failed() {
			c.Logf("the webhooks: %s", last)
		}
	}()
	eventually(c.T, "the leader fills in the webhooks", func(ctx context.Context) bool {
		config, err := c.lab.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "sallyport", metav1.GetOptions{})
		if err != nil {
			last = err.Error()
			return false
		}
		secret, err := c.lab.Client.CoreV1().Secrets(guard).Get(ctx, c.certificate, metav1.GetOptions{})
		if err != nil {
			last = err.Error()
			return false
		}
		last = ""
		some := false
		for _, w := range config.Webhooks {
			last += w.Name + " " + string(*w.FailurePolicy) + "\n"
			s := w.ClientConfig.Service
			if s == nil || s.Namespace != guard || s.Name != "sallyport" || !trusts(w.ClientConfig.CABundle, secret.Data["ca.crt"]) {
				last += "leads elsewhere, or trusts another CA"
				return false
			}
			some = some || *w.FailurePolicy == policy && strings.Contains(w.Name, "pods")
		}
		return len(config.Webhooks) > 4 && some
	})
}

// trusts tells whether a bundle has all certificates of another.
func trusts(bundle, all []byte) bool {
	wanted, err := selfsigned.Certificates(all)
	had, also := selfsigned.Certificates(bundle)
	return err == nil && also == nil && !slices.ContainsFunc(wanted, func(c *x509.Certificate) bool { return !slices.ContainsFunc(had, c.Equal) })
}

// policy writes the policy that the load is about, and waits until it is enforced.
func (c *runningChart) policy() {
	c.Helper()
	eventually(c.T, "the policy is taken", func(ctx context.Context) bool {
		return c.lab.Kubectl(ctx, lab.Admin, "apply", "-f", absolute(c.T, "../../examples/podsecurity/baseline.yaml")).OK()
	})
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "wait", "clusterpolicy/baseline", "--for=condition=Enforced", "--timeout=120s"))
}

// leader returns the name of the pod that leads.
func (c *runningChart) leader() string {
	lease, err := c.lab.Client.CoordinationV1().Leases(guard).Get(c.Context(), "sallyport-workflow", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	pods, err := c.lab.Client.CoreV1().Pods(guard).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		return ""
	}
	for _, p := range pods.Items {
		if strings.HasPrefix(*lease.Spec.HolderIdentity, p.Name) {
			return p.Name
		}
	}
	return ""
}

// rotate asks for another CA, and waits until only that one is trusted.
func (c *runningChart) rotate() {
	c.Helper()
	secrets := c.lab.Client.CoreV1().Secrets(guard)
	old, err := secrets.Get(c.Context(), "sallyport-certificate", metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	if _, err := secrets.Patch(c.Context(), "sallyport-certificate", types.MergePatchType, []byte(`{"metadata":{"annotations":{"sallyport.io/rotate":"callers-have-it"}}}`), metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
	eventually(c.T, "only the other CA is trusted", func(ctx context.Context) bool {
		now, err := secrets.Get(ctx, "sallyport-certificate", metav1.GetOptions{})
		return err == nil && !bytes.Contains(now.Data["ca.crt"], bytes.TrimSpace(old.Data["ca.crt"])) && !bytes.Equal(now.Data["tls.crt"], old.Data["tls.crt"])
	})
	c.filledIn(admissionregistrationv1.Fail)
}

// noWebhooks waits until there are none, and the API server has forgotten them.
func (c *runningChart) noWebhooks() {
	c.Helper()
	eventually(c.T, "webhooks are gone", func(ctx context.Context) bool {
		webhooks := c.lab.Client.AdmissionregistrationV1()
		judging, err := webhooks.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
		if err != nil || len(judging.Items) > 0 {
			return false
		}
		changing, err := webhooks.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
		if err != nil || len(changing.Items) > 0 {
			return false
		}
		return true
	})
	// The API server takes a moment to forget webhooks.
	for end := time.Now().Add(limit); c.load.settled(10).refused > 0; {
		if time.Now().After(end) {
			c.Fatal("pods are refused though there are no webhooks")
		}
	}
}

// goes waits until nothing of the release is left but what is kept.
func (c *runningChart) goes() {
	c.Helper()
	eventually(c.T, "pods are gone", func(ctx context.Context) bool {
		pods, err := c.lab.Client.CoreV1().Pods(guard).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0
	})
	c.noWebhooks()
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "get", "clusterpolicy", "baseline"))
}
