package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// cronLimit is longer than it takes a CronJob of every minute to start.
const cronLimit = 100 * time.Second

// awaitPods waits until pods labelled app=APP run, all with this value of the
// claim kerberos.
func (l *identityLab) awaitPods(app, value string) {
	l.Helper()
	limit := waitLimit
	if app == "cronjob" {
		limit = cronLimit
	}
	eventuallyWithin(l.T, limit, func() string {
		r := l.do(root, "get", "pods", "-l", "app="+app, "-o", `jsonpath={range .items[*]}{.status.phase} {.metadata.annotations.kerberos}{"\n"}{end}`)
		for line := range strings.Lines(r.Stdout) {
			if strings.TrimSuffix(line, "\n") != "Running "+value {
				return fmt.Sprintf("pods of %s, want Running %s: %s", app, value, r)
			}
		}
		if !r.OK() || r.Stdout == "" {
			return fmt.Sprintf("no pods of %s: %s\n%s", app, r, l.do(root, "get", "events", "-o", `jsonpath={range .items[*]}{.involvedObject.kind} {.involvedObject.name}: {.message}{"\n"}{end}`).Stdout)
		}
		return ""
	})
}

// TestIdentityWorkloads are the rows about workloads of the table of operations.
// The real controller manager makes what they ask for.
func TestIdentityWorkloads(t *testing.T) {
	l := newIdentityLab(t)
	for _, w := range workloads {
		l.run("create "+w.kind, func(l *identityLab) {
			l.refused(l.feed(employee, w.of("refused", kerberos), "create"), kerberosKey, kerberosValue)
			l.refused(l.feed(halfHolder, w.of("refused", bothClaims), "create"), gcpKey, gcpValue)
			l.allowed(l.feed(employee, w.of("plain", noClaim), "create"))
			l.allowed(l.feed(holder, w.of(w.resource(), bothClaims), "create"))
			// The claims of a workload are those of its template.
			own := strings.Replace(w.of("own", noClaim), "{name: own}", "{name: own, annotations: "+bothClaims+"}", 1)
			l.allowed(l.feed(employee, own, "create"))
			l.allowed(l.do(employee, "delete", w.resource(), "own", "plain", "--wait=false"))
		})
	}
	for _, w := range workloads {
		if w.controlled {
			l.run("pods of a "+w.kind, func(l *identityLab) { l.awaitPods(w.resource(), kerberosValue) })
		}
	}
	for _, w := range workloads {
		l.run("update "+w.kind, func(l *identityLab) { l.updates(w) })
	}
	l.run("the employee gets into none of their pods", func(l *identityLab) {
		for _, target := range []string{"deployment/deployment", "statefulset/statefulset", "daemonset/daemonset"} {
			l.refused(l.exec(employee, target), kerberosKey)
		}
	})
}

// restarted wants a restart to be allowed. kubectl lets there be one a second.
func (l *identityLab) restarted(user, target string) {
	l.Helper()
	eventually(l.T, func() string {
		r := l.do(user, "rollout", "restart", target)
		if strings.Contains(r.Stderr, "within the past second") {
			return r.String()
		}
		l.allowed(r)
		return ""
	})
}

