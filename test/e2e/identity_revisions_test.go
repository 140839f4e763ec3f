package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// staged is a StatefulSet of the holder's whose only pod is to be made from a
// revision that is not its template any more, and the name of that revision.
func (l *identityLab) staged(name string) (revision string) {
	l.Helper()
	set := workloadOf("StatefulSet")
	manifest := strings.Replace(set.of(name, kerberos), "replicas: 1", "replicas: 1, updateStrategy: {rollingUpdate: {partition: 1}}", 1)
	l.allowed(l.feed(holder, manifest, "create"))
	l.awaitPods(name, kerberosValue)
	l.allowed(l.do(holder, "patch", "statefulset", name, "--type=merge", "-p", set.imagePatch("next:1")))
	eventually(l.T, func() string {
		both := l.get("statefulset/"+name, "{.status.currentRevision} {.status.updateRevision}")
		current, updated, _ := strings.Cut(both, " ")
		if current == "" || current == updated {
			return "the revisions are " + both
		}
		revision = current
		return ""
	})
	return revision
}

// settled waits until the controller has nothing left to do for a set of one pod, so
// that it looks again when the pod goes, not before.
func (l *identityLab) settled(set string) {
	l.Helper()
	eventually(l.T, func() string {
		both := l.get("statefulset/"+set, "{.status.readyReplicas} {.status.observedGeneration}") + " of " + l.get("statefulset/"+set, "{.metadata.generation}")
		ready, generations, _ := strings.Cut(both, " ")
		observed, wanted, _ := strings.Cut(generations, " of ")
		if ready != "1" || observed != wanted {
			return "ready, generation: " + both
		}
		return ""
	})
}

// replaced deletes a pod and waits for what takes its place, or for an event that
// says why nothing does.
func (l *identityLab) replaced(set, refusal string) (image, claim string) {
	l.Helper()
	name := set + "-0"
	before := l.do(root, "get", "pod", name, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}").Stdout
	l.allowed(l.do(root, "delete", "pod", name, "--ignore-not-found", "--force", "--grace-period=0"))
	eventually(l.T, func() string {
		r := l.do(root, "get", "pod", name, "--ignore-not-found", "-o", "jsonpath={.metadata.uid} {.spec.containers[0].image} {.metadata.annotations.kerberos}")
		events := l.do(root, "get", "events", "--field-selector", "reason=FailedCreate,involvedObject.name="+set, "-o", `jsonpath={range .items[*]}{.message}{"\n"}{end}`).Stdout
		fields := strings.Split(r.Stdout, " ")
		made := len(fields) == 3 && fields[0] != before
		switch {
		case refusal != "" && made:
			l.Fatalf("%s is there: %s", name, r.Stdout)
		case refusal != "" && strings.Contains(events, refusal):
			return ""
		case refusal == "" && made:
			image, claim = fields[1], fields[2]
			return ""
		}
		return fmt.Sprintf("%s, %q is to be said: %s\n%s", name, refusal, r, events)
	})
	return image, claim
}

// TestRevisionsOfControllers gives the real controllers revisions that somebody
// else wrote. What they make of them while nobody guards them is what the guard is
// for; then it is up to it.
func TestRevisionsOfControllers(t *testing.T) {
	l := newIdentityLab(t)
	const template = `{spec: {template: {$patch: replace, metadata: {labels: {app: NAME}, annotations: {kerberos: legacy-frontend-app}}, spec: {containers: [{name: app, image: "evil:1"}]}}}}`
	folded := strings.Replace(template, "labels: {app: NAME}, annotations: {kerberos: legacy-frontend-app}}", "labels: {app: NAME}}, Metadata: {Annotations: {kerberos: legacy-frontend-app}}", 1)
	merged := strings.Replace(template, "$patch: replace, ", "", 1)
	for _, c := range []struct {
		name, owner, data string
		// used tells whether the controller of this version makes pods from it, and says
		// is why Sallyport refuses to let it be written, and pods be made from it.
		used           bool
		written, makes string
	}{
		{"orphan", "", template, true, kerberosKey, "is not marked as judged"},
		{"of-the-set", "{apiVersion: apps/v1, kind: StatefulSet, name: NAME, uid: UID, controller: true}", template, true, kerberosKey, "is not marked as judged"},
		{"of-another-group", "{apiVersion: example.com/v1, kind: StatefulSet, name: NAME, uid: UID, controller: true}", template, true, "is read as that of a StatefulSet", "is not marked as judged"},
		// Before a controller kept an index, the UID was all that it went by.
		{"of-a-machine", "{apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: NAME, uid: UID, controller: true}", template, false, "is read as that of a StatefulSet", ""},
		{"in-another-case", "", folded, true, "data.spec.template.Metadata", "data.spec.template.Metadata"},
		{"merged", "", merged, true, "holds no whole template", "holds no whole template"},
	} {
		l.run(c.name, func(l *identityLab) {
			for attempt := 1; ; attempt++ {
				name := fmt.Sprintf("%s-%d", c.name, attempt)
				current := l.staged(name)
				set := l.get("statefulset/"+name, "{.metadata.uid}")
				revision := func(revision string) string {
					owners := ""
					if c.owner != "" {
						owners = ", ownerReferences: [" + c.owner + "]"
					}
					return strings.NewReplacer("NAME", name, "UID", set).Replace("apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: " + revision + ", labels: {app: NAME}" + owners + "}\nrevision: 1\ndata: " + c.data + "\n")
				}
				// The revision that the holder's template went into serves on.
				if image, claim := l.replaced(name, ""); image != appImage || claim != kerberosValue {
					l.Fatalf("%s with %q is made of the revision before", image, claim)
				}
				l.refused(l.feed(employee, revision("other-"+name), "create"), c.written)
				l.settled(name)

				unwire(l.T, shared.UnwireAdmission)
				l.allowed(l.do(employee, "delete", "controllerrevision", current))
				l.allowed(l.feed(employee, revision(current), "create"))
				image, claim := l.replaced(name, "")
				l.wireAdmission()
				// A controller that looks while there is neither the old revision nor the
				// new goes on to the update, and has not been asked what is tried here.
				if c.used && image != "evil:1" && l.get("statefulset/"+name, "{.status.currentRevision}") != current && attempt < 5 {
					l.Logf("attempt %d: the controller was faster", attempt)
					continue
				}
				l.Logf("while nobody guards it, the controller makes %s with kerberos=%q", image, claim)
				if (image == "evil:1") != c.used || claim != kerberosValue {
					l.Errorf("%s with %q is made, want it to be used: %t", image, claim, c.used)
				}
				image, _ = l.replaced(name, c.makes)
				if c.makes == "" && image != "next:1" {
					l.Errorf("%s is made", image)
				}
				return
			}
		})
	}
}

