package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// TestIdentityValues are values that cannot be a name in a review. Root is refused
// as well, who may use everything.
func TestIdentityValues(t *testing.T) {
	l := newIdentityLab(t)
	l.runningPods(podOf("plain", noClaim), "plain")
	for _, tt := range []struct {
		name, value string
		ok          bool
	}{
		{"empty", ``, false},
		{"a slash", `legacy/app`, false},
		{"a slash at the end", `legacy-frontend-app/`, false},
		{"a line break", `legacy\napp`, false},
		{"a tab", `legacy\tapp`, false},
		{"a null byte", `legacy\u0000app`, false},
		{"a delete character", `legacy\u007fapp`, false},
		{"254 bytes", strings.Repeat("a", 254), false},
		{"254 bytes in 127 letters", strings.Repeat("ä", 127), false},
		{"253 bytes", strings.Repeat("a", 253), true},
		{"letters", "ä", true},
	} {
		l.run(tt.name, func(l *identityLab) {
			annotations := fmt.Sprintf(`{kerberos: "%s"}`, tt.value)
			for _, user := range []string{root, holder} {
				for _, manifest := range []string{podOf("odd", annotations), workloadOf("Deployment").of("odd", annotations), workloadOf("CronJob").of("odd", annotations)} {
					r := l.feed(user, manifest, "create", "--dry-run=server")
					if tt.ok && user == root {
						l.allowed(r)
						continue
					}
					l.refused(r, kerberosKey)
				}
			}
		})
	}
}

// TestIdentityOtherSpellings keeps claims apart that look alike.
func TestIdentityOtherSpellings(t *testing.T) {
	l := newIdentityLab(t)
	for _, value := range []string{"Legacy-Frontend-App", "LEGACY-FRONTEND-APP", "legacy-frontend-app ", " legacy-frontend-app", "legacy-frontend-app.", "*", "legacy-frontend-ap", "ｌegacy-frontend-app"} {
		l.run(fmt.Sprintf("value %q", value), func(l *identityLab) {
			annotations := fmt.Sprintf("{kerberos: %q}", value)
			l.refused(l.feed(holder, podOf("a", annotations), "create", "--dry-run=server"), kerberosKey)
			l.refused(l.feed(employee, podOf("a", annotations), "create", "--dry-run=server"), kerberosKey)
		})
	}
	// They are annotations that no source reads.
	for i, key := range []string{"Kerberos", "KERBEROS", "example.com/kerberos"} {
		l.run("key "+key, func(l *identityLab) {
			l.allowed(l.feed(employee, podOf(fmt.Sprintf("key-%d", i), fmt.Sprintf("{%s: legacy-frontend-app}", key)), "create"))
		})
	}
	l.run("one key beside the other", func(l *identityLab) {
		l.refused(l.feed(employee, podOf("two", "{Kerberos: other, kerberos: legacy-frontend-app}"), "create"), kerberosKey, kerberosValue)
	})
	// The API server takes no such key.
	l.run("a space behind the key", func(l *identityLab) {
		l.refused(l.feed(employee, podOf("space", `{"kerberos ": legacy-frontend-app}`), "create"), "kerberos ")
	})
}

// TestIdentitySourcesOfOneKey refuses a second source with the key of another.
func TestIdentitySourcesOfOneKey(t *testing.T) {
	l := newIdentityLab(t)
	l.refused(l.feed(root, sourceOf("another", "{key: kerberos, podAnnotation: {name: example.com/other}}"), "create"), "spec.key", "IdentitySource kerberos")
	l.refused(l.feed(employee, podOf("a", kerberos), "create"), kerberosKey, kerberosValue)
	l.allowed(l.feed(employee, podOf("b", "{example.com/other: a}"), "create"))
}

