package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
)

func way(name string) string { return filepath.Join("testdata", "ways", name) }

func wayText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(way(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestResize holds a limit of a rule about Pods where a running pod is resized, from
// files and over HTTP.
func TestResize(t *testing.T) {
	t.Parallel()
	if o := run(t, "review", "-p", way("cpu-limit.yaml"), way("resize.json")); o.code != 1 || !strings.Contains(o.stdout, `"allowed":false`) || !strings.Contains(o.stdout, "spec.containers[0].resources.limits.cpu") {
		t.Errorf("review: %d %s", o.code, o.all())
	}
	s := serve(t, way("cpu-limit.yaml"))
	wantRefused(t, s.admit(t, "/validate", wayText(t, "resize.json")), "no more than 4 CPU")
	wantAdmitted(t, s.admit(t, "/validate", strings.Replace(wayText(t, "resize.json"), `"cpu": "16"`, `"cpu": "2"`, 1)))
	wantAdmitted(t, s.admit(t, "/validate", strings.Replace(wayText(t, "resize.json"), `"subResource": "resize"`, `"subResource": "status"`, 1)))
}

// TestNoTar lets rules see what an exec runs at the front door, shows it nowhere, and
// leaves it to the front door at the side door.
func TestNoTar(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-in-a-command"
	quoting := clusterPolicy("quoting", "Enforce", `[{name: quotes, match: {any: [{resources: {kinds: [Pod/exec]}}]}, validate: {cel: {expressions: [{expression: "!object.command.exists(c, c.startsWith('hunter2'))", messageExpression: "'no ' + object.command.join(' ')"}]}}}]`)
	dir := files(t, map[string]string{"policy.yaml": wayText(t, "no-tar.yaml") + "\n---\n" + quoting})
	if o := run(t, "review", "-p", dir, way("tar.json")); o.code != 1 || !strings.Contains(o.stdout, "no-cp") || strings.Contains(o.all(), "/etc") {
		t.Errorf("review: %d %s", o.code, o.all())
	}
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	s := serve(t, dir, "--audit-log", log)
	refused := s.admit(t, "/validate", wayText(t, "tar.json"))
	wantRefused(t, refused, "no kubectl cp", "rule no-cp")
	wantAdmitted(t, s.admit(t, "/validate", strings.Replace(wayText(t, "tar.json"), `"tar"`, `"ls"`, 1)))
	answer := s.admit(t, "/validate", strings.Replace(wayText(t, "tar.json"), `"tar"`, `"`+secret+`"`, 1))
	wantRefused(t, answer, "rule quotes", "no (not shown)")
	wantNoOpinion(t, s.authorize(t, "/authorize", enterPod(t, "create", "shop", "web-0", "exec")))
	// Events are written beside the answers.
	var events []byte
	for deadline := time.Now().Add(10 * time.Second); ; {
		var err error
		if events, err = os.ReadFile(log); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(events), "no-cp") && strings.Contains(string(events), "quotes") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the refusals are not recorded: %s", events)
		}
	}
	for name, text := range map[string]string{"an answer": refuseText(t, answer), "the audit log": string(events), "the log": s.log.String(), "metrics": s.get(t, "/metrics")} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s holds what was run: %s", name, text)
		}
	}
	if o := run(t, "access", "exec", "shop/web-0", "-p", dir, "--as", "alice"); !strings.Contains(o.stderr, "note: ClusterPolicy ways, rule no-cp, gives no opinion at the side door") {
		t.Errorf("access: %s", o.all())
	}
}

func refuseText(t *testing.T, r *admissionv1.AdmissionResponse) string {
	t.Helper()
	return text(t, r)
}

