package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/door/doortest"
)

// The people of the day. carol may exempt and act as the identity; dora has a session, and
// erin one that ends once it is not used.
const (
	alice = "alice@example.com"
	carol = "carol@example.com"
	dora  = "dora@example.com"
	erin  = "erin@example.com"
)

// markHere stands in a body for the mark that the server let in with what it was made from.
const markHere = "MARK-OF-ITS-OWNER"

// dayRequest is one of the day.
type dayRequest struct {
	name string
	at   time.Duration
	path string
	body string
	// mutate is set where the mutating webhook is asked first.
	mutate bool
	// stores is the name by which what is let in is found later; follows names what has to
	// have been let in for the request to come, and maker what its mark is copied from.
	stores, follows, maker string
	// stays is set for what is refused all the same by a server that observes.
	stays bool
	// observed are the policies that would refuse it only where it came to be as it is
	// because nothing is refused, or nothing changed.
	observed []string
}

// dayPlan collects the requests of a day, so far apart that none belongs to the attempt
// of another.
type dayPlan struct {
	t        *testing.T
	next     time.Duration
	requests []dayRequest
}

const dayStep = 11 * time.Second

func (p *dayPlan) from(hour, minute int) {
	at := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
	if at < p.next {
		p.t.Fatalf("at %s the plan is not through with what comes before %s", p.next, at)
	}
	p.next = at
}

func (p *dayPlan) add(r dayRequest) {
	r.at = p.next
	r.name = fmt.Sprintf("%s %s", midnight.Add(r.at).Format("15:04:05"), r.name)
	p.next += dayStep
	p.requests = append(p.requests, r)
}

// recorded adds all recorded requests, of other people or into other pods than they were.
func (p *dayPlan) recorded(changes ...string) {
	for _, review := range doortest.Recorded() {
		path := "/authorize"
		if review.Admission {
			path = "/validate"
		}
		p.add(dayRequest{name: review.File, path: path, body: strings.NewReplacer(changes...).Replace(string(review.Body))})
	}
}

// into has the recorded requests lead into another pod.
func into(pod string) []string {
	return []string{`"name": "web"`, `"name": "` + pod + `"`, `"name": "web:18080"`, `"name": "` + pod + `:18080"`}
}

// by has somebody else make the recorded requests of alice.
func by(user string) []string {
	return []string{`"` + alice + `"`, `"` + user + `"`, `"u-alice"`, `"u-` + strings.TrimSuffix(user, "@example.com") + `"`}
}

// dayMakers are the kinds that pods are in, with where.
var dayMakers = []struct{ apiVersion, kind, resource, path string }{
	{"v1", "Pod", "pods", ""},
	{"v1", "PodTemplate", "podtemplates", "template"},
	{"v1", "ReplicationController", "replicationcontrollers", "spec.template"},
	{"apps/v1", "Deployment", "deployments", "spec.template"},
	{"apps/v1", "ReplicaSet", "replicasets", "spec.template"},
	{"apps/v1", "StatefulSet", "statefulsets", "spec.template"},
	{"apps/v1", "DaemonSet", "daemonsets", "spec.template"},
	{"batch/v1", "Job", "jobs", "spec.template"},
	{"batch/v1", "CronJob", "cronjobs", "spec.jobTemplate.spec.template"},
}

// dayPods are pods that fail one policy, several or none.
var dayPods = map[string]string{
	"good":       `{metadata: {labels: {team: a, limits: a}}, spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: app, image: "a:1", securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}}`,
	"of-nobody":  `{metadata: {labels: {limits: a}}, spec: {containers: [{name: app, image: "a:1"}]}}`,
	"privileged": `{metadata: {labels: {team: a}}, spec: {hostPID: true, containers: [{name: app, image: "a:latest", securityContext: {privileged: true}}]}}`,
	"networked":  `{metadata: {labels: {team: a}}, spec: {hostNetwork: true, containers: [{name: app, image: "a:1"}]}}`,
	"exempting":  `{metadata: {labels: {team: a, limits: a, exempt: "yes"}}, spec: {containers: [{name: app, image: "a:1"}]}}`,
	"identified": `{metadata: {labels: {team: a, limits: a}, annotations: {kerberos: shop-frontend}}, spec: {containers: [{name: app, image: "a:1"}]}}`,
	"all-wrong":  `{metadata: {labels: {exempt: "yes"}, annotations: {kerberos: shop-frontend}}, spec: {hostNetwork: true, containers: [{name: app, image: "a:latest", securityContext: {privileged: true}}]}}`,
}

