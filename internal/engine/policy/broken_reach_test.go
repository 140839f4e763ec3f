package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestBrokenLeavesOut names what no broken object answers for, and what none does that
// says not what it is about.
func TestBrokenLeavesOut(t *testing.T) {
	for _, c := range []struct {
		group, resource, sub, name string
		spared, beside             bool
	}{
		{"sallyport.io", "denypolicies", "", "x", true, false},
		{"apiextensions.k8s.io", "customresourcedefinitions", "", "denypolicies.sallyport.io", true, false},
		{"apiextensions.k8s.io", "customresourcedefinitions", "", "denypolicies.example.com", false, false},
		{"apiextensions.k8s.io", "conversions", "", "denypolicies.sallyport.io", false, false},
		{"example.com", "customresourcedefinitions", "", "denypolicies.sallyport.io", false, false},
		{"coordination.k8s.io", "leases", "", "x", false, true},
		{"authorization.k8s.io", "subjectaccessreviews", "", "", false, true},
		{"events.k8s.io", "events", "", "x", false, true},
		{"", "events", "", "x", false, true},
		{"example.com", "events", "", "x", false, false},
		{"", "pods", "", "x", false, false},
		{"", "pods", "status", "x", false, true},
		{"", "pods", "exec", "x", false, false},
	} {
		r := &request.Request{Resource: schema.GroupVersionResource{Group: c.group, Resource: c.resource}, Subresource: c.sub, Name: c.name}
		if stored.Spared(r) != c.spared || stored.Beside(r) != c.beside {
			t.Errorf("%s/%s/%s %s: spared %v, beside %v", c.group, c.resource, c.sub, c.name, stored.Spared(r), stored.Beside(r))
		}
	}
}

// TestBrokenIsToldOf lists what cannot work beside others, once each with all that is
// wrong, and not what a file holds.
func TestBrokenIsToldOf(t *testing.T) {
	problem := func(kind, name, origin, detail string) stored.Problem {
		return stored.Problem{Kind: kind, Name: name, Origin: origin, Path: "spec", Detail: detail}
	}
	s := &Set{}
	s.addBroken(stored.Problems{problem(exception.KindExceptionPolicy, "a", "", "one"), problem(exception.KindExceptionPolicy, "a", "", "two"), problem(exception.KindExceptionPolicy, "b", "rules.yaml", "three")},
		stored.Problems{problem(breakglass.KindEscalation, "a", "", "four"), problem(breakglass.KindSession, "a", "", "five"), problem(stored.KindDenyPolicy, "a", "", "six")})
	var got []string
	for _, b := range s.Broken() {
		got = append(got, b.Called()+": "+b.Why()+"; "+b.Meanwhile())
	}
	want := []string{
		"ExceptionPolicy a: spec: one (and 1 more); until it is corrected or deleted, this is refused: " + exceptionsToIt,
		"BreakglassEscalation a: spec: four; it does nothing until it is corrected",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if why := (&stored.Broken{}).Why(); why != "it cannot be read" {
		t.Errorf("without a problem: %q", why)
	}
	for _, document := range []string{yamlOf("PolicyException", "shop/x", "spec: 3"), yamlOf("BreakglassSession", "x", "spec: 3")} {
		if b := stored.NewBroken(asStored(t, document)[0], nil); b != nil {
			t.Errorf("%s is told of", b.Called())
		}
	}
	for list, names := range map[string]string{
		"[p, q]": "p q", "p": "p", `[p, ""]`: stored.Anything, `["p q"]`: stored.Anything, "[3]": stored.Anything, "[]": stored.Anything,
	} {
		b := stored.NewBroken(asStored(t, yamlOf("ExceptionPolicy", "x", "spec: {policies: "+list+"}"))[0], nil)
		if got := strings.Join(exceptionPolicy(b).Policies, " "); got != names {
			t.Errorf("%s: it is about %q, want %q", list, got, names)
		}
	}
}
