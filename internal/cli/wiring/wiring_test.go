package wiring_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/cli/clitest"
)

const examples = "../../../examples/denypolicies"

// authorizer runs wiring --authorizer, and returns what the API server would go by, with the
// words about it.
func authorizer(t *testing.T, args ...string) (*apiserverv1.AuthorizationConfiguration, string) {
	t.Helper()
	status, out, errs := clitest.Run(t, "", append([]string{"wiring", "--authorizer", "--server", "https://10.0.0.7:8443"}, args...)...)
	if status != 0 {
		t.Fatalf("%d: %s", status, errs)
	}
	return read(t, out), out
}

// read decodes the first file.
func read(t *testing.T, out string) *apiserverv1.AuthorizationConfiguration {
	t.Helper()
	var config apiserverv1.AuthorizationConfiguration
	if err := yaml.UnmarshalStrict([]byte(strings.Split(out, "---\n")[1]), &config); err != nil {
		t.Fatal(err)
	}
	return &config
}

// TestEveryRuleIsAskedAbout: what the examples are about is asked about, one policy after the
// other, and reading Deployments, which none of them is about, is not.
func TestEveryRuleIsAskedAbout(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	rules := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		config, out := authorizer(t, "-p", file)
		everything := strings.Contains(out, "It is asked about everything")
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			var p v1alpha1.DenyPolicy
			if err := yaml.Unmarshal([]byte(document), &p); err != nil || p.Kind != "DenyPolicy" {
				continue
			}
			for _, rule := range p.Spec.Rules {
				for _, verb := range rule.Verbs {
					for _, group := range rule.APIGroups {
						for _, entry := range rule.Resources {
							if verb == "connect" || strings.Contains(group+entry, "*") {
								continue
							}
							rules++
							q := wiring.Question{User: "jane", Verb: strings.ReplaceAll(verb, "*", "patch"), Group: group, Namespace: "shop"}
							q.Resource, q.Subresource, _ = strings.Cut(entry, "/")
							if asked, err := wiring.Asks(config.Authorizers[0].Webhook, q); err != nil || !asked {
								t.Errorf("%s: %+v is not asked about: %v", file, q, err)
							}
						}
					}
				}
			}
		}
		other := wiring.Question{User: "jane", Verb: "get", Group: "apps", Resource: "deployments", Namespace: "shop"}
		if asked, err := wiring.Asks(config.Authorizers[0].Webhook, other); err != nil || asked != everything {
			t.Errorf("%s: Deployments are asked about: %v, %v", file, asked, err)
		}
	}
	if rules < 5 {
		t.Errorf("only %d rules were met", rules)
	}
}

func deny(name, rules string) client.Object {
	p := &v1alpha1.DenyPolicy{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "DenyPolicy"}}
	if err := yaml.Unmarshal([]byte("metadata: {name: "+name+"}\nspec: {rules: ["+rules+"]}"), p); err != nil {
		panic(err)
	}
	return p
}

// TestOfACluster reads what is there, and says for which policies something is asked about.
func TestOfACluster(t *testing.T) {
	group := &v1alpha1.BreakglassEscalation{ObjectMeta: metav1.ObjectMeta{Name: "on-call"}, Spec: v1alpha1.BreakglassEscalationSpec{
		EscalatedGroup: "cluster-admins", Allowed: v1alpha1.EscalationAllowed{Clusters: []string{"*"}, Groups: []string{"on-call"}},
		Approvers: v1alpha1.EscalationApprovers{Groups: []string{"leads"}},
	}}
	for name, c := range map[string]struct {
		objects  []client.Object
		says     string
		saysNot  string
		question wiring.Question
		asked    bool
	}{
		"nothing":            {nil, "Sallyport is asked before", "Beside what", wiring.Question{Verb: "get", Resource: "secrets"}, false},
		"ways into pods":     {[]client.Object{deny("p", `{verbs: ["*"], apiGroups: [""], resources: [pods/exec, pods/log]}`)}, "Sallyport is asked before", "Beside what", wiring.Question{Verb: "get", Resource: "secrets"}, false},
		"two about one":      {[]client.Object{deny("a", `{verbs: [get], apiGroups: [""], resources: [secrets]}`), deny("b", `{verbs: [list], apiGroups: [""], resources: [secrets]}`)}, "- get, list of secrets, for a, b", "everything", wiring.Question{Verb: "list", Resource: "secrets"}, true},
		"a pattern of verbs": {[]client.Object{deny("a", `{verbs: ["delete*"], apiGroups: [apps], resources: [deployments]}`)}, "- every verb of deployments.apps, for a", "everything", wiring.Question{Verb: "deletecollection", Group: "apps", Resource: "deployments"}, true},
		"subresources":       {[]client.Object{deny("a", `{verbs: [patch], apiGroups: [apps], resources: [deployments], subresources: [scale]}`)}, "- patch of deployments.apps/scale, for a", "everything", wiring.Question{Verb: "patch", Group: "apps", Resource: "deployments"}, false},
		"a pattern":          {[]client.Object{deny("a", `{verbs: [get], apiGroups: [""], resources: ["sec*"]}`)}, "- the DenyPolicy a is about resources by a pattern, sec*", "Beside", wiring.Question{Verb: "get", Group: "apps", Resource: "deployments"}, true},
		"any group":          {[]client.Object{deny("a", `{verbs: [get], apiGroups: ["*"], resources: [secrets]}`)}, "by a pattern, secrets.*", "Beside", wiring.Question{Verb: "get", Group: "apps", Resource: "deployments"}, true},
		"impersonating":      {[]client.Object{deny("a", `{verbs: [impersonate], apiGroups: [""], resources: [users]}`)}, "Sallyport is asked before", "Beside", wiring.Question{Verb: "impersonate", Resource: "users"}, true},
		"a group":            {[]client.Object{group}, "sessions of the BreakglassEscalation on-call give the rights of the group cluster-admins", "Beside", wiring.Question{Verb: "get", Group: "apps", Resource: "deployments"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs, _ := clitest.People(t, "", c.objects, "wiring", "--authorizer", "--server", "https://10.0.0.7:8443")
			if status != 0 || !strings.Contains(out, c.says) || strings.Contains(out, c.saysNot) {
				t.Fatalf("%d %s\n%s", status, errs, out)
			}
			c.question.User = "jane"
			if asked, err := wiring.Asks(read(t, out).Authorizers[0].Webhook, c.question); err != nil || asked != c.asked {
				t.Errorf("%+v is asked about: %v, %v", c.question, asked, err)
			}
		})
	}
}

