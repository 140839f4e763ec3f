package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// requester is who asks, and as which groups beside those that the API server
// puts everybody into.
func (f *identityFixture) requester(l *identityLab, i int) (user string, groups []string) {
	if f.subject == "ServiceAccount" {
		return fmt.Sprintf("system:serviceaccount:%s:robot-%d", l.namespace, i), []string{"fixtures"}
	}
	return fmt.Sprintf("fixture-%d", i), []string{fmt.Sprintf("fixture-group-%d", i), "fixtures"}
}

// rbac is what gives the requester the fixture's rules.
func (f *identityFixture) rbac(i int) string {
	if f.rules == "" {
		return ""
	}
	subject := fmt.Sprintf("{apiGroup: rbac.authorization.k8s.io, kind: User, name: fixture-%d}", i)
	switch f.subject {
	case "Group":
		subject = fmt.Sprintf("{apiGroup: rbac.authorization.k8s.io, kind: Group, name: fixture-group-%d}", i)
	case "ServiceAccount":
		subject = fmt.Sprintf("{kind: ServiceAccount, name: robot-%d, namespace: NAMESPACE}", i)
	}
	kind, namespace := "ClusterRoleBinding", ""
	if f.inNamespace {
		kind, namespace = "RoleBinding", ", namespace: NAMESPACE"
	}
	return fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fixture-%d}
rules: %s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: %s
metadata: {name: fixture-%d%s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fixture-%d}
subjects: [%s]
`, i, f.rules, kind, i, namespace, i, subject)
}

// TestIdentityFixtures has the lab and the command line judge the same objects,
// RBAC and requests.
func TestIdentityFixtures(t *testing.T) {
	l := newIdentityLabWith(t, identityOptions{sources: fixtureSources, objects: fixtureRoles})
	var rbac strings.Builder
	for i := range identityFixtures {
		rbac.WriteString(identityFixtures[i].rbac(i))
	}
	last := identityFixture{rules: "[" + useKerberos + "]"}
	rbac.WriteString(last.rbac(len(identityFixtures)))
	l.given(rbac.String())
	t.Cleanup(func() {
		names := []string{"delete", "clusterroles,clusterrolebindings", "--ignore-not-found"}
		for i := range len(identityFixtures) + 1 {
			names = append(names, fmt.Sprintf("fixture-%d", i))
		}
		shared.Kubectl(context.WithoutCancel(t.Context()), root, names...)
	})
	// RBAC sees roles, and bindings, in the order in which they were written.
	l.awaitUse(fmt.Sprintf("fixture-%d", len(identityFixtures)), kerberosKey, kerberosValue)
	l.runningPods(fixturePods, "app", "one", "plain", "paid")

	files := t.TempDir()
	for name, content := range map[string]string{"sources": fixtureSources, "roles": fixtureRoles, "rbac": rbac.String(), "pods": strings.ReplaceAll(fixturePods, "metadata: {", "metadata: {namespace: NAMESPACE, ")} {
		write(t, filepath.Join(files, name+".yaml"), l.inside(content))
	}
	for i := range identityFixtures {
		f := &identityFixtures[i]
		l.run(f.name, func(l *identityLab) {
			l.run("lab", func(l *identityLab) {
				want(l.T, f.inLab(l, i), f.want, l.expected(f)...)
			})
			l.run("files", func(l *identityLab) {
				out, code := f.fromFiles(l, i, files)
				if code != map[bool]int{true: 0, false: 1}[f.want] {
					l.Fatalf("exit status %d\n%s", code, out)
				}
				for _, text := range l.expected(f) {
					if !strings.Contains(out, text) {
						l.Errorf("it does not say %q:\n%s", text, out)
					}
				}
			})
		})
	}
}

// expected is what the fixture's refusal says, in this namespace.
func (l *identityLab) expected(f *identityFixture) []string {
	texts := make([]string, len(f.says))
	for i, text := range f.says {
		texts[i] = l.inside(text)
	}
	return texts
}

// inLab makes the fixture's request. What is written is written in a dry run.
func (f *identityFixture) inLab(l *identityLab, i int) lab.Result {
	user, groups := f.requester(l, i)
	switch {
	case f.exec != "":
		args := []string{"exec", "-n", l.namespace, f.exec, "--as", user}
		for _, group := range accountGroups(user, groups) {
			args = append(args, "--as-group", group)
		}
		return l.bounded(lab.Kubectl{User: root, Args: append(args, "--", "echo", "inside")})
	case f.old != "":
		l.given(f.old)
		return l.as(user, groups, f.object, "apply", "--server-side", "--force-conflicts", "--dry-run=server")
	}
	return l.as(user, groups, f.object, "create", "--dry-run=server")
}

// fromFiles has the command line judge the fixture.
func (f *identityFixture) fromFiles(l *identityLab, i int, files string) (output string, code int) {
	user, groups := f.requester(l, i)
	dir := l.TempDir()
	object := filepath.Join(dir, "object.yaml")
	write(l.T, object, l.inside(f.object))
	args := []string{"check", "-p", files, "-n", l.namespace}
	switch {
	case f.exec != "":
		args = []string{"access", "exec", l.namespace + "/" + f.exec, "-p", files}
	case f.old != "":
		old := filepath.Join(dir, "old.yaml")
		write(l.T, old, l.inside(f.old))
		args = append(args, "--operation", "UPDATE", "--old", old, object)
	default:
		args = append(args, object)
	}
	args = append(args, "--as", user)
	for _, group := range append(accountGroups(user, groups), "system:authenticated") {
		args = append(args, "--as-group", group)
	}
	out, err := exec.CommandContext(l.Context(), binary, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return "sallyport " + strings.Join(args, " ") + "\n" + string(out), code
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