// dayReview is what an AdmissionReview is made of.
type dayReview struct {
	operation, user, resource, subresource, namespace string
	object, old                                       map[string]any
	dryRun                                            bool
}

// body is the review, with a uid of its own.
func (r dayReview) body(t *testing.T) string {
	t.Helper()
	of := r.object
	if of == nil {
		of = r.old
	}
	group, version, ok := strings.Cut(of["apiVersion"].(string), "/")
	if !ok {
		group, version = "", group
	}
	metadata := of["metadata"].(map[string]any)
	raw, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": map[string]any{
		"uid": "u-" + r.operation + "-" + fmt.Sprint(metadata["name"]), "operation": r.operation, "namespace": r.namespace, "name": metadata["name"], "dryRun": r.dryRun,
		"kind": map[string]any{"group": group, "version": version, "kind": of["kind"]}, "resource": map[string]any{"group": group, "version": version, "resource": r.resource}, "subResource": r.subresource,
		"userInfo": map[string]any{"username": r.user, "groups": []string{"developers", "system:authenticated"}}, "object": r.object, "oldObject": r.old,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// tree reads an object that a test writes.
func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return object
}

// made is an object of a kind, with the pod in it where it belongs.
func made(t *testing.T, maker int, namespace, name, pod string) map[string]any {
	t.Helper()
	m := dayMakers[maker]
	object := tree(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %s, uid: %s-uid, labels: {limits: a}}}", m.apiVersion, m.kind, name, namespace, name))
	template := tree(t, pod)
	if m.path == "" {
		meta := object["metadata"].(map[string]any)
		for key, value := range template["metadata"].(map[string]any) {
			meta[key] = value
		}
		object["spec"] = template["spec"]
		return object
	}
	at := object
	steps := strings.Split(m.path, ".")
	for _, step := range steps[:len(steps)-1] {
		next := map[string]any{}
		at[step] = next
		at = next
	}
	at[steps[len(steps)-1]] = template
	return object
}

// patched is a review with its object as the answer of the mutating webhook changes it.
func patched(t *testing.T, body, answer string) string {
	t.Helper()
	var says struct {
		Response struct{ Patch string }
	}
	if err := json.Unmarshal([]byte(answer), &says); err != nil {
		t.Fatal(err)
	}
	if says.Response.Patch == "" {
		return body
	}
	raw, err := base64.StdEncoding.DecodeString(says.Response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		t.Fatal(err)
	}
	object := objectIn(t, body)
	after, err := patch.Apply(object)
	if err != nil {
		t.Fatalf("%s to %s: %v", raw, object, err)
	}
	var review map[string]any
	if err := json.Unmarshal([]byte(body), &review); err != nil {
		t.Fatal(err)
	}
	review["request"].(map[string]any)["object"] = json.RawMessage(after)
	whole, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	return string(whole)
}

func objectIn(t *testing.T, body string) []byte {
	t.Helper()
	var review struct {
		Request struct{ Object json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &review); err != nil {
		t.Fatal(err)
	}
	return review.Request.Object
}

// markIn is the mark of a template that is stored.
func markIn(t *testing.T, object []byte) string {
	t.Helper()
	var stored struct {
		Metadata struct{ Annotations map[string]string }
	}
	if object != nil {
		if err := json.Unmarshal(object, &stored); err != nil {
			t.Fatal(err)
		}
	}
	return stored.Metadata.Annotations[v1alpha1.AnnotationTemplateJudged]
}
