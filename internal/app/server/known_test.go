package server

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// everyPath are the paths of both doors, with a review that each takes.
var everyPath = map[string]string{
	"/validate": execReview, "/mutate": execReview, "/authorize": sar,
	"/policy/clusterwide-some/validate": execReview, "/policy/clusterwide-some/mutate": execReview,
}

// TestNothingIsJudgedBeforeItIsKnown holds every path at both doors to the facts.
func TestNothingIsJudgedBeforeItIsKnown(t *testing.T) {
	o := options(t, &world{}, noExec)
	began := time.Now()
	o.Known = known.NewBook(began)
	fact := o.Known.NewFact("denypolicies.sallyport.io", 0, began)
	_, client, url := running(t, o)
	for path, body := range everyPath {
		status, answer := post(t, client, url+path, body)
		if status != http.StatusOK || !refused(answer) || !strings.Contains(answer, "denypolicies.sallyport.io were not read yet, since ") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
		if status, answer := post(t, client, url+"/ignore"+path, body); status != http.StatusServiceUnavailable || !strings.Contains(answer, "denypolicies.sallyport.io were not read yet, since ") {
			t.Errorf("/ignore%s: %d %s", path, status, answer)
		}
	}
	for _, path := range []string{"/validate/east", "/mutate/east", "/authorize/east"} {
		body := everyPath[path[:strings.LastIndex(path, "/")]]
		if status, answer := post(t, client, url+path, body); status != http.StatusOK || !refused(answer) || !strings.Contains(answer, "were not read yet") || strings.Contains(answer, "is not known here") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
		if status, _ := post(t, client, url+"/ignore"+path, body); status != http.StatusServiceUnavailable {
			t.Errorf("/ignore%s: %d", path, status)
		}
	}
	if n := metric(t, client, url, `sallyport_not_known_total{door="access"}`); n != "4" {
		t.Errorf("the metric of the access door says %q", n)
	}
	fact.Heard(time.Now())
	for _, prefix := range []string{"", "/ignore"} {
		if status, answer := post(t, client, url+prefix+"/authorize", sar); status != http.StatusOK || refused(answer) {
			t.Errorf("once it knows: %d %s", status, answer)
		}
		if status, answer := post(t, client, url+prefix+"/validate", execReview); status != http.StatusOK || refused(answer) {
			t.Errorf("once it knows: %d %s", status, answer)
		}
	}
}

// refused reports whether an answer of either door says no.
func refused(answer string) bool {
	return strings.Contains(answer, `"allowed":false`) && (strings.Contains(answer, `"denied":true`) || strings.Contains(answer, "AdmissionReview"))
}

// TestOneClusterIsNotKnown refuses what is asked for that cluster, and nothing else.
func TestOneClusterIsNotKnown(t *testing.T) {
	o := options(t, &world{}, noExec)
	began := time.Now()
	east := known.NewBook(began)
	fact := east.NewFact("namespaces of cluster east", 0, began)
	o.Cluster = func(name string) (State, error) {
		if name == "east" {
			return State{Cluster: &world{}, Known: east}, nil
		}
		return State{Cluster: &world{}}, nil
	}
	_, client, url := running(t, o)
	if _, answer := post(t, client, url+"/authorize/east", sar); !refused(answer) || !strings.Contains(answer, "namespaces of cluster east were not read yet") {
		t.Errorf("what is not known of a cluster is not said: %s", answer)
	}
	if status, _ := post(t, client, url+"/ignore/authorize/east", sar); status != http.StatusServiceUnavailable {
		t.Errorf("/ignore answers %d", status)
	}
	if _, answer := post(t, client, url+"/authorize", sar); refused(answer) {
		t.Errorf("another cluster is refused: %s", answer)
	}
	fact.Heard(time.Now())
	if _, answer := post(t, client, url+"/authorize/east", sar); refused(answer) {
		t.Errorf("once it is known: %s", answer)
	}
}

// TestAFactIsLostWhileRequestsRun has a bound run out, with many asking at once.
func TestAFactIsLostWhileRequestsRun(t *testing.T) {
	o := options(t, &world{}, noExec)
	now := &ticking{now: time.Now()}
	o.Now = now.Now
	o.Known = known.NewBook(now.Now())
	fact := o.Known.NewFact("policies.sallyport.io", time.Minute, now.Now())
	fact.Heard(now.Now())
	_, client, url := running(t, o)
	ask := func(want bool) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, answer := post(t, client, url+"/validate", execReview); refused(answer) != want {
					t.Errorf("refused: %v, and should be %v: %s", !want, want, answer)
				}
			})
		}
		all.Wait()
	}
	ask(false)
	now.add(59 * time.Second)
	ask(false)
	now.add(time.Second)
	ask(true)
	fact.Heard(now.Now())
	ask(false)
	fact.Gone(now.Now(), "its CustomResourceDefinition was deleted")
	ask(true)
}

type ticking struct {
	mu  sync.Mutex
	now time.Time
}

func (t *ticking) Now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

func (t *ticking) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = t.now.Add(d)
}