// updates changes a workload in the ways that the table of operations tells
// apart.
func (l *identityLab) updates(w workload) {
	name := w.resource() + "-u"
	patch := func(l *identityLab, user, change string, ok bool, says ...string) {
		l.Helper()
		want(l.T, l.do(user, "patch", w.resource(), name, "--type=merge", "-p", change), ok, says...)
	}
	// One that does not run is as good, and a Job's template can change.
	manifest := w.of(name, bothClaims)
	switch {
	case w.kind == "Job":
		manifest = strings.Replace(manifest, "spec: {", "spec: {suspend: true, ", 1)
	case w.kind == "CronJob":
		manifest = strings.Replace(manifest, "spec: {", "spec: {suspend: true, ", 1)
	case w.scales:
		manifest = strings.Replace(manifest, "replicas: 1", "replicas: 0", 1)
	}
	l.given(manifest)

	l.run("labels and annotations of its own", func(l *identityLab) {
		l.allowed(l.do(employee, "label", w.resource(), name, "team=blue"))
		l.allowed(l.do(employee, "annotate", w.resource(), name, "kerberos=legacy-frontend-app"))
	})
	if w.scales {
		l.run("scale", func(l *identityLab) {
			l.allowed(l.do(employee, "scale", w.resource(), name, "--replicas=1"))
			l.awaitPods(name, kerberosValue)
			l.allowed(l.do(employee, "scale", w.resource(), name, "--replicas=0"))
		})
	}
	if w.kind != "Job" {
		l.run("image", func(l *identityLab) {
			patch(l, employee, w.imagePatch("evil:1"), false, kerberosKey, gcpKey)
			patch(l, halfHolder, w.imagePatch("evil:1"), false, gcpKey, gcpValue)
			patch(l, holder, w.imagePatch("good:1"), true)
		})
	}
	if w.restarts {
		l.run("rollout restart", func(l *identityLab) {
			l.refused(l.do(employee, "rollout", "restart", w.resource()+"/"+name), kerberosKey)
			l.restarted(holder, w.resource()+"/"+name)
		})
	}
	l.run("another value", func(l *identityLab) {
		patch(l, holder, w.claimPatch(kerberosKey, "other"), false, kerberosKey, "other")
	})
	l.run("removing a claim", func(l *identityLab) {
		patch(l, employee, w.claimPatch(gcpKey, "null"), true)
		patch(l, employee, w.claimPatch(kerberosKey, "null"), true)
	})
	if w.kind != "Job" {
		l.run("image without a claim", func(l *identityLab) { patch(l, employee, w.imagePatch("any:1"), true) })
	}
	if w.restarts {
		l.run("rollout restart without a claim", func(l *identityLab) {
			l.restarted(employee, w.resource()+"/"+name)
		})
	}
	l.run("adding a claim", func(l *identityLab) {
		patch(l, employee, w.claimPatch(kerberosKey, kerberosValue), false, kerberosKey, kerberosValue)
		patch(l, halfHolder, w.claimPatch(kerberosKey, kerberosValue), true)
	})
	l.do(root, "delete", w.resource(), name, "--wait=false")
}

// TestIdentityCustomKind registers a kind of somebody else's with the API server:
// what stands in its template is claimed like anywhere.
func TestIdentityCustomKind(t *testing.T) {
	if err := shared.Apply(t.Context(), rolloutDefinition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "delete", "crd", "rollouts.argoproj.io", "--wait=false")
			return nil
		})
	})
	want(t, shared.Kubectl(t.Context(), root, "wait", "--for=condition=Established", "--timeout=60s", "crd/rollouts.argoproj.io"), true)
	l := newIdentityLab(t)
	l.run("create", func(l *identityLab) {
		l.refused(l.feed(employee, rollout.of("a", kerberos), "create"), kerberosKey, kerberosValue)
		l.refused(l.feed(halfHolder, rollout.of("a", bothClaims), "create"), gcpKey, gcpValue)
		l.allowed(l.feed(employee, rollout.of("plain", noClaim), "create"))
		l.allowed(l.feed(holder, rollout.of("a", bothClaims), "create"))
	})
	l.run("update", func(l *identityLab) { l.updates(rollout) })
	l.run("a pod that says it is made by one", func(l *identityLab) {
		uid := l.get("rollout/a", "{.metadata.uid}")
		l.refused(l.feed(employee, ownedPod("forged", kerberos, owner{"argoproj.io/v1alpha1", "Rollout", "a", uid, true}), "create"), kerberosKey)
	})
}

// TestIdentityRolloutHistory goes back to a template that has been judged for
// somebody else.
func TestIdentityRolloutHistory(t *testing.T) {
	l := newIdentityLab(t)
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		w := workloadOf(kind)
		l.run("undo of a "+kind, func(l *identityLab) {
			name := w.resource()
			l.allowed(l.feed(holder, w.of(name, bothClaims), "create"))
			l.await("roll", root, "rollout", "status", w.resource()+"/"+name, "--timeout=30s")
			l.allowed(l.do(employee, "patch", w.resource(), name, "--type=merge", "-p", w.templatePatch(`{"metadata": {"annotations": null}}`)))
			l.await("app", root, "rollout", "history", w.resource()+"/"+name, "--revision=2")
			l.refused(l.do(employee, "rollout", "undo", w.resource()+"/"+name), kerberosKey)
			l.allowed(l.do(holder, "rollout", "undo", w.resource()+"/"+name))
		})
	}
}