// TestExemptLabelsOfControllersInTheLab sets labels that exempt on templates, and has the
// real controllers make pods from them.
func TestExemptLabelsOfControllersInTheLab(t *testing.T) {
	l := newIdentityLabWith(t, identityOptions{
		sources: documentSources + `---
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: exempting}
spec: {podSecurityRules: {blockFactors: [hostPID], exemptions: {podLabels: {debug: allowed}}}}
`,
		objects: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: exempt-from-exempting}
rules: [{apiGroups: [sallyport.io], resources: [denypolicies], resourceNames: [exempting], verbs: [exempt]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: exempt-from-exempting}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: exempt-from-exempting}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: holder}]
`,
	})
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "delete", "denypolicy", "exempting", "--ignore-not-found")
			return nil
		})
	})
	l.await("condition met", root, "wait", "denypolicy/exempting", "--for=condition=Ready", "--timeout=30s")
	labelled := func(w workload, name string) string {
		return strings.Replace(w.of(name, noClaim), "labels: {app: "+name+"}", "labels: {app: "+name+", debug: allowed}", 1)
	}
	var made []workload
	for _, w := range workloads {
		if !w.controlled || w.kind == "CronJob" {
			continue
		}
		made = append(made, w)
		l.refused(l.feed(employee, labelled(w, "refused"), "create"), "debug=allowed", "may not set them")
		l.allowed(l.feed(holder, labelled(w, w.resource()), "create"))
	}
	for _, w := range made {
		l.run("pods of a "+w.kind, func(l *identityLab) { l.awaitPods(w.resource(), "") })
	}
	l.run("another image, by somebody who may not set them", func(l *identityLab) {
		l.allowed(l.do(employee, "set", "image", "deployment/deployment", "app=next:1"))
		l.allowed(l.do(employee, "rollout", "status", "deployment/deployment", "--timeout=30s"))
	})
	l.run("a pod that says it is made by a controller", func(l *identityLab) {
		pod := strings.Replace(ownedPod("forged", noClaim, owner{"apps/v1", "ReplicaSet", "replicaset", l.get("rs/replicaset", "{.metadata.uid}"), true}), "metadata: {", "metadata: {labels: {debug: allowed}, ", 1)
		l.refused(l.feed(employee, pod, "create"), "may not set them")
		l.allowed(l.as(controllerAccount("replicaset-controller"), []string{"staff"}, pod, "create", "--dry-run=server"))
		l.refused(l.as(controllerAccount("job-controller"), []string{"staff"}, pod, "create", "--dry-run=server"), "may not set them")
	})
	l.run("a template from before", func(l *identityLab) {
		deployment := workloadOf("Deployment")
		unwire(l.T, shared.UnwireAdmission)
		r := l.feed(root, strings.Replace(labelled(deployment, "old"), "replicas: 1", "replicas: 0", 1), "create")
		eventually(l.T, func() string {
			if found := l.do(root, "get", "rs", "-l", "app=old", "-o", "name"); found.Stdout == "" {
				return "there is no ReplicaSet"
			}
			return ""
		})
		l.wireAdmission()
		l.allowed(r)
		l.allowed(l.do(employee, "scale", "deployment", "old", "--replicas=1"))
		l.await("is not marked as judged for them", root, "get", "events", "-o", `jsonpath={range .items[*]}{.message}{"\n"}{end}`)
		kubeconfig := adminKubeconfig(l.T)
		out, err := exec.CommandContext(l.Context(), binary, "identities", "bootstrap", "-n", l.namespace, "--kubeconfig", kubeconfig, "--acknowledge").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Deployment/old") || !strings.Contains(string(out), "debug=allowed (DenyPolicy exempting)") {
			l.Fatalf("%v: %s", err, out)
		}
		l.awaitPods("old", "")
	})
}
