package wiring

import (
	"strings"
	"testing"

	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
)

// asking reports whether an authorizer is asked questions, by what they are.
func asking(t *testing.T, a Authorizer, questions map[string]Question) map[string]bool {
	t.Helper()
	a.KubeconfigFile = "/kubeconfig"
	config, err := a.Configuration()
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for what, q := range questions {
		if q.User == "" {
			q.User = "jane"
		}
		if asked[what], err = Asks(config.Authorizers[0].Webhook, q); err != nil {
			t.Fatal(err)
		}
	}
	return asked
}

// TestFurther: what is named is asked about as well, by the verbs that are named, and nothing
// else is; what has to go on while Sallyport is away is never asked about.
func TestFurther(t *testing.T) {
	a := Authorizer{
		Further:   []Resource{{Resource: "secrets", Verbs: []string{"list", "get"}}, {Group: "apps", Resource: "deployments", Subresource: "scale"}},
		Namespace: "guard", Start: []string{"network"},
	}
	questions := map[string]Question{}
	want := map[string]bool{}
	ask := func(what string, asked bool, q Question) { questions[what], want[what] = q, asked }
	ask("exec", true, Question{Verb: "create", Resource: "pods", Subresource: "exec"})
	ask("a node's exec", true, Question{User: "system:node:a", Groups: []string{"system:nodes"}, Verb: "create", Resource: "pods", Subresource: "exec"})
	ask("impersonating", true, Question{Verb: "impersonate", Resource: "users"})
	ask("secrets", true, Question{Verb: "get", Resource: "secrets", Namespace: "shop"})
	ask("any verb of secrets", true, Question{Verb: "*", Resource: "secrets"})
	ask("anything", true, Question{Verb: "*", Group: "*", Resource: "*"})
	ask("writing secrets", false, Question{Verb: "update", Resource: "secrets"})
	ask("scaling", true, Question{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale"})
	ask("all of Deployments", true, Question{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "*"})
	ask("Deployments", false, Question{Verb: "get", Group: "apps", Resource: "deployments"})
	ask("pods", false, Question{Verb: "delete", Resource: "pods"})
	ask("by the control plane", false, Question{User: "system:kube-controller-manager", Verb: "get", Resource: "secrets"})
	ask("by a node", false, Question{User: "system:node:a", Groups: []string{"system:nodes"}, Verb: "get", Resource: "secrets"})
	ask("by what starts first", false, Question{User: "system:serviceaccount:network:a", Groups: []string{"system:serviceaccounts:network"}, Verb: "get", Resource: "secrets"})
	ask("by what runs in kube-system", false, Question{User: "x", Groups: []string{"system:serviceaccounts:kube-system"}, Verb: "get", Resource: "secrets"})
	ask("by Sallyport", false, Question{User: "system:serviceaccount:guard:sallyport", Groups: []string{"system:serviceaccounts:guard"}, Verb: "create", Resource: "pods", Subresource: "exec"})
	ask("in Sallyport's namespace", false, Question{Verb: "get", Resource: "secrets", Namespace: "guard"})
	ask("in what is Sallyport's elsewhere", true, Question{Verb: "get", Resource: "secrets", Namespace: Namespace})
	for what, asked := range asking(t, a, questions) {
		if asked != want[what] {
			t.Errorf("%s: asked %v, want %v", what, asked, want[what])
		}
	}
}

// TestNothingFurther leaves the files as they are, except for the namespaces.
func TestNothingFurther(t *testing.T) {
	for _, everything := range []bool{false, true} {
		plain, err := Authorizer{KubeconfigFile: "/k", Everything: everything}.Configuration()
		if err != nil {
			t.Fatal(err)
		}
		moved, err := Authorizer{KubeconfigFile: "/k", Everything: everything, Namespace: "guard", Start: []string{"network"}}.Configuration()
		if err != nil {
			t.Fatal(err)
		}
		text := func(c *apiserverv1.AuthorizationConfiguration) string {
			var all []string
			for _, m := range c.Authorizers[0].Webhook.MatchConditions {
				all = append(all, m.Expression)
			}
			return strings.Join(all, "\n")
		}
		want := strings.NewReplacer("['kube-system', 'sallyport-system']", "['kube-system', 'network', 'guard']", "'sallyport-system'", "'guard'", ":sallyport-system:", ":guard:").Replace(text(plain))
		if got := text(moved); got != want || strings.Contains(got, "sallyport-system") {
			t.Errorf("everything %v: %s\nwant %s", everything, got, want)
		}
	}
}

// TestAsksSaysWhy where a condition cannot be read or worked out.
func TestAsksSaysWhy(t *testing.T) {
	for expression, want := range map[string]string{"request.": "cannot be read", "request.nothing == ''": "cannot be worked out"} {
		_, err := Asks(&apiserverv1.WebhookConfiguration{MatchConditions: []apiserverv1.WebhookMatchCondition{{Expression: expression}}}, Question{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), expression) {
			t.Errorf("%s: %v", expression, err)
		}
	}
}
