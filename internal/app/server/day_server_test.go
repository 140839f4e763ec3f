package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// midnight is when the day begins that is played to servers: one to come, as exceptions that
// are over are not accepted, and the policies of the day are applied to API servers too.
var midnight = time.Date(2086, 11, 28, 0, 0, 0, 0, time.UTC)

// dayModules are the policies of the day that are modules: one refuses what is in the
// node's network, the other puts a label in.
const dayModules = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: network}
spec:
  module: file://MODULE
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: team}
spec:
  module: file://MODULE
  mutating: true
  namespaceSelector: {matchLabels: {labelled: "yes"}}
  settings: {label: team}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
`

// dayBroken are policies of the day that an API server holds and that cannot work.
const dayBroken = `
kind: DenyPolicy
metadata: {name: broken-rules}
spec: {rules: [{verbs: [get], apiGroups: [apps], resources: [deployments, ""]}]}
---
kind: ClusterPolicy
metadata: {name: broken-pattern}
spec: {validationFailureAction: Enforce, rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, validate: {patern: {}}}]}
`

// dayClock is the time of all servers that a day is played to.
type dayClock struct{ at atomic.Int64 }

func (c *dayClock) now() time.Time { return time.Unix(0, c.at.Load()).UTC() }

// dayCluster is the cluster of one server: what stands in files, and what that server has
// let in and makes pods. From four to five in the morning, no pod can be read.
type dayCluster struct {
	*cluster.Files
	clock  *dayClock
	stored map[string][]byte
}

func (c *dayCluster) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if c.clock.now().Hour() == 4 {
		return nil, errors.New("the API server does not answer")
	}
	return c.Files.Pod(ctx, namespace, name)
}

func (c *dayCluster) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	if raw := c.stored[kind.Kind+" "+namespace+"/"+name]; raw != nil {
		return raw, nil
	}
	return c.Files.Object(ctx, kind, namespace, name)
}

// dayServer is one of the servers that a day is played to, and what it answered.
type dayServer struct {
	clock   *dayClock
	cluster *dayCluster
	facts   *known.Fact
	client  *http.Client
	url     string
	audit   *record.AuditLog
	log     string
	answers []dayAnswer
}

// dayAnswer is what a server said of one request.
type dayAnswer struct {
	// asked is not set where the request would not have come, as what it follows from
	// was not let in.
	asked   bool
	refused bool
	granted bool
	at      time.Time
	said    string
	// event is what the audit log says of it; nil for nothing.
	event *record.Event
}

// newDayServer starts a server with the policies of the day, which change changes first.
func newDayServer(t *testing.T, clock *dayClock, observe bool, change func(object map[string]any)) *dayServer {
	t.Helper()
	s := &dayServer{clock: clock, log: filepath.Join(t.TempDir(), "audit.jsonl")}
	store := policy.NewStore(pod.Default(), clock.now, exception.Options{Began: midnight})
	host := newDayModules(t)
	store.Run(host)
	store.Count(&breakglass.Ledger{})
	loaded := load.Policies(dayFiles(t, change), nil)
	if len(loaded.Problems) > 0 {
		t.Fatal(loaded.Problems)
	}
	if problems := store.Replace("day", loaded.Sources); len(problems) > 0 {
		t.Fatal(problems)
	}
	var broken policy.Sources
	for object := range changed(t, dayBroken, change) {
		wrong := stored.Problems{{Kind: object["kind"].(string), Path: "spec", Detail: "it is of a later version"}}
		broken.Broken = append(broken.Broken, stored.NewBroken(&unstructured.Unstructured{Object: object}, wrong))
	}
	store.Merge(broken)
	if err := host.Load(t.Context(), store.Set().ModulePolicies()); err != nil {
		t.Fatal(err)
	}
	files, err := cluster.NewFiles(loaded.Objects)
	if err != nil {
		t.Fatal(err)
	}
	s.cluster = &dayCluster{Files: files, clock: clock, stored: map[string][]byte{}}
	if s.audit, err = record.OpenAuditLog(s.log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.audit.Close)
	book := known.NewBook(midnight)
	s.facts = book.NewFact("denypolicies.sallyport.io", 0, midnight)
	s.facts.Heard(midnight)
	_, s.client, s.url = running(t, Options{
		Addr: "127.0.0.1:0", InsecureHTTP: true, ClusterName: "here", Observe: observe, Store: store, Known: book, Now: clock.now, Log: logr.Discard(),
		Recorder: record.New(record.Options{Audit: s.audit, Now: clock.now}),
		Cluster: func(name string) (State, error) {
			if name != "here" {
				return State{}, fmt.Errorf("cluster %s is not known here", name)
			}
			return State{Cluster: s.cluster, Authorizer: files}, nil
		},
	})
	return s
}

func newDayModules(t *testing.T) *runner.Host {
	t.Helper()
	engine, err := wasm.NewEngine(context.Background(), wasm.Config{CacheDir: wasmtest.CompileCache(t)})
	if err != nil {
		t.Fatal(err)
	}
	host := runner.NewHost(runner.Options{
		Engine: engine, Fetcher: fetch.New(fetch.Options{}), Context: &contextgate.Gate{Mapper: contextgate.Guess{}}, Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	t.Cleanup(func() {
		host.Close()
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return host
}

// dayFiles writes the policies of the day, changed, and its cluster.
func dayFiles(t *testing.T, change func(object map[string]any)) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "day", "policies.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	for object := range changed(t, string(text)+"\n---"+strings.ReplaceAll(dayModules, "MODULE", wasmtest.File(t, wasmtest.WaPC(t))), change) {
		raw, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		written.WriteString("---\n" + string(raw))
	}
	return []string{file(t, "policies.yaml", written.String()), filepath.Join("testdata", "day", "cluster.yaml")}
}

// changed yields the documents of a text, each as change leaves it.
func changed(t *testing.T, text string, change func(object map[string]any)) func(func(map[string]any) bool) {
	return func(yield func(map[string]any) bool) {
		for document := range strings.SplitSeq(text, "\n---\n") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			if change(object); !yield(object) {
				return
			}
		}
	}
}

// play has the server asked what a request comes to, as an API server asks: what the
// mutating webhook changes goes to the validating one. What is let in is stored.
func (s *dayServer) play(t *testing.T, r *dayRequest) {
	t.Helper()
	a := dayAnswer{at: s.clock.now()}
	defer func() { s.answers = append(s.answers, a) }()
	if r.follows != "" && s.cluster.stored[r.follows] == nil {
		return
	}
	a.asked = true
	body := r.body
	if r.maker != "" {
		body = strings.ReplaceAll(body, markHere, markIn(t, s.cluster.stored[r.maker]))
	}
	if r.mutate {
		changed := s.post(t, "/mutate", body)
		if refusedBy(t, changed) {
			a.refused = true
		}
		body = patched(t, body, changed)
	}
	a.said = s.post(t, r.path, body)
	if a.granted = strings.Contains(a.said, `"status":{"allowed":true`); !a.granted {
		a.refused = a.refused || refusedBy(t, a.said)
	}
	if r.stores != "" && !a.refused {
		s.cluster.stored[r.stores] = objectIn(t, body)
	}
}

func (s *dayServer) post(t *testing.T, path, body string) string {
	t.Helper()
	status, answer := post(t, s.client, s.url+path, body)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s: %s", path, status, answer, body)
	}
	return answer
}

// read finds the events of all answers in the audit log, which ends with that.
func (s *dayServer) read(t *testing.T) {
	t.Helper()
	s.audit.Close()
	text, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	events := map[time.Time]*record.Event{}
	for line := range strings.Lines(string(text)) {
		e := &record.Event{}
		if err := json.Unmarshal([]byte(line), e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if events[e.Time] != nil {
			t.Errorf("a second event of the same moment: %s", line)
		}
		events[e.Time] = e
	}
	for i := range s.answers {
		if a := &s.answers[i]; a.asked {
			a.event = events[a.at]
			delete(events, a.at)
		}
	}
	for _, e := range events {
		t.Errorf("an event of no request: %+v", e)
	}
}

// counts has what a counter of /metrics counted, by its labels.
func (s *dayServer) counts(t *testing.T, counter string) map[string]int {
	t.Helper()
	response, err := s.client.Get(s.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	_, text := read(t, response)
	found := map[string]int{}
	for line := range strings.Lines(text) {
		labels, ok := strings.CutPrefix(line, counter+"{")
		if !ok {
			continue
		}
		labels, value, _ := strings.Cut(labels, "} ")
		n := 0
		if _, err := fmt.Sscan(value, &n); err != nil {
			t.Fatal(err)
		}
		found[labels] = n
	}
	return found
}