// TestIdentityWrites are the ways to write an object, each judged as its result.
func TestIdentityWrites(t *testing.T) {
	l := newIdentityLab(t)
	deployment := workloadOf("Deployment")
	l.given(stopped(deployment, "web", noClaim) + podOf("plain", noClaim))
	exists := func(l *identityLab, object string) bool {
		return l.do(root, "get", object).OK()
	}
	l.run("generateName", func(l *identityLab) {
		pod := strings.Replace(podOf("GENERATED", kerberos), "name: GENERATED", "generateName: many-", 1)
		l.refused(l.feed(employee, pod, "create"), kerberosKey, kerberosValue)
		l.allowed(l.feed(holder, pod, "create"))
		web := strings.Replace(stopped(deployment, "many", kerberos), "metadata: {name: many}", "metadata: {generateName: many-}", 1)
		l.refused(l.feed(employee, web, "create"), kerberosKey, kerberosValue)
		l.allowed(l.feed(holder, web, "create"))
	})
	l.run("server-side apply", func(l *identityLab) {
		for _, manifest := range []string{podOf("applied", kerberos), stopped(deployment, "applied", kerberos), stopped(deployment, "web", kerberos), podOf("plain", kerberos)} {
			l.refused(l.feed(employee, manifest, "apply", "--server-side", "--force-conflicts"), kerberosKey)
		}
		l.allowed(l.feed(holder, podOf("applied", kerberos), "apply", "--server-side"))
		// A manager that owns nothing but the claim.
		claim := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {metadata: {annotations: " + kerberos + "}}}}"
		l.refused(l.feed(employee, claim, "apply", "--server-side", "--field-manager=other", "--validate=false"), kerberosKey)
		if exists(l, "deployment/applied") {
			l.Error("what was refused is there")
		}
	})
	l.run("patches", func(l *identityLab) {
		for kind, patch := range map[string]string{
			"merge":     deployment.claimPatch(kerberosKey, kerberosValue),
			"strategic": deployment.claimPatch(kerberosKey, kerberosValue),
			"json":      `[{"op":"add","path":"/spec/template/metadata/annotations","value":{"kerberos":"legacy-frontend-app"}}]`,
		} {
			l.refused(l.do(employee, "patch", "deployment", "web", "--type="+kind, "-p", patch), kerberosKey, kerberosValue)
		}
		l.refused(l.feed(employee, stopped(deployment, "web", kerberos), "replace"), kerberosKey)
		l.refused(l.feed(employee, stopped(deployment, "web", kerberos), "apply"), kerberosKey)
		// A claim that is moved from one place of a JSON patch to another.
		moved := `[{"op":"add","path":"/metadata/annotations","value":{"kerberos":"legacy-frontend-app"}},{"op":"copy","from":"/metadata/annotations","path":"/spec/template/metadata/annotations"}]`
		l.refused(l.do(employee, "patch", "deployment", "web", "--type=json", "-p", moved), kerberosKey)
	})
	l.run("dry run", func(l *identityLab) {
		dry := func(user, manifest string) lab.Result {
			return l.feed(user, manifest, "create", "--dry-run=server")
		}
		l.refused(dry(employee, podOf("dry", kerberos)), kerberosKey, kerberosValue)
		l.refused(dry(employee, stopped(deployment, "dry", kerberos)), kerberosKey, kerberosValue)
		l.refused(l.do(employee, "patch", "deployment", "web", "--dry-run=server", "-p", deployment.claimPatch(kerberosKey, kerberosValue)), kerberosKey)
		l.allowed(dry(holder, podOf("dry", kerberos)))
		l.allowed(dry(holder, stopped(deployment, "dry", kerberos)))
		l.allowed(l.do(holder, "patch", "deployment", "web", "--dry-run=server", "-p", deployment.claimPatch(kerberosKey, kerberosValue)))
		if exists(l, "pod/dry") || exists(l, "deployment/dry") {
			l.Error("a dry run made an object")
		}
		// What was judged in a dry run has been judged for nobody else.
		l.refused(l.feed(employee, podOf("dry", kerberos), "create"), kerberosKey)
		l.refused(l.feed(employee, stopped(deployment, "dry", kerberos), "create"), kerberosKey)
		l.refused(l.do(employee, "patch", "deployment", "web", "-p", deployment.claimPatch(kerberosKey, kerberosValue)), kerberosKey)
	})
	l.run("a change with kubectl edit", func(l *identityLab) {
		r := l.bounded(lab.Kubectl{
			User: employee, Env: []string{`KUBE_EDITOR=sed -i "s/      labels:/      annotations: {kerberos: legacy-frontend-app}\n      labels:/"`},
			Args: []string{"edit", "-n", l.namespace, "deployment", "web"},
		})
		l.refused(r, kerberosKey)
	})
}
