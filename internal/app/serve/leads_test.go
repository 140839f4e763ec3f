package serve

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/app/server"
	"github.com/sallyport-io/sallyport/internal/controller/enforced"
	"github.com/sallyport-io/sallyport/internal/controller/policyserver"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/observe/report"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// discovered is what an API server answers that has DenyPolicies.
var discovered = map[string]string{
	"/api":  `{"kind":"APIVersions","versions":[]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"sallyport.io","versions":[{"groupVersion":"sallyport.io/v1alpha1","version":"v1alpha1"}]}]}`,
	"/apis/sallyport.io/v1alpha1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"sallyport.io/v1alpha1","resources":[` +
		`{"name":"denypolicies","kind":"DenyPolicy","namespaced":false,"verbs":["get","patch"]}]}`,
}

// TestOnlyWhoLeadsWrites what one replica writes: webhooks, PolicyServers, reports and the
// statuses of policies. What the workflow writes, and statuses of ClusterConfigs, are looked
// at in the packages that write them.
func TestOnlyWhoLeadsWrites(t *testing.T) {
	var written []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			written = append(written, r.Method+" "+r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		if answer := discovered[r.URL.Path]; answer != "" {
			_, _ = io.WriteString(w, answer)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	}))
	t.Cleanup(api.Close)
	config, log := &rest.Config{Host: api.URL}, slog.New(slog.NewTextHandler(io.Discard, nil))
	store := policy.NewStore(pod.Default(), time.Now, exception.Options{})
	leads := true
	isLeading := func() bool { return leads }
	f := &Flags{scan: scanFlags{reports: true, interval: time.Hour}}
	f.known.open(log)
	if err := f.known.reads(config); err != nil {
		t.Fatal(err)
	}
	hooks, err := f.webhooks.controller(config, store, nil, nil, nil, isLeading, false, log)
	if err != nil {
		t.Fatal(err)
	}
	servers, err := f.policyServers(config, isLeading, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.scan.start(config, store, server.State{}, "", isLeading, f.known.all, log); err != nil {
		t.Fatal(err)
	}
	writer, beside, err := statusWriters(config, isLeading)
	if err != nil {
		t.Fatal(err)
	}
	status := func(by client.Client) error {
		policy := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "sallyport.io/v1alpha1", "kind": "DenyPolicy", "metadata": map[string]any{"name": "x"}}}
		return by.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(policy), client.FieldOwner("x"), client.ForceOwnership)
	}
	if leads = false; status(beside) != nil {
		t.Error("what is said beside the leader is held back")
	}
	controller, err := f.workflow(config, store, &enforced.Parts{}, isLeading, log)
	if err != nil {
		t.Fatal(err)
	}
	if leads = true; !controller.Leads() {
		t.Error("the workflow does not know who leads")
	}
	if leads = false; controller.Leads() {
		t.Error("the workflow does not know who leads")
	}
	for what, write := range map[string]func() error{
		"webhooks": func() error {
			return hooks.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "x", metav1.DeleteOptions{})
		},
		"statuses of policies": func() error { return status(writer) },
		"PolicyServers": func() error {
			sends, err := rest.HTTPClientFor(servers.(*policyserver.Controller).Config)
			if err != nil {
				t.Fatal(err)
			}
			response, err := sends.Post(api.URL+"/x", "application/json", strings.NewReader("{}"))
			if err == nil {
				response.Body.Close()
			}
			return err
		},
		"reports": func() error {
			one := report.Report{Metadata: report.Metadata{Name: "x", Namespace: "dev"}}
			one.Kind, one.APIVersion = report.KindNamespace, "openreports.io/v1alpha1"
			return f.scan.scanner.Reports.Write(t.Context(), []report.Report{one})
		},
	} {
		for _, leads = range []bool{true, false} {
			written = nil
			err := write()
			if held := err != nil && strings.Contains(err.Error(), "another replica leads now"); held == leads || leads != (len(written) > 0) {
				t.Errorf("%s, leads %v: %v, written %q", what, leads, err, written)
			}
		}
	}
}

// TestElectionsAreApart from all other connections, which may hang.
func TestElectionsAreApart(t *testing.T) {
	proto := ""
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto = r.Proto
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"x"}}`)
	}))
	api.EnableHTTP2 = true
	api.StartTLS()
	t.Cleanup(api.Close)
	f := &Flags{}
	election, err := f.election(&rest.Config{Host: api.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, &workflow.Controller{}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := election.Client.CoordinationV1().Leases("x").Get(t.Context(), "x", metav1.GetOptions{}); err != nil || proto != "HTTP/1.1" {
		t.Errorf("%v, asked by %q", err, proto)
	}
}