// TestScope goes by what is said, and by no policy then.
func TestScope(t *testing.T) {
	secrets := wiring.Question{User: "jane", Verb: "get", Resource: "secrets"}
	for scope, want := range map[string]bool{"pods": false, "everything": true} {
		config, _ := authorizer(t, "--scope", scope, "--kubeconfig", "/nonexistent")
		if asked, err := wiring.Asks(config.Authorizers[0].Webhook, secrets); err != nil || asked != want {
			t.Errorf("%s: %v %v", scope, asked, err)
		}
	}
}

// TestFiles compares all that is written, by what the API server is started by.
func TestFiles(t *testing.T) {
	for name, args := range map[string]string{
		"authorizer":         "--authorizer --server https://10.0.0.7:8443 --scope pods",
		"authorizer-kubeadm": "--authorizer --server https://10.0.0.7:8443 --scope pods --for kubeadm --token --failure-policy NoOpinion --timeout 2s --exempt-user hub --cluster prod/eu",
		"authorizer-k3s":     "--authorizer --server https://10.0.0.7:8443/ --scope pods --for k3s --directory /srv/sallyport",
		"admission":          "--admission --server https://sallyport.guard.svc",
		"admission-kind":     "--admission --server https://sallyport.guard.svc:8443 --for kind",
		"admission-address":  "--admission --server https://10.0.0.7 --token",
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := clitest.Run(t, "", append([]string{"wiring"}, strings.Fields(args)...)...)
			if status != 0 {
				t.Fatalf("%d: %s", status, errs)
			}
			clitest.Compare(t, filepath.Join("testdata", name+".golden"), out)
		})
	}
}

// TestWrite puts the files where they are wanted, as they are written out otherwise, and leaves
// to write out what the API server is started by.
func TestWrite(t *testing.T) {
	args := []string{"wiring", "--admission", "--server", "https://sallyport.guard.svc", "--for", "kind"}
	_, all, _ := clitest.Run(t, "", args...)
	dir := filepath.Join(t.TempDir(), "new", "sallyport")
	status, out, errs := clitest.Run(t, "", append(args, "--write", dir)...)
	if status != 0 || !strings.Contains(errs, filepath.Join(dir, "admission-config.yaml")) {
		t.Fatalf("%d %s", status, errs)
	}
	text := ""
	for _, name := range []string{"admission-config.yaml", "admission-kubeconfig.yaml"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text += "---\n" + string(content)
	}
	if text+out != all || !strings.Contains(out, "kind: Cluster") {
		t.Errorf("%s\nwant %s", text+out, all)
	}
	if status, _, errs := clitest.Run(t, "", append(args, "--write", filepath.Join(dir, "admission-config.yaml"))...); status != 2 || !strings.Contains(errs, "--write") {
		t.Errorf("%d %s", status, errs)
	}
}

// TestRefused names the flag, and what would be right.
func TestRefused(t *testing.T) {
	const fine = "--server https://10.0.0.7:8443 "
	for args, want := range map[string]string{
		fine:                              "give one of --authorizer and --admission",
		fine + "--authorizer --admission": "give one of --authorizer and --admission",
		"--authorizer":                    "--server is missing",
		"--authorizer --server http://a":  `--server is "http://a"`,
		"--authorizer --server https://a/authorize":         `--server is "https://a/authorize"`,
		"--authorizer --server https://sallyport.guard.svc": "an authorizer does not use Services",
		fine + "--authorizer --for talos":                   `--for is "talos"; plain, kubeadm, kind, k3s is expected`,
		fine + "--authorizer --directory etc":               `--directory is "etc"`,
		fine + "--authorizer --scope some":                  `--scope is "some"`,
		fine + "--authorizer --failure-policy Ignore":       "Deny or NoOpinion is expected",
		fine + "--authorizer --timeout 1m":                  "--timeout is 1m",
		fine + "--authorizer --sallyport-namespace A":       `"A" is not the name of a namespace`,
		fine + "--authorizer --start-namespaces a,b' ":      "is not the name of a namespace",
		fine + "--authorizer -p x --kubeconfig y":           "policies are read from one of them",
		fine + "--authorizer -p /nonexistent":               "/nonexistent",
		fine + "--authorizer more":                          "more",
	} {
		status, out, errs := clitest.Run(t, "", append([]string{"wiring"}, strings.Fields(args)...)...)
		if status != 2 || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%s: %d %q %q, want %q", args, status, out, errs, want)
		}
	}
}
