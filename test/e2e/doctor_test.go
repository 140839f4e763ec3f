package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/controller/doctor"
	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
	"github.com/sallyport-io/sallyport/test/lab"
)

// installation is a control plane of its own with a Sallyport at both doors, and somebody
// who may look at it and nothing else.
type installation struct {
	*testing.T
	lab *lab.Lab
	s   *lab.Sallyport
}

const looker = "looker"

// doctorNamespace keeps the Leases.
const doctorNamespace = "sallyport-system"

const doctorPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: doctor-baseline}
spec: {rules: [{name: baseline, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}]}
---
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: doctor-exec}
spec: {podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy]}}}
`

// sound starts an installation in which nothing is to be found.
func sound(t *testing.T) *installation {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	repository, err := lab.Root()
	if err != nil {
		t.Fatal(err)
	}
	l, err := startLab(t.Context(), lab.Options{Users: []lab.User{{Name: looker}, {Name: alice}, {Name: bob}}, CRDs: []string{filepath.Join(repository, "config", "crd")}})
	if err != nil {
		t.Fatal(err)
	}
	i := &installation{t, l, nil}
	t.Cleanup(func() { i.must(l.Stop()) })
	i.must(l.CreateNamespace(t.Context(), doctorNamespace, nil))
	role, err := os.ReadFile(filepath.Join(repository, "config", "rbac", "people", "doctor.yaml"))
	i.must(err)
	rules, err := os.ReadFile(filepath.Join(repository, "config", "wiring", "ruleswebhookconfigurations.yaml"))
	i.must(err)
	i.must(l.Apply(t.Context(), strings.Join([]string{lab.SallyportLeases(doctorNamespace), string(role), bindLooker, string(rules)}, "\n---\n")))
	i.s, err = l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Args: []string{"--leader-election-namespace", doctorNamespace}})
	i.must(err)
	second, err := l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "second", Args: []string{"--leader-election-namespace", doctorNamespace}})
	i.must(err)
	t.Cleanup(func() { i.must(second.Stop()); i.must(i.s.Stop()) })
	i.must(l.WireAccess(t.Context(), i.s, wiring.Authorizer{}))
	i.must(l.WireAdmission(t.Context(), i.s, nil))
	i.must(l.Apply(t.Context(), doctorPolicies))
	return i
}

const bindLooker = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: looker}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-doctor}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: looker}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: looker-canary}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-doctor-canary}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: looker}]
`

