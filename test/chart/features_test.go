package chart_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
	"github.com/sallyport-io/sallyport/test/lab"
)

const featureValues = `
tls: {existingSecret: {name: given}}
templateKey: {existingSecret: template-key}
podSource: cache
features:
  afterUse: true
  context: true
  policyServers: true
  clusters: {enabled: true}
  backgroundScan: {enabled: true, interval: 5s}
apiPriorityAndFairness: {enabled: true}
webhook: {startNamespaces: [kube-system, network]}
`

const tenants = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: tenants, namespace: guard}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tenants}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-policy-server}
subjects: [{kind: ServiceAccount, name: tenants, namespace: guard}]
---
apiVersion: sallyport.io/v1alpha1
kind: PolicyServer
metadata: {name: tenants}
spec: {image: "ghcr.io/sallyport-io/sallyport:v1", replicas: 2, serviceAccountName: tenants}
`

// TestFeaturesRun has the pods of the chart run with everything that is off otherwise, and
// by a certificate that is given, which is replaced by one of another CA while requests
// are answered.
func TestFeaturesRun(t *testing.T) {
	c := newRunning(t, map[string]string{image: product.Quick})
	c.certificate = "given"
	first, second := newCA(t), newCA(t)
	c.give(first, first)
	values := []string{set("minimal"), file(t, featureValues)}
	c.release.upgrade(values...)
	c.rolledOut()
	c.filledIn(admissionregistrationv1.Fail)
	c.policy()
	c.load = startLoad(t, c.lab)
	c.load.during("a certificate of another CA", false, func() {
		for _, given := range [][]*selfsigned.CA{{first, first, second}, {second, first, second}, {second, second}} {
			c.give(given[0], given[1:]...)
			c.filledIn(admissionregistrationv1.Fail)
			c.shows(given[0])
			// What was asked by the one before has been answered.
			c.load.settled(20)
		}
	})
	c.load.during("PolicyServer", false, func() {
		if err := c.lab.Apply(t.Context(), tenants); err != nil {
			t.Fatal(err)
		}
		c.must(c.lab.Kubectl(t.Context(), lab.Admin, "wait", "policyserver/tenants", "--for=condition=Ready", "--timeout=120s"))
		c.must(c.lab.Kubectl(t.Context(), lab.Admin, "delete", "policyserver", "tenants", "--timeout=120s"))
	})
	c.rights(values...)
	if refused := c.used("system:serviceaccount:" + guard + ":tenants").Refused(); len(refused) > 0 {
		t.Errorf("requests of the PolicyServer were refused: %v", refused[:min(len(refused), 5)])
	}
}

func newCA(t *testing.T) *selfsigned.CA {
	t.Helper()
	ca, err := selfsigned.NewCA([]string{"sallyport." + guard + ".svc"}, time.Now(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// give writes the Secret with a certificate of a CA, and the CAs that are trusted.
func (c *runningChart) give(of *selfsigned.CA, trusted ...*selfsigned.CA) {
	c.Helper()
	pair, err := of.Sign([]string{"sallyport." + guard + ".svc"}, time.Now(), 12*time.Hour)
	if err != nil {
		c.Fatal(err)
	}
	var cas bytes.Buffer
	for _, ca := range trusted {
		cas.Write(selfsigned.PEM(ca.Certificate))
	}
	secrets := c.lab.Client.CoreV1().Secrets(guard)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: c.certificate}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": cas.Bytes()},
	}
	if _, err = secrets.Update(c.Context(), secret, metav1.UpdateOptions{}); err != nil {
		_, err = secrets.Create(c.Context(), secret, metav1.CreateOptions{})
	}
	if err != nil {
		c.Fatal(err)
	}
}

// shows waits until all replicas show a certificate of a CA.
func (c *runningChart) shows(ca *selfsigned.CA) {
	c.Helper()
	eventually(c.T, "the certificate is shown", func(ctx context.Context) bool {
		pods, err := c.lab.Client.CoreV1().Pods(guard).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=sallyport"})
		if err != nil {
			return false
		}
		return !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool {
			dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
			conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(p.Status.PodIP, "8443"))
			if err != nil {
				return true
			}
			defer conn.Close()
			return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].CheckSignatureFrom(ca.Certificate) != nil
		})
	})
}
