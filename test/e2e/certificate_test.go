package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/test/lab"
)

// TestCertificateRotates replaces the CA of two replicas while requests are judged, and no
// request fails by it.
func TestCertificateRotates(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newCertificateLab(t)
	w.must(w.lab.WireAdmission(ctx, w.s, nil))
	secrets := w.lab.Client.CoreV1().Secrets("kube-system")
	old, err := secrets.Get(ctx, "sallyport-certificate", metav1.GetOptions{})
	w.must(err)

	load, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	answered, failed := 0, []string{}
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for n := 0; load.Err() == nil; n++ {
				pod := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: p%d-%d, namespace: shop}\nspec: {containers: [{name: app, image: registry.example.com/app:1}]}\n", i, n)
				r := w.lab.Run(ctx, lab.Kubectl{User: "bob", Args: []string{"create", "--dry-run=server", "-f", "-"}, Stdin: strings.NewReader(pod)})
				mu.Lock()
				answered++
				if !r.OK() {
					failed = append(failed, r.String())
				}
				mu.Unlock()
			}
		})
	}
	_, err = secrets.Patch(ctx, "sallyport-certificate", types.MergePatchType, []byte(`{"metadata":{"annotations":{"sallyport.io/rotate":"callers-have-it"}}}`), metav1.PatchOptions{})
	w.must(err)
	eventually(t, func() string {
		now, err := secrets.Get(ctx, "sallyport-certificate", metav1.GetOptions{})
		switch {
		case err != nil:
			return err.Error()
		case bytes.Contains(now.Data["ca.crt"], bytes.TrimSpace(old.Data["ca.crt"])), bytes.Equal(now.Data["tls.crt"], old.Data["tls.crt"]):
			return "the old CA is still trusted, or its certificate shown"
		}
		config, err := w.lab.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "sallyport", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if !bytes.Equal(config.Webhooks[0].ClientConfig.CABundle, now.Data["ca.crt"]) {
			return "the caBundle is another"
		}
		return ""
	})
	// What is judged from here on is judged by the new certificate.
	mu.Lock()
	before := answered
	mu.Unlock()
	eventually(t, func() string {
		mu.Lock()
		defer mu.Unlock()
		if answered < before+20 {
			return "not enough was judged since"
		}
		return ""
	})
	stop()
	running.Wait()
	// Webhooks are written only as they were read, by a patch that names the version.
	stale := []byte(`[{"op":"add","path":"/metadata/resourceVersion","value":"1"},{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":""}]`)
	if _, err := w.lab.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(ctx, "sallyport", types.JSONPatchType, stale, metav1.PatchOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a patch of another version: %v", err)
	}
	if len(failed) > 0 || answered < 40 {
		t.Errorf("of %d requests %d failed, the first: %v\n%s", answered, len(failed), failed[:min(len(failed), 3)], w.s.Log())
	}
	t.Logf("%d requests were judged", answered)
}

// newCertificateLab has a Sallyport that makes its certificate itself, beside another
// replica of it.
func newCertificateLab(t *testing.T) *wiredLab {
	t.Helper()
	l, err := startLab(t.Context(), lab.Options{CRDs: []string{filepath.Join(repository(t), "config", "crd")}, Users: []lab.User{{Name: "bob"}}})
	if err != nil {
		t.Fatal(err)
	}
	w := &wiredLab{T: t, lab: l}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	w.must(l.CreateNamespace(t.Context(), "shop", nil))
	w.must(l.Apply(t.Context(), wiredPeople[:strings.Index(wiredPeople, "---")]))
	w.must(l.Apply(t.Context(), certificateRights(t)))
	secret := []string{"--watch-policies", "--certificate-secret", "sallyport-certificate", "--certificate-overlap", "4s"}
	w.s, err = l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "kept", Kept: true, Args: secret})
	w.must(err)
	_, err = l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "beside", Kept: true, Args: append(secret, "--service", w.s.URL)})
	w.must(err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.s.Log())
		}
	})
	return w
}

// certificateRights lets the Sallyport of the lab keep its certificate in a Secret, and the
// webhooks that are shipped.
func certificateRights(t *testing.T) string {
	t.Helper()
	var rights strings.Builder
	for _, name := range []string{"certificates.yaml", "webhooks.yaml"} {
		content, err := os.ReadFile(filepath.Join(repository(t), "config", "rbac", "features", name))
		if err != nil {
			t.Fatal(err)
		}
		rights.WriteString("---\n" + string(content))
	}
	text := strings.ReplaceAll(rights.String(), "namespace: sallyport-system", "namespace: kube-system")
	return strings.ReplaceAll(text, "- kind: ServiceAccount\n  name: sallyport\n  namespace: kube-system\n", "- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "+lab.SallyportUser+"}\n")
}
