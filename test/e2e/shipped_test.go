package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/test/lab"
)

const emptyConfigurations = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: sallyport}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: sallyport}
`

// TestInstalledWhileSomebodyWorks: configurations without webhooks are installed first, then
// Sallyport, then the way to it, and at no moment is somebody refused who makes pods. When
// all is there, policies hold; what is taken away afterwards stays away.
func TestInstalledWhileSomebodyWorks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l, err := startLab(ctx, lab.Options{CRDs: []string{filepath.Join(repository(t), "config", "crd")}, Users: []lab.User{{Name: "bob"}}})
	if err != nil {
		t.Fatal(err)
	}
	w := &wiredLab{T: t, lab: l}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	w.must(l.CreateNamespace(ctx, "shop", nil))
	w.must(l.Apply(ctx, wiredPeople[:strings.Index(wiredPeople, "---")]))
	w.must(l.Apply(ctx, certificateRights(t)))
	const fine = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-, namespace: shop}\nspec: {containers: [{name: app, image: registry.example.com/app:1}]}\n"
	create := func(ctx context.Context, manifest string) lab.Result {
		return l.Run(ctx, lab.Kubectl{User: "bob", Args: []string{"create", "--dry-run=server", "-f", "-"}, Stdin: strings.NewReader(manifest)})
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	var working sync.WaitGroup
	var mu sync.Mutex
	made, refused := 0, []string{}
	working.Go(func() {
		for work.Err() == nil {
			r := create(ctx, fine)
			mu.Lock()
			if made++; !r.OK() {
				refused = append(refused, r.String())
			}
			mu.Unlock()
		}
	})
	hooks := func() (judging []string, changing []string) {
		judges, err := l.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "sallyport", metav1.GetOptions{})
		w.must(err)
		changes, err := l.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, "sallyport", metav1.GetOptions{})
		w.must(err)
		for i := range judges.Webhooks {
			judging = append(judging, judges.Webhooks[i].Name)
		}
		for i := range changes.Webhooks {
			changing = append(changing, changes.Webhooks[i].Name)
		}
		return judging, changing
	}

	w.must(l.Apply(ctx, emptyConfigurations))
	door := &way{t: t}
	door.reserve()
	w.s, err = l.StartSallyport(ctx, lab.SallyportOptions{Binary: binary, Name: "kept", Kept: true, Args: []string{
		"--watch-policies", "--certificate-secret", "sallyport-certificate", "--webhooks", "all", "--service", "https://" + door.address,
	}})
	w.must(err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.s.Log())
		}
	})
	eventually(t, func() string {
		judging, changing := hooks()
		slices.Sort(judging)
		if !slices.Equal(judging, []string{"definitions.sallyport.io", "exceptions.sallyport.io", "policies.sallyport.io", "sessions.sallyport.io"}) || len(changing) != 2 {
			return fmt.Sprintf("%q, %q", judging, changing)
		}
		return ""
	})
	policy, err := os.ReadFile(filepath.Join(repository(t), "examples", "podsecurity", "baseline.yaml"))
	w.must(err)
	if err := l.Apply(ctx, string(policy)); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("a policy that nobody judged: %v", err)
	}

	// API servers come to reach it.
	door.open(strings.TrimPrefix(w.s.URL, "https://"))
	eventually(t, func() string {
		if judging, changing := hooks(); len(judging) < 15 || len(changing) != 3 {
			return fmt.Sprintf("%q, %q", judging, changing)
		}
		return ""
	})
	w.must(l.Apply(ctx, string(policy)))
	const privileged = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-, namespace: shop}\nspec: {containers: [{name: app, image: registry.example.com/app:1, securityContext: {privileged: true}}]}\n"
	eventually(t, func() string {
		if r := create(ctx, privileged); r.OK() || !strings.Contains(r.Stderr, "sallyport") {
			return r.String()
		}
		return ""
	})
	stop()
	working.Wait()
	if len(refused) > 0 || made < 10 {
		t.Errorf("of %d pods %d were refused, the first: %v", made, len(refused), refused[:min(len(refused), 2)])
	}
	t.Logf("%d pods were made meanwhile", made)

	// What somebody takes out comes back, and what is taken away does not.
	if r := l.Kubectl(ctx, lab.Admin, "patch", "validatingwebhookconfiguration", "sallyport", "--type=json", "-p", `[{"op":"remove","path":"/webhooks/0"}]`); !r.OK() {
		t.Fatal(r)
	}
	eventually(t, func() string {
		if judging, _ := hooks(); judging[0] != "pods.sallyport.io" {
			return fmt.Sprintf("%q", judging)
		}
		return ""
	})
	// So does what lets in, as doctor --repair has it, and a selector that a provider adds.
	first := func() admissionregistrationv1.ValidatingWebhook {
		judges, err := l.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "sallyport", metav1.GetOptions{})
		w.must(err)
		return judges.Webhooks[0]
	}
	before := first()
	loosened := fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"},{"op":"replace","path":"/webhooks/0/clientConfig/url","value":%q},`+
		`{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{"matchExpressions":[{"key":"control-plane","operator":"DoesNotExist"}]}}]`, "https://"+door.address+"/ignore/validate")
	if r := l.Kubectl(ctx, lab.Admin, "patch", "validatingwebhookconfiguration", "sallyport", "--type=json", "-p", loosened); !r.OK() {
		t.Fatal(r)
	}
	eventually(t, func() string { return cmp.Diff(before, first()) })
	if r := l.Kubectl(ctx, lab.Admin, "delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "sallyport"); !r.OK() {
		t.Fatal(r)
	}
	eventually(t, func() string {
		if r := create(ctx, privileged); !r.OK() {
			return r.String()
		}
		return ""
	})
	w.must(w.s.Stop())
	w.must(w.s.Start(ctx))
	eventually(t, func() string {
		if led := strings.Count(w.s.Log(), "this replica leads:"); led < 2 {
			return fmt.Sprintf("it has come to lead %d times", led)
		}
		return ""
	})
	if r := l.Kubectl(ctx, lab.Admin, "get", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "sallyport"); !strings.Contains(r.Stderr, "NotFound") {
		t.Errorf("what was taken away is there: %s", r)
	}
	w.must(l.Apply(ctx, emptyConfigurations))
	eventually(t, func() string {
		if judging, changing := hooks(); len(judging) < 15 || len(changing) != 3 {
			return fmt.Sprintf("%q, %q", judging, changing)
		}
		return ""
	})
}

// way is an address at which nobody listens until it is opened.
type way struct {
	t       *testing.T
	address string
}

func (w *way) reserve() {
	w.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// open has connections lead to another address, until the test ends.
func (w *way) open(to string) {
	w.t.Helper()
	listener, err := net.Listen("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				there, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer there.Close()
				go io.Copy(there, from) //nolint:errcheck // it ends with either side
				io.Copy(from, there)    //nolint:errcheck // it ends with either side
			}()
		}
	}()
}