// TestRulesOfAnotherGroup holds rules of the group of document "Pod Security Risk
// Classification" to what they mean there, over HTTP, by access and converted; the
// same rules of our group mean what ours do.
func TestRulesOfAnotherGroup(t *testing.T) {
	t.Parallel()
	pods := func(verb, subresource string) string {
		return accessReview(t, authorizationv1.ResourceAttributes{Verb: verb, Version: "v1", Resource: "pods", Subresource: subresource, Namespace: "shop", Name: "web"})
	}
	for _, tt := range []struct {
		file           string
		denied, let    []string
		oursDenies     string
		oursHasOpinion bool
	}{
		{"no-pods.yaml", []string{"get exec", "create ", "patch ephemeralcontainers", "get log"}, nil, "get exec", false},
		{"no-exec.yaml", []string{"get exec", "create exec"}, []string{"create ", "get attach", "delete exec"}, "create ", true},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			converted := run(t, "convert", way(tt.file))
			if converted.code != 0 || !strings.Contains(converted.stdout, "sallyport.io/v1alpha1") {
				t.Fatalf("convert: %s", converted.all())
			}
			for name, policy := range map[string]string{"as it is": wayText(t, tt.file), "converted": converted.stdout} {
				s := serve(t, files(t, map[string]string{"p.yaml": policy}))
				for _, asked := range tt.denied {
					verb, subresource, _ := strings.Cut(asked, " ")
					if status := s.authorize(t, "/authorize", pods(verb, subresource)); !status.Denied {
						t.Errorf("%s: %s is not denied", name, asked)
					}
				}
				for _, asked := range tt.let {
					verb, subresource, _ := strings.Cut(asked, " ")
					if status := s.authorize(t, "/authorize", pods(verb, subresource)); status.Denied || status.Allowed {
						t.Errorf("%s: %s: %+v", name, asked, status)
					}
				}
			}
			own := serve(t, files(t, map[string]string{"p.yaml": strings.Replace(wayText(t, tt.file), "breakglass.t-caas.telekom.com/", "sallyport.io/", 1)}))
			verb, subresource, _ := strings.Cut(tt.oursDenies, " ")
			if status := own.authorize(t, "/authorize", pods(verb, subresource)); status.Denied != tt.oursHasOpinion {
				t.Errorf("as ours, %s: %+v", tt.oursDenies, status)
			}
		})
	}
}

// TestOpenWaysAreTold says by access which ways stay open.
func TestOpenWaysAreTold(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"p.yaml": denyPolicy("risk", "{blockFactors: [hostPID]}"), "pod.yaml": documents(t, newPod("shop", "web"))})
	if o := run(t, "access", "exec", "shop/web", "-p", dir); o.code != 0 || !strings.Contains(o.stderr, "note: DenyPolicy risk judges exec, attach, portforward, and no policy judges ephemeralcontainers, proxy, nodes/proxy") {
		t.Errorf("%d %s", o.code, o.all())
	}
	all := files(t, map[string]string{"p.yaml": denyPolicy("risk", "{blockFactors: [hostPID], appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, nodes/proxy]}}"), "pod.yaml": documents(t, newPod("shop", "web"))})
	if o := run(t, "access", "exec", "shop/web", "-p", all); strings.Contains(o.stderr, "note:") {
		t.Error(o.all())
	}
	byCreate := files(t, map[string]string{
		"p.yaml":   `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: by-create}, spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}, {verbs: [get], apiGroups: [""], resources: [pods/exec], namespaces: [other]}]}}`,
		"pod.yaml": documents(t, newPod("shop", "web")),
	})
	if o := run(t, "access", "attach", "shop/web", "-p", byCreate); o.code != 0 || !strings.Contains(o.stderr, "note: DenyPolicy by-create, rules[0], denies pods/exec by create, and no rule denies all of that by get, which stays open at the authorizer") {
		t.Errorf("%d %s", o.code, o.all())
	}
	if o := run(t, "check", "-p", all, filepath.Join(dir, "p.yaml")); o.code != 0 || !strings.Contains(o.all(), "lead into the same pods and are not judged") {
		t.Errorf("check of the policy itself: %d %s", o.code, o.all())
	}
}
