package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/door/doortest"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// deletedDefinition deletes the definition of a kind of Sallyport.
const deletedDefinition = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u4",` +
	`"kind":{"group":"apiextensions.k8s.io","version":"v1","kind":"CustomResourceDefinition"},"resource":{"group":"apiextensions.k8s.io","version":"v1","resource":"customresourcedefinitions"},` +
	`"name":"policies.sallyport.io","operation":"DELETE","userInfo":{"username":"alice"},"oldObject":{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"policies.sallyport.io"}}}}`

func TestAnswers(t *testing.T) {
	unreadable := &world{pod: func(context.Context) error { return errors.New("connection refused") }}
	for _, tt := range []struct {
		name, path, body string
		world            *world
		want             []string
	}{
		{"no opinion", "/authorize", sar, &world{}, []string{`"status":{"allowed":false}}`}},
		{"admitted", "/validate", execReview, &world{}, []string{`"uid":"u2","allowed":true`}},
		{"admitted by the other path", "/mutate", execReview, &world{}, []string{`"uid":"u2","allowed":true`}},
		{"not judged at the side door", "/authorize", sar, unreadable, []string{`"denied":true`, "connection refused", "Next: "}},
		{"not judged at the front door", "/validate", execReview, unreadable, []string{`"uid":"u2","allowed":false`, "connection refused", `"code":403`}},
		{"not judged, by the other path", "/mutate", execReview, unreadable, []string{`"uid":"u2","allowed":false`}},
		{"a cluster that is not known", "/authorize/other", sar, &world{}, []string{`"denied":true`, "cluster other is not known here"}},
		{"a cluster that is not known, front door", "/validate/other", execReview, &world{}, []string{`"uid":"u2","allowed":false`, "cluster other is not known here"}},
		{"a definition of ours that is deleted", "/validate", deletedDefinition, &world{}, []string{`"uid":"u4","allowed":false`, "whether alice may redefine kinds of Sallyport cannot be found out"}},
		{"a definition of ours, for changes", "/mutate", deletedDefinition, &world{}, []string{`"uid":"u4","allowed":false`, "whether alice may redefine"}},
		{"a definition of others", "/validate", strings.ReplaceAll(deletedDefinition, "sallyport.io", "example.com"), &world{}, []string{`"uid":"u4","allowed":true`}},
		{"a decision that fails", "/validate", execReview, &world{pod: func(context.Context) error { panic("on purpose") }}, []string{`"uid":"u2","allowed":false`, "Sallyport failed"}},
		{"a decision that fails, side door", "/authorize", sar, &world{pod: func(context.Context) error { panic("on purpose") }}, []string{`"denied":true`, "Sallyport failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, client, url := running(t, options(t, tt.world, noExec))
			code, body := post(t, client, url+tt.path, tt.body)
			if code != http.StatusOK {
				t.Fatalf("status %d: %s", code, body)
			}
			for _, want := range tt.want {
				if !strings.Contains(body, want) {
					t.Errorf("%s does not hold %s", body, want)
				}
			}
		})
	}
}

// TestRecorded answers all that an API server was seen to send.
func TestRecorded(t *testing.T) {
	_, client, url := running(t, options(t, &world{}, noExec))
	for _, review := range doortest.Recorded() {
		path, want := "/authorize", `"status":{"allowed":false`
		if review.Admission {
			path, want = "/validate", `"allowed":true`
		}
		if code, body := post(t, client, url+path, string(review.Body)); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status %d: %s", review.File, code, body)
		}
	}
}

// TestDeadline says that a decision ends before the API server stops listening,
// with the fail mode of the policy.
func TestDeadline(t *testing.T) {
	var left time.Duration
	w := &world{pod: func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		return nil
	}}
	_, client, url := running(t, options(t, w, noExec))
	for _, tt := range []struct {
		query    string
		at, over time.Duration
	}{
		{"", accessTimeout, 2 * time.Second},
		{"?timeout=30s", accessTimeout, 2 * time.Second},
		{"?timeout=2s", 1800 * time.Millisecond, time.Second},
		{"?timeout=nonsense", accessTimeout, 2 * time.Second},
		{"?timeout=-5s", accessTimeout, 2 * time.Second},
	} {
		if code, body := post(t, client, url+"/authorize"+tt.query, sar); code != http.StatusOK {
			t.Fatalf("status %d: %s", code, body)
		}
		if left > tt.at || left < tt.over {
			t.Errorf("%q: %s were left, want %s to %s", tt.query, left, tt.over, tt.at)
		}
	}

	w.pod = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	code, body := post(t, client, url+"/authorize?timeout=20ms", sar)
	if code != http.StatusOK || !strings.Contains(body, `"denied":true`) {
		t.Errorf("status %d: %s", code, body)
	}
}

// TestFault says that a fault outside of the decision breaks no connection.
func TestFault(t *testing.T) {
	o := options(t, &world{}, noExec)
	o.Cluster = func(string) (State, error) { panic("on purpose") }
	_, client, url := running(t, o)
	for _, path := range []string{"/authorize", "/authorize"} {
		if code, body := post(t, client, url+path, sar); code != http.StatusInternalServerError || !strings.Contains(body, "could not be judged") {
			t.Errorf("status %d: %s", code, body)
		}
	}
	if n := metric(t, client, url, `sallyport_panics_total{door="`+string(request.Access)+`"}`); n != "2" {
		t.Errorf("%q faults were counted", n)
	}
}

// TestTemplatesAreMarked takes a template to the mutating path, which marks it
// and judges nobody, and to the other, which judges the mark.
func TestTemplatesAreMarked(t *testing.T) {
	const deployment = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u3","kind":{"group":"apps","version":"v1","kind":"Deployment"},
		"resource":{"group":"apps","version":"v1","resource":"deployments"},"name":"web","namespace":"shop","operation":"CREATE","userInfo":{"username":"alice"},
		"object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"template":{"metadata":{"annotations":{"kerberos":"web"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}}}`
	set, err := identitySetOf("apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: kerberos}\nspec: {key: kerberos, podAnnotation: {}}")
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(&Options{Store: set, Now: time.Now, Recorder: record.New(record.Options{}), Log: logr.Discard(), MaxConcurrent: 1,
		Cluster: func(string) (State, error) { return State{}, nil }})
	answer, err := g.judge(t.Context(), question{by: &caller{}, door: request.Admission, mutate: true}, []byte(deployment))
	if err != nil || !strings.Contains(string(answer), `"allowed":true,"patchType":"JSONPatch","patch":"`) {
		t.Errorf("%s, %v", answer, err)
	}
	answer, err = g.judge(t.Context(), question{by: &caller{}, door: request.Admission}, []byte(deployment))
	if err != nil || !strings.Contains(string(answer), `"allowed":false`) {
		t.Errorf("%s, %v", answer, err)
	}
	plain := strings.Replace(deployment, "kerberos", "other", 1)
	answer, err = g.judge(t.Context(), question{by: &caller{}, door: request.Admission, mutate: true}, []byte(plain))
	if err != nil || strings.Contains(string(answer), "patch") || !strings.Contains(string(answer), `"allowed":true`) {
		t.Errorf("%s, %v", answer, err)
	}
}

// identitySetOf makes a store with one source.
func identitySetOf(document string) (*policy.Store, error) {
	store := policy.NewStore(pod.Default(), time.Now, exception.Options{})
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return nil, err
	}
	var sources policy.Sources
	problems := sources.Add(schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: "IdentitySource"}, raw, "a.yaml")
	if problems = append(problems, store.Replace("files", sources)...); len(problems) > 0 {
		return nil, problems
	}
	return store, nil
}
