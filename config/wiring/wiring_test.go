package wiring

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
)

var certificate = Credentials{CertFile: "/c/client.crt", KeyFile: "/c/client.key"}

func TestAuthorizerStandsAheadOfNodeAndRBAC(t *testing.T) {
	config, err := Authorizer{KubeconfigFile: "/k", FailurePolicy: "NoOpinion", Timeout: time.Second}.Configuration()
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, a := range config.Authorizers {
		order = append(order, string(a.Type)+" "+a.Name)
	}
	if diff := cmp.Diff([]string{"Webhook sallyport", "Node node", "RBAC rbac"}, order); diff != "" {
		t.Error(diff)
	}
	webhook := config.Authorizers[0].Webhook
	if *webhook.CacheAuthorizedRequests || *webhook.CacheUnauthorizedRequests {
		t.Error("answers are kept")
	}
	if webhook.FailurePolicy != "NoOpinion" || webhook.Timeout.Duration != time.Second || *webhook.ConnectionInfo.KubeConfigFile != "/k" {
		t.Errorf("the options did not get in: %+v", webhook)
	}
	if got := webhook.MatchConditions[0].Expression; got != "has(request.resourceAttributes)" {
		t.Errorf("the first condition is %q: a non-resource request would be an error in those after it", got)
	}
}

func TestAuthorizerConditions(t *testing.T) {
	for _, everything := range []bool{false, true} {
		plain, err := Authorizer{KubeconfigFile: "/k", Everything: everything}.Configuration()
		if err != nil {
			t.Fatal(err)
		}
		config, err := Authorizer{KubeconfigFile: "/k", Exempt: []string{"sallyport", `o'\hara`}, Everything: everything}.Configuration()
		if err != nil {
			t.Fatal(err)
		}
		added := config.Authorizers[0].Webhook.MatchConditions[len(plain.Authorizers[0].Webhook.MatchConditions):]
		want := []apiserverv1.WebhookMatchCondition{{Expression: `!(request.user in ['sallyport', 'o\'\\hara'])`}}
		if diff := cmp.Diff(want, added); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for name, try := range map[string]func() error{
		"no kubeconfig": func() error { _, err := Authorizer{}.Configuration(); return err },
		"unknown failure policy": func() error {
			_, err := Authorizer{KubeconfigFile: "/k", FailurePolicy: "Fail"}.Configuration()
			return err
		},
		"plain HTTP":     func() error { _, err := Webhook("http://127.0.0.1:1", nil, ""); return err },
		"no host":        func() error { _, err := AuthorizerKubeconfig("https:///x", "/ca", "", certificate); return err },
		"no credentials": func() error { _, err := AuthorizerKubeconfig("https://x", "/ca", "", Credentials{}); return err },
		"two kinds of credentials": func() error {
			_, err := AdmissionKubeconfig("*", Credentials{CertFile: "c", KeyFile: "k", TokenFile: "t"})
			return err
		},
		"a certificate without its key": func() error { _, err := AdmissionKubeconfig("*", Credentials{CertFile: "c"}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if try() == nil {
				t.Error("want an error")
			}
		})
	}
}

func TestKubeconfigs(t *testing.T) {
	authorizer, err := AuthorizerKubeconfig("https://127.0.0.1:8443", "/ca", "prod/eu", certificate)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"server: https://127.0.0.1:8443/authorize/prod%2Feu\n", "certificate-authority: /ca\n", "client-certificate: /c/client.crt\n", "client-key: /c/client.key\n"} {
		if !strings.Contains(string(authorizer), want) {
			t.Errorf("%q is missing in\n%s", want, authorizer)
		}
	}
	admission, err := AdmissionKubeconfig("127.0.0.1:8443", Credentials{TokenFile: "/token"})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(admission); !strings.Contains(text, "name: 127.0.0.1:8443\n") || !strings.Contains(text, "tokenFile: /token\n") || strings.Contains(text, "client-certificate") {
		t.Errorf("got\n%s", text)
	}
}