func (i *installation) must(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

// run runs doctor as a user.
func (i *installation) run(user string, args ...string) (stdout, stderr string, status int) {
	i.Helper()
	kubeconfig, err := i.lab.Kubeconfig(i.Context(), user)
	i.must(err)
	cmd := exec.CommandContext(i.Context(), quick, append([]string{"doctor", "--kubeconfig", kubeconfig, "--account", lab.SallyportUser}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		i.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// look runs doctor and reads what it found.
func (i *installation) look(user string, args ...string) (*doctor.Report, int) {
	i.Helper()
	stdout, stderr, status := i.run(user, append(args, "-o", "json")...)
	report := &doctor.Report{}
	if err := json.Unmarshal([]byte(stdout), report); err != nil {
		i.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	return report, status
}

// found lists what is not well, a line each.
func found(report *doctor.Report) []string {
	var all []string
	for _, f := range report.Checks {
		if f.Status != doctor.OK {
			all = append(all, fmt.Sprintf("%s %s %s %s: %s", f.Status, f.Name, f.Object, f.Path, f.Message))
		}
	}
	return all
}

// authorization is the file that the API server goes by.
func (i *installation) authorization() string { return filepath.Join(i.lab.Dir, "authorization.yaml") }

// finds waits until doctor says something, with a status.
func (i *installation) finds(says string, status int, args ...string) {
	i.Helper()
	eventually(i.T, func() string {
		report, got := i.look(looker, args...)
		all := found(report)
		if got != status || !slices.ContainsFunc(all, func(line string) bool { return strings.Contains(line, says) }) {
			return fmt.Sprintf("exit status %d, want %d; want %q among\n%s", got, status, says, strings.Join(all, "\n"))
		}
		return ""
	})
}

// changed changes the configuration that judges, until the test ends.
func (i *installation) changed(t *testing.T, change func(*admissionregistrationv1.ValidatingWebhookConfiguration)) {
	t.Helper()
	hooks := i.lab.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	live, err := hooks.Get(t.Context(), "sallyport", metav1.GetOptions{})
	i.must(err)
	before := live.DeepCopy().Webhooks
	change(live)
	_, err = hooks.Update(t.Context(), live, metav1.UpdateOptions{})
	i.must(err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		live, err := hooks.Get(ctx, "sallyport", metav1.GetOptions{})
		i.must(err)
		live.Webhooks = before
		_, err = hooks.Update(ctx, live, metav1.UpdateOptions{})
		i.must(err)
	})
}

// webhook is one by its name.
func webhook(c *admissionregistrationv1.ValidatingWebhookConfiguration, name string) *admissionregistrationv1.ValidatingWebhook {
	at := slices.IndexFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == name })
	return &c.Webhooks[at]
}

// seeded applies a manifest until the test ends.
func (i *installation) seeded(t *testing.T, manifest string) {
	t.Helper()
	i.must(i.lab.Apply(t.Context(), manifest))
	t.Cleanup(func() {
		k := i.lab.Run(context.WithoutCancel(t.Context()), lab.Kubectl{User: root, Args: []string{"delete", "--ignore-not-found", "-f", "-"}, Stdin: strings.NewReader(manifest)})
		if !k.OK() {
			t.Error(k)
		}
	})
}

// TestDoctor finds nothing where all is sound, and each fault that is seeded.
func TestDoctor(t *testing.T) {
	t.Parallel()
	i := sound(t)
	clean := func() {
		t.Helper()
		eventually(t, func() string {
			report, status := i.look(looker, "--authorization-config", i.authorization())
			if all := found(report); len(all) > 0 || status != 0 {
				return fmt.Sprintf("exit status %d:\n%s", status, strings.Join(all, "\n"))
			}
			return ""
		})
	}
	clean()
	for _, c := range []struct {
		name   string
		change func(*admissionregistrationv1.ValidatingWebhookConfiguration)
		says   string
		status int
	}{
		{"a * for subresources", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			webhook(c, "access.sallyport.io").Rules[0].Resources = []string{"*"}
		}, "fail webhooks.rules webhook access.sallyport.io of sallyport", 1},
		{"ways into pods that are not asked about", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			webhook(c, "access.sallyport.io").Rules[0].Resources = []string{"pods/exec"}
		}, "warn doors.ways  : pods/attach is asked about by the authorizer only", 1},
		{"an objectSelector on CONNECT", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			webhook(c, "access.sallyport.io").ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}}
		}, "webhooks[10].objectSelector: guarded=yes: rule 0 is about CONNECT", 1},
		{"a webhook that is taken out", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks = slices.DeleteFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == "tokens.sallyport.io" })
		}, "fail webhooks.shipped  : CREATE of serviceaccounts/token: no webhook asks", 1},
		{"a webhook that lets in", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			webhook(c, "templates.sallyport.io").FailurePolicy = new(admissionregistrationv1.Ignore)
		}, "warn webhooks.failure-policy  failurePolicy: while Sallyport cannot be asked, this is let in: templates.sallyport.io", 0},
		{"one of own kinds that lets in", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			webhook(c, "sessions.sallyport.io").FailurePolicy = new(admissionregistrationv1.Ignore)
		}, "fail webhooks.failure-policy webhook sessions.sallyport.io of sallyport", 1},
		{"a time-out that is too long", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			webhook(c, "access.sallyport.io").TimeoutSeconds = new(int32(30))
		}, "the API server waits 30 s", 0},
		{"a namespace that is left out", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			for j := range c.Webhooks {
				if s := c.Webhooks[j].NamespaceSelector; s != nil && len(s.MatchExpressions) > 0 {
					s.MatchExpressions[0].Values = append(s.MatchExpressions[0].Values, "tenant")
				}
			}
		}, "warn webhooks.exempt-namespaces Namespace tenant", 0},
		{"another CA than that of the certificate", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			other := caOf(t)
			for j := range c.Webhooks {
				if c.Webhooks[j].ClientConfig.CABundle != nil {
					c.Webhooks[j].ClientConfig.CABundle = other
				}
			}
		}, "the CA that webhooks trust does not vouch for the certificate", 1},
		{"no CA", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			webhook(c, "exceptions.sallyport.io").ClientConfig.CABundle = nil
		}, "fail webhooks.answered  : a webhook does not reach Sallyport", 1},
		{"what an uninstalled one left", func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			for j := range c.Webhooks {
				if c.Webhooks[j].ClientConfig.CABundle != nil {
					c.Webhooks[j].ClientConfig = admissionregistrationv1.WebhookClientConfig{CABundle: c.Webhooks[j].ClientConfig.CABundle, Service: &admissionregistrationv1.ServiceReference{Namespace: doctorNamespace, Name: "sallyport"}}
				}
			}
		}, "fail webhooks.service Service sallyport-system/sallyport : webhooks lead to it, and it is not there", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			i.changed(t, c.change)
			i.on(t).finds(c.says, c.status)
		})
	}
	for _, c := range []struct{ name, manifest, says string }{
		{"somebody who may do everything approves", bindAlice("cluster-admin"), "warn people.approve User alice : may approve exceptions to every policy, by a *"},
		{"somebody who may do everything weakens", bindAlice("cluster-admin"), "warn people.weaken User alice : may change or delete the webhooks; take definitions of policies away"},
		{"somebody who may be a master", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: doctor-masks}\nrules: [{apiGroups: [\"\"], resources: [groups], verbs: [impersonate]}]\n---\n" + bindAlice("doctor-masks"), "warn people.masters User alice : may impersonate system:masters"},
		{"a right too many", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: doctor-more}\nrules: [{apiGroups: [\"\"], resources: [secrets], verbs: [list]}]\n---\n" + strings.Replace(bindAlice("doctor-more"), "name: alice}]", "name: "+lab.SallyportUser+"}]", 1), "warn rights.superfluous ClusterRoleBinding doctor-alice"},
		{"a policy about no namespace that there is", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: doctor-nothing}\nspec: {rules: [{verbs: [create], apiGroups: [\"\"], resources: [pods/exec], namespaces: {patterns: [not-there]}}]}\n", "warn policies.match-nothing DenyPolicy doctor-nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i.seeded(t, c.manifest)
			i.on(t).finds(c.says, 0)
		})
	}
	t.Run("a policy about a kind that is not there", func(t *testing.T) {
		i.seeded(t, strings.NewReplacer("NAME", "doctor-gizmo", "[Pod]", "[DoctorGizmo]").Replace(followedPods))
		i.on(t).finds("fail policies.enforced ClusterPolicy doctor-gizmo status.conditions: KindUnknown", 1)
	})
	t.Run("a right that was taken away", func(t *testing.T) {
		roles := i.lab.Client.RbacV1().ClusterRoles()
		role, err := roles.Get(t.Context(), "sallyport", metav1.GetOptions{})
		i.must(err)
		before := role.DeepCopy().Rules
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "events") })
		_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
		i.must(err)
		i.on(t).finds("fail rights.missing user sallyport : it lacks: create events, patch events", 1)
		role, err = roles.Get(t.Context(), "sallyport", metav1.GetOptions{})
		i.must(err)
		role.Rules = before
		_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
		i.must(err)
	})
	t.Run("an authorizer that keeps answers", func(t *testing.T) {
		content, err := os.ReadFile(i.authorization())
		i.must(err)
		kept := strings.NewReplacer("cacheUnauthorizedRequests: false", "cacheUnauthorizedRequests: true", "unauthorizedTTL: 1s", "unauthorizedTTL: 1m0s", "failurePolicy: Deny", "failurePolicy: NoOpinion").Replace(string(content))
		i.must(i.lab.SetAuthorization(t.Context(), kept))
		i.on(t).finds("fail doors.authorizer-cache AuthorizationConfiguration", 1)
		i.on(t).finds("webhook.cacheUnauthorizedRequests: answers are kept", 1, "--authorization-config", i.authorization())
		i.on(t).finds("webhook.failurePolicy: NoOpinion", 1, "--authorization-config", i.authorization())
		i.must(i.lab.SetAuthorization(t.Context(), string(content)))
	})
	t.Run("no authorizer", func(t *testing.T) {
		i.must(i.lab.UnwireAccess(t.Context()))
		i.on(t).finds("warn doors.authorizer  : the API server's authorizer does not ask Sallyport. Not covered are: pods/log", 0)
		i.must(i.lab.WireAccess(t.Context(), i.s, wiring.Authorizer{}))
	})
	clean()
	t.Run("nobody may look", func(t *testing.T) {
		report, status := i.look(alice)
		if status != 2 || !report.Incomplete || report.Summary.Problem > 0 || !strings.Contains(strings.Join(found(report), "\n"), "skip webhooks.rules  : the webhooks are not known") {
			t.Errorf("exit status %d:\n%s", status, strings.Join(found(report), "\n"))
		}
	})
	t.Run("a master looks", func(t *testing.T) {
		report, status := i.look(root)
		if !strings.Contains(strings.Join(found(report), "\n"), "warn people.masters User admin : you are a member") || status != 0 {
			t.Errorf("exit status %d:\n%s", status, strings.Join(found(report), "\n"))
		}
	})
	t.Run("before installing", func(t *testing.T) {
		report, status := i.look(looker, "--pre")
		all := strings.Join(found(report), "\n")
		for _, says := range []string{"fail pre.rights User looker", "warn pre.webhooks ValidatingWebhookConfiguration sallyport "} {
			if !strings.Contains(all, says) || status != 1 {
				t.Errorf("exit status %d, want %q among:\n%s", status, says, all)
			}
		}
	})
	i.wayOut()
}

// on reports to a test below.
func (i *installation) on(t *testing.T) *installation { return &installation{t, i.lab, i.s} }

func bindAlice(role string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: doctor-alice}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]\n"
}

