package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// TestWiringFiles applies every file of config/wiring to the API server.
func TestWiringFiles(t *testing.T) {
	dir := filepath.Join(repository(t), "config", "wiring")
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "files"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { unwire(t, shared.UnwireAccess) })
	authorizer := func(t *testing.T, everything bool) {
		if err := shared.WireAccess(t.Context(), s, wiring.Authorizer{Everything: everything}); err != nil {
			t.Fatal(err)
		}
		want(t, shared.Kubectl(t.Context(), bob, "get", "pods", "-n", "shop"), true, "web")
		want(t, execInto(t, bob, "shop", "web"), true, "inside")
		s.Kill()
		want(t, shared.Kubectl(t.Context(), bob, "get", "pods", "-n", "shop"), !everything)
		want(t, execInto(t, bob, "shop", "web"), false, "refused")
		// What mends Sallyport is not asked about, whichever file it is.
		for _, args := range [][]string{
			{"get", "crd", "denypolicies.sallyport.io"},
			{"label", "crd", "denypolicies.sallyport.io", "mended=yes", "--overwrite"},
			{"label", "clusterrole", "sallyport", "mended=yes", "--overwrite"},
			{"get", "deployments,pods,secrets", "-n", "sallyport-system"},
		} {
			want(t, shared.Kubectl(t.Context(), bob, args...), true)
		}
		if everything {
			want(t, shared.Kubectl(t.Context(), bob, "delete", "crd", "denypolicies.sallyport.io", "--dry-run=server"), false, "refused")
			want(t, shared.Kubectl(t.Context(), bob, "label", "clusterrole", "view", "x=y", "--dry-run=server"), false, "refused")
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			switch filepath.Base(file) {
			case "authorization-config.yaml":
				authorizer(t, false)
			case "authorization-config-all.yaml":
				authorizer(t, true)
			case "authorization-kubeconfig.yaml":
				// Both of those lead to Sallyport by it.
			case "admission-config.yaml", "admission-kubeconfig.yaml":
				// Every lab is started with these: without them, Sallyport would not know
				// who asks.
				content, err := os.ReadFile(filepath.Join(shared.Dir, "admission.yaml"))
				if err != nil || !strings.Contains(string(content), "ValidatingAdmissionWebhook") {
					t.Errorf("%s, %v", content, err)
				}
			case "mutatingwebhookconfiguration.yaml", "validatingwebhookconfiguration.yaml", "ruleswebhookconfigurations.yaml":
				want(t, shared.Kubectl(t.Context(), root, "apply", "--dry-run=server", "--validate=strict", "-f", file), true, "sallyport")
			default:
				t.Errorf("nothing applies this file")
			}
		})
	}
	// The two configurations themselves, as they stand, in force.
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	if err := shared.WireAdmission(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	want(t, shared.Kubectl(t.Context(), root, "run", "wired", "-n", "shop", "--image=registry.example.com/app:1", "--dry-run=server"), true)
	s.Kill()
	want(t, shared.Kubectl(t.Context(), root, "run", "wired", "-n", "shop", "--image=registry.example.com/app:1", "--dry-run=server"), false, "failed calling webhook")
	if err := s.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}