func TestWebhookCoversBothDoorsAndFailsClosed(t *testing.T) {
	config, err := Webhook("https://127.0.0.1:8443", []byte("pem"), "prod")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, w := range config.Webhooks {
		if *w.FailurePolicy != "Fail" || *w.SideEffects != "None" {
			t.Errorf("%s: failure policy %s, side effects %s", w.Name, *w.FailurePolicy, *w.SideEffects)
		}
		if w.ClientConfig.Service != nil || *w.ClientConfig.URL != "https://127.0.0.1:8443/validate/prod" || string(w.ClientConfig.CABundle) != "pem" {
			t.Errorf("%s leads to %+v", w.Name, w.ClientConfig)
		}
		for _, rule := range w.Rules {
			for _, operation := range rule.Operations {
				for _, resource := range rule.Resources {
					covered[string(operation)+" "+resource] = true
				}
			}
		}
	}
	for _, want := range []string{
		"CREATE pods", "UPDATE pods", "UPDATE pods/ephemeralcontainers", "UPDATE pods/resize", "CREATE podtemplates",
		"CREATE deployments", "UPDATE replicasets", "CREATE statefulsets", "CREATE daemonsets", "CREATE replicationcontrollers",
		"CREATE jobs", "UPDATE cronjobs", "CREATE controllerrevisions", "UPDATE pods/status", "UPDATE deployments/status", "UPDATE jobs/status",
		"CREATE serviceaccounts", "UPDATE serviceaccounts", "CREATE serviceaccounts/token", "CREATE secrets", "UPDATE secrets", "CREATE bindings", "CREATE pods/binding", "CONNECT pods/exec", "CONNECT pods/attach", "CONNECT pods/portforward",
		"CONNECT pods/proxy", "CONNECT services/proxy", "CONNECT nodes/proxy", "CREATE denypolicies", "CREATE breakglassescalations", "UPDATE breakglassescalations",
		"DELETE customresourcedefinitions", "UPDATE customresourcedefinitions", "UPDATE customresourcedefinitions/status", "CREATE breakglasssessions", "UPDATE breakglasssessions", "DELETE breakglasssessions", "UPDATE breakglasssessions/status",
	} {
		if !covered[want] {
			t.Errorf("%s is not covered", want)
		}
	}
}

// TestMarkIsKept holds the two configurations together: what one marks, the other
// judges, the status too, through which a mark could be written.
func TestMarkIsKept(t *testing.T) {
	judging, err := Webhook("https://127.0.0.1:8443", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	marking, err := MutatingWebhook("https://127.0.0.1:8443", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	judged := map[string]bool{}
	for _, w := range judging.Webhooks {
		for _, rule := range w.Rules {
			for _, operation := range rule.Operations {
				for _, resource := range rule.Resources {
					judged[string(operation)+" "+rule.APIGroups[0]+"/"+resource] = true
				}
			}
		}
	}
	statusless := map[string]bool{"podtemplates": true, "controllerrevisions": true}
	for _, w := range marking.Webhooks {
		if w.Name != "templates.sallyport.io" {
			continue
		}
		for _, rule := range w.Rules {
			for _, resource := range rule.Resources {
				for _, operation := range rule.Operations {
					if want := string(operation) + " " + rule.APIGroups[0] + "/" + resource; !judged[want] {
						t.Errorf("%s is marked and not judged", want)
					}
				}
				if want := "UPDATE " + rule.APIGroups[0] + "/" + resource + "/status"; !judged[want] && !statusless[resource] {
					t.Errorf("%s is not judged, and writes marks", want)
				}
			}
		}
	}
	if len(marking.Webhooks) != 3 {
		t.Errorf("%d webhooks", len(marking.Webhooks))
	}
}

func TestAdmissionConfiguration(t *testing.T) {
	config, err := AdmissionConfiguration("/k")
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Plugins) != 2 || config.Plugins[0].Name != "ValidatingAdmissionWebhook" || config.Plugins[1].Name != "MutatingAdmissionWebhook" {
		t.Fatalf("got %+v", config.Plugins)
	}
	for _, plugin := range config.Plugins {
		if raw := string(plugin.Configuration.Raw); !strings.Contains(raw, `"kubeConfigFile":"/k"`) || !strings.Contains(raw, `"kind":"WebhookAdmissionConfiguration"`) {
			t.Errorf("%s: got %s", plugin.Name, raw)
		}
	}
}
