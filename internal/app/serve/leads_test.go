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
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/app/server"
	"github.com/sallyport-io/sallyport/internal/controller/policyserver"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/observe/report"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestOnlyWhoLeadsWrites what one replica writes: webhooks, PolicyServers and reports.
// Statuses of ClusterConfigs are looked at in the package that writes them.
func TestOnlyWhoLeadsWrites(t *testing.T) {
	var written []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			written = append(written, r.Method+" "+r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
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
	if err := f.scan.start(config, store, server.State{}, "", isLeading, log); err != nil {
		t.Fatal(err)
	}
	for what, write := range map[string]func() error{
		"webhooks": func() error {
			return hooks.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "x", metav1.DeleteOptions{})
		},
		"PolicyServers": func() error {
			client, err := rest.HTTPClientFor(servers.(*policyserver.Controller).Config)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Post(api.URL+"/x", "application/json", strings.NewReader("{}"))
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
