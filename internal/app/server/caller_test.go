package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// guarded are the options of a server whose own cluster is hub, and that guards a,
// which is bound, and b, which is not.
func guarded(t *testing.T) Options {
	t.Helper()
	o := options(t, &world{}, noExec)
	o.ClusterName = "hub"
	o.Cluster = func(name string) (State, error) {
		switch name {
		case "hub":
			return State{Cluster: &world{}}, nil
		case "a":
			return State{Cluster: &world{}, Elsewhere: true, Exclusive: true}, nil
		case "b":
			return State{Cluster: &world{}, Elsewhere: true}, nil
		}
		return State{}, errors.New("it is not known here")
	}
	o.BoundTo = func(name string) ([]string, bool) {
		switch name {
		case "api-a":
			return []string{"a"}, true
		case "api-of-none":
			return nil, true
		case "":
			// Whoever shows no certificate has no name that one could be bound by.
			return []string{"a"}, true
		}
		return nil, false
	}
	return o
}

func TestBoundTokens(t *testing.T) {
	o := guarded(t)
	o.TokenFile = file(t, "tokens", "roams\nof-a cluster=a\nof-b\tcluster=b  cluster=hub\nof-c cluster=c\n")
	_, client, url := running(t, o)
	ask := func(token, path string) (int, string) {
		t.Helper()
		method, body := http.MethodPost, sar
		if path == "/metrics" {
			method, body = http.MethodGet, ""
		}
		req, err := http.NewRequest(method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, resp)
	}
	const may, mayNot, unknown = `"status":{"allowed":false}}`, "may not ask for cluster", "not known here"
	for _, tt := range []struct{ token, path, want string }{
		{"roams", "/authorize", may}, {"roams", "/authorize/hub", may}, {"roams", "/authorize/b", may},
		{"roams", "/authorize/a", mayNot}, {"roams", "/authorize/c", unknown},
		{"of-a", "/authorize/a", may}, {"of-a", "/authorize", mayNot}, {"of-a", "/authorize/hub", mayNot},
		{"of-a", "/authorize/b", mayNot}, {"of-a", "/authorize/c", mayNot}, {"of-a", "/authorize/A", mayNot},
		{"of-b", "/authorize/b", may}, {"of-b", "/authorize", may}, {"of-b", "/authorize/a", mayNot},
		{"of-c", "/authorize/c", unknown},
	} {
		t.Run(tt.token+" "+tt.path, func(t *testing.T) {
			code, body := ask(tt.token, tt.path)
			if code != http.StatusOK || !strings.Contains(body, tt.want) {
				t.Errorf("status %d: %s", code, body)
			}
			if denied := strings.Contains(body, `"denied":true`); denied != (tt.want != may) {
				t.Errorf("denied is %v: %s", denied, body)
			}
		})
	}
	for token, want := range map[string]int{"roams": 200, "of-a": 401, "of-a cluster=a": 401} {
		if code, _ := ask(token, "/metrics"); code != want {
			t.Errorf("the metrics for %s: status %d, want %d", token, code, want)
		}
	}
}

func TestParseToken(t *testing.T) {
	for _, line := range []string{"a b", "a,b", "cluster=a", "a cluster=", "a cluster=a/b", "a cluster=*", "a cluster=a b"} {
		if token, err := parseToken(line); err == nil {
			t.Errorf("%q was accepted: %+v", line, token)
		}
	}
	if _, err := parseTokens("one cluster=a\none cluster=a\n"); err != nil {
		t.Errorf("a token that is there twice, and bound to the same: %v", err)
	}
	o := guarded(t)
	o.TokenFile = file(t, "tokens", "one cluster=a\none cluster=b\n")
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "a token is there twice") {
		t.Errorf("error %v", err)
	}
}

func TestBoundCertificates(t *testing.T) {
	g := newGate(new(guarded(t)))
	for _, tt := range []struct {
		name, cluster string
		exclusive     bool
		may           bool
	}{
		{"api-a", "a", true, true}, {"api-a", "b", false, false}, {"api-a", "hub", false, false}, {"api-a", "c", false, false},
		{"api-of-none", "a", true, false}, {"api-of-none", "hub", false, false},
		{"api-hub", "hub", false, true}, {"api-hub", "b", false, true}, {"api-hub", "a", true, false},
		{"", "hub", false, true}, {"", "a", true, false},
	} {
		if err := g.mayAsk(&caller{commonName: tt.name}, tt.cluster, tt.exclusive); (err == nil) != tt.may {
			t.Errorf("%q for %s: %v", tt.name, tt.cluster, err)
		}
	}
}

// TestExceptionsElsewhere says that what grants is written in the cluster that it
// counts in, and in no other.
func TestExceptionsElsewhere(t *testing.T) {
	const exception = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"sallyport.io","version":"v1alpha1","kind":"PolicyException"},` +
		`"resource":{"group":"sallyport.io","version":"v1alpha1","resource":"policyexceptions"},"name":"e","namespace":"shop","operation":"CREATE","userInfo":{"username":"alice"},` +
		`"object":{"apiVersion":"sallyport.io/v1alpha1","kind":"PolicyException","metadata":{"name":"e","namespace":"shop"},"spec":{"exceptions":[{"policyName":"guard"}],"match":{"any":[{"resources":{"kinds":["Pod"]}}]},"reason":"r"}}}}`
	_, client, url := running(t, guarded(t))
	for _, path := range []string{"/validate/b", "/mutate/b"} {
		if _, body := post(t, client, url+path, exception); !strings.Contains(body, `"allowed":false`) || !strings.Contains(body, "and not in this one") {
			t.Errorf("%s: %s", path, body)
		}
	}
}
