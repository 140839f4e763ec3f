package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/door/doortest"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// refusedBy posts a review to a door, and reports whether the answer refuses it.
func refusedBy(t *testing.T, answer string) bool {
	t.Helper()
	var review struct {
		Response *struct {
			Allowed bool            `json:"allowed"`
			Patch   json.RawMessage `json:"patch"`
		} `json:"response"`
		Status struct {
			Allowed, Denied bool
		} `json:"status"`
	}
	if err := json.Unmarshal([]byte(answer), &review); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if review.Response != nil {
		return !review.Response.Allowed
	}
	if review.Status.Allowed {
		t.Errorf("the side door gives a right: %s", answer)
	}
	return review.Status.Denied
}

// everyWay denies whatever the recorded requests ask for.
const everyWay = `
metadata: {name: everything}
spec:
  rules:
  - {verbs: [create, update, patch, delete, connect, get, list, watch], apiGroups: ["*"], resources: ["*", "*/*"], namespaces: {patterns: [default, demo, shop, "*"]}}
`

// TestObserveRefusesNothing has the recorded requests judged twice, enforcing and observing:
// the second refuses none, and counts as many as the first refused.
func TestObserveRefusesNothing(t *testing.T) {
	for name, policies := range map[string][]string{"by rules": {everyWay}, "by risk": {noExec}, "by both": {everyWay, noExec}} {
		t.Run(name, func(t *testing.T) {
			// No pod can be read, so that what goes by one is refused by its fail mode.
			unread := &world{pod: func(context.Context) error { return errors.New("the API server does not answer") }}
			enforcing, observing := options(t, unread, policies...), options(t, unread, policies...)
			observing.Observe = true
			_, enforcer, enforcerURL := running(t, enforcing)
			_, observer, observerURL := running(t, observing)
			refused := map[request.Door]int{}
			for _, review := range doortest.Recorded() {
				door, path := request.Access, "/authorize"
				if review.Admission {
					door, path = request.Admission, "/validate"
				}
				status, answer := post(t, enforcer, enforcerURL+path, string(review.Body))
				if status != 200 {
					t.Fatalf("%s: %d %s", review.File, status, answer)
				}
				denied := refusedBy(t, answer)
				if denied {
					refused[door]++
				}
				status, answer = post(t, observer, observerURL+path, string(review.Body))
				if status != 200 || refusedBy(t, answer) {
					t.Errorf("%s is refused: %s", review.File, answer)
				}
				if door == request.Admission && strings.Contains(answer, `"decision":"wouldDeny"`) != denied {
					t.Errorf("%s: %v, and %s", review.File, denied, answer)
				}
			}
			if refused[request.Access]+refused[request.Admission] == 0 {
				t.Fatal("nothing was refused")
			}
			for door, n := range refused {
				counted := 0
				scraped, err := observer.Get(observerURL + "/metrics")
				if err != nil {
					t.Fatal(err)
				}
				_, text := read(t, scraped)
				for line := range strings.SplitSeq(text, "\n") {
					if strings.HasPrefix(line, `sallyport_requests_total{decision="wouldDeny",door="`+string(door)+`"`) {
						var more int
						if _, err := fmt.Sscanf(line[strings.LastIndex(line, " ")+1:], "%d", &more); err != nil {
							t.Fatal(err)
						}
						counted += more
					}
					if strings.HasPrefix(line, "sallyport_requests_total{") && (strings.Contains(line, `decision="deny"`) || strings.Contains(line, `decision="error"`)) {
						t.Errorf("something is counted as refused: %s", line)
					}
				}
				if counted != n {
					t.Errorf("door %s: %d would have been refused, and %d were", door, counted, n)
				}
			}
		})
	}
}

// TestObserveLetsInWhatIsNotJudged lets in what enforcing refuses for a reason of its own,
// and still refuses what would stay in Sallyport itself.
func TestObserveLetsInWhatIsNotJudged(t *testing.T) {
	review := func(uid, resource, group, kind, object string) string {
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"` + uid + `","operation":"CREATE","namespace":"shop","name":"a","userInfo":{"username":"alice"},` +
			`"kind":{"group":"` + group + `","version":"v1","kind":"` + kind + `"},"resource":{"group":"` + group + `","version":"v1","resource":"` + resource + `"},"object":` + object + `}}`
	}
	broken := review("u", "configmaps", "", "ConfigMap", `{"apiVersion":"v1","kind":"ConfigMap","kind":"Pod","metadata":{"name":"a"}}`)
	own := strings.ReplaceAll(review("u", "policyexceptions", "sallyport.io", "PolicyException", `{"apiVersion":"sallyport.io/v1alpha1","kind":"PolicyException","metadata":{"name":"a","namespace":"shop"},"spec":{}}`), `"version":"v1",`, `"version":"v1alpha1",`)
	deployment := func(annotations string) string {
		text := review("u", "deployments", "apps", "Deployment", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"shop"`+annotations+`},"spec":{"template":{"metadata":{"labels":{"exempt":"yes"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`)
		return text
	}
	mark := identity.ExemptionSignature(nil, "shop", "guard", map[string]string{"exempt": "yes"})
	for name, c := range map[string]struct {
		path, body string
		want       bool
	}{
		"labels that exempt":              {"/validate", deployment(""), false},
		"a mark that nobody was given":    {"/validate", deployment(`,"annotations":{"sallyport.io/template-judged":"` + mark + `"}`), true},
		"a mark that somebody made up":    {"/validate", deployment(`,"annotations":{"sallyport.io/template-judged":"made-up"}`), true},
		"what cannot be read":             {"/validate", broken, false},
		"a cluster that is not known":     {"/validate/elsewhere", review("u", "configmaps", "", "ConfigMap", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}`), false},
		"a policy that is not there":      {"/policy/clusterwide-x/validate", review("u", "configmaps", "", "ConfigMap", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}`), false},
		"an exception in the wrong hands": {"/validate", own, true},
	} {
		for _, observe := range []bool{false, true} {
			o := options(t, &world{}, strings.Replace(noExec, "blockFactors: [hostPID]", `blockFactors: [hostPID], exemptions: {podLabels: {exempt: "yes"}}`, 1))
			o.Observe = observe
			_, client, url := running(t, o)
			status, answer := post(t, client, url+c.path, c.body)
			if status != 200 {
				t.Fatalf("%s: %d %s", name, status, answer)
			}
			if refused, want := refusedBy(t, answer), !observe || c.want; refused != want {
				t.Errorf("%s, observing %v: refused is %v: %s", name, observe, refused, answer)
			}
		}
	}
}