// caOf is a CA that vouches for nothing there is.
func caOf(t *testing.T) []byte {
	t.Helper()
	pair, err := selfsigned.New([]string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return pair.CA
}

// wayOut has the cluster work again where Sallyport keeps it from working, and puts it
// back.
func (i *installation) wayOut() {
	pod := func(name string) lab.Result {
		return i.lab.Run(i.Context(), lab.Kubectl{User: root, Args: []string{"run", name, "--image=registry.example.com/web:1", "--dry-run=server"}})
	}
	undo := filepath.Join(i.TempDir(), "undo.yaml")
	if _, stderr, status := i.run(root, "--repair", "--yes", "--undo-file", undo); status != 2 || !strings.Contains(stderr, "nothing was changed: Sallyport answers") {
		i.Fatalf("exit status %d: %s", status, stderr)
	}
	i.s.Kill()
	<-i.s.Done()
	i.finds("fail webhooks.answered", 1)
	if r := pod("refused"); r.OK() {
		i.Fatalf("%s", r)
	}
	stdout, stderr, status := i.run(root, "--repair")
	if status != 0 || !strings.Contains(stdout, "pods.sallyport.io: failurePolicy: Ignore, in place of Fail") || !strings.Contains(stdout, "Nothing was changed.") || strings.Contains(stdout, "sessions.sallyport.io") {
		i.Fatalf("exit status %d: %s%s", status, stdout, stderr)
	}
	if r := pod("refused"); r.OK() {
		i.Fatalf("it was changed: %s", r)
	}
	stdout, stderr, status = i.run(root, "--repair", "--yes", "--undo-file", undo)
	if status != 0 || !strings.Contains(stdout, "done: ValidatingWebhookConfiguration sallyport\n") || !strings.Contains(stdout, "To put it back: kubectl apply") {
		i.Fatalf("exit status %d: %s%s", status, stdout, stderr)
	}
	eventually(i.T, func() string {
		if r := pod("let-in"); !r.OK() {
			return r.String()
		}
		return ""
	})
	if _, stderr, status := i.run(root, "--repair=delete", "--yes", "--undo-file", undo); status != 2 || !strings.Contains(stderr, "is there already") {
		i.Fatalf("exit status %d: %s", status, stderr)
	}
	i.must(i.s.Start(i.Context()))
	if r := i.lab.Kubectl(i.Context(), root, "apply", "--server-side", "--force-conflicts", "-f", undo); !r.OK() {
		i.Fatalf("%s", r)
	}
	eventually(i.T, func() string {
		report, status := i.look(looker, "--authorization-config", i.authorization())
		if all := found(report); len(all) > 0 || status != 0 {
			return strings.Join(all, "\n")
		}
		return ""
	})
	i.s.Kill()
	<-i.s.Done()
	second := filepath.Join(i.TempDir(), "undo.yaml")
	if stdout, stderr, status := i.run(root, "--repair=delete", "--yes", "--undo-file", second); status != 0 || !strings.Contains(stdout, "left alone: ValidatingWebhookConfiguration sallyport: webhook probe-") {
		i.Fatalf("exit status %d: %s%s", status, stdout, stderr)
	}
	i.must(i.s.Start(i.Context()))
}
