package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// deploymentReview is the review of a Deployment that is created, or that has another image
// than before.
func deploymentReview(metadata string, update bool) string {
	object := func(image string) string {
		return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"shop"` + metadata + `},"spec":{"template":{"metadata":{"labels":{"exempt":"yes"}},"spec":{"containers":[{"name":"a","image":"` + image + `"}]}}}}`
	}
	operation, old := "CREATE", ""
	if update {
		operation, old = "UPDATE", `,"oldObject":`+object("before")
	}
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u2","kind":{"group":"apps","version":"v1","kind":"Deployment"},"resource":{"group":"apps","version":"v1","resource":"deployments"},` +
		`"name":"a","namespace":"shop","operation":"` + operation + `","userInfo":{"username":"alice"},"object":` + object("a") + old + `}}`
}

// TestUnjudgedMarksAreKeptOut: where nothing is refused and nobody judged an object, no mark
// comes in with it that would count as judged later. All else is let in.
func TestUnjudgedMarksAreKeptOut(t *testing.T) {
	exempting := strings.Replace(noExec, "blockFactors: [hostPID]", `blockFactors: [hostPID], exemptions: {podLabels: {exempt: "yes"}}`, 1)
	copied := `,"annotations":{"sallyport.io/template-judged":"` + identity.ExemptionSignature(nil, "shop", "guard", map[string]string{"exempt": "yes"}) + `"}`
	pod := strings.NewReplacer(`"kind":"Deployment"`, `"kind":"Pod"`, `"group":"apps"`, `"group":""`, "apps/v1", "v1", "deployments", "pods").Replace(deploymentReview(copied, false))
	twice := func(review string) string { return strings.Replace(review, `"spec":{`, `"spec":{"a":1,"a":2,`, 1) }
	unknown := func(o *Options) {
		o.Known = known.NewBook(time.Now())
		o.Known.NewFact("denypolicies.sallyport.io", 0, time.Now())
	}
	fails := func(o *Options) { o.Cluster = func(string) (State, error) { return State{}, context.DeadlineExceeded } }
	for name, c := range map[string]struct {
		change func(*Options)
		review string
		want   bool
	}{
		"not known, a mark":                      {unknown, deploymentReview(copied, false), true},
		"not known, a mark on another template":  {unknown, deploymentReview(copied, true), true},
		"not known, a mark on the same template": {unknown, strings.Replace(deploymentReview(copied, true), `"image":"before"`, `"image":"a"`, 1), false},
		"not known, no mark":                     {unknown, deploymentReview("", false), false},
		"no cluster, a mark":                     {fails, deploymentReview(copied, false), true},
		"no cluster, no mark":                    {fails, deploymentReview("", false), false},
		"names that stand twice, a mark":         {func(*Options) {}, twice(deploymentReview(copied, false)), true},
		"names that stand twice, no mark":        {func(*Options) {}, twice(deploymentReview("", false)), false},
		"names that stand twice, a deletion":     {func(*Options) {}, strings.Replace(twice(deploymentReview(copied, false)), "CREATE", "DELETE", 1), false},
	} {
		for _, path := range []string{"/validate", "/mutate"} {
			o := options(t, &world{}, exempting)
			o.Observe = true
			c.change(&o)
			_, client, url := running(t, o)
			status, answer := post(t, client, url+path, c.review)
			if status != http.StatusOK || refusedBy(t, answer) != c.want {
				t.Errorf("%s: refused is not %v: %d %s", name, c.want, status, answer)
			}
		}
	}
	entered, release := make(chan struct{}), make(chan struct{})
	o := options(t, &world{pod: func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}}, exempting)
	o.Observe, o.MaxConcurrent = true, 1
	_, client, url := running(t, o)
	var waiting sync.WaitGroup
	waiting.Go(func() { post(t, client, url+"/authorize", sar) })
	<-entered
	for review, want := range map[string]bool{deploymentReview("", false): true, pod: false, execReview: false} {
		if status, answer := post(t, client, url+"/validate", review); status != http.StatusOK || refusedBy(t, answer) != want || strings.Contains(answer, `"code":429`) != want {
			t.Errorf("no room: refused is not %v: %d %s", want, status, answer)
		}
	}
	if status, answer := post(t, client, url+"/authorize", sar); status != http.StatusOK || refusedBy(t, answer) {
		t.Errorf("no room at the side door: %d %s", status, answer)
	}
	close(release)
	waiting.Wait()
}
