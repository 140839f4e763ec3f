package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestUsesOfExceptions counts an exception as used where it lets something in, and not
// where nothing is written.
func TestUsesOfExceptions(t *testing.T) {
	const given = `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: bypass, namespace: dev, uid: x}
spec: {exceptions: [{policyName: require-labels}], match: {any: [{resources: {kinds: [Deployment]}}]}}
`
	for name, c := range map[string]struct {
		dry  bool
		uses int64
	}{"written": {false, 1}, "a dry run": {true, 0}} {
		t.Run(name, func(t *testing.T) {
			ledger := exception.NewLedger()
			set, problems := Compile(sourcesOf(t, requireLabels, given), pod.Default(), exception.Options{Began: judgedAt, Ledger: ledger})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			r := created(t, emptyCluster(t), deploymentGVK, "deployments", deployment("dev", "nginx", ""))
			r.DryRun = c.dry
			got := only(t, set.Decide(t.Context(), r))
			if uses, _ := ledger.Drain("x"); got.Status != decision.Skip || uses != c.uses {
				t.Errorf("%s, used %d times, want %d: %s", got.Status, uses, c.uses, got.Message)
			}
			if !strings.HasPrefix(got.Message, "excused by PolicyException dev/bypass; without it: ") {
				t.Error(got.Message)
			}
		})
	}
}

// TestWholeExceptionsOfStandards excuses a rule of the Pod Security Standards as a
// whole, also where another exception excuses a part of it, or cannot be evaluated.
func TestWholeExceptionsOfStandards(t *testing.T) {
	given := func(name, more string) string {
		return `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: ` + name + `, namespace: dev}
spec:
  exceptions: [{policyName: baseline}]
  match: {any: [{resources: {kinds: [Pod]}}]}
` + more
	}
	part := given("a-part", "  podSecurity: [{controlName: Host Namespaces}]\n")
	odd := given("a-odd", "  conditions: [{expression: \"object.spec.missing == 'x'\"}]\n")
	for name, documents := range map[string][]string{
		"one":                              {given("whole", "")},
		"beside a part":                    {part, given("whole", "")},
		"beside one that cannot be judged": {odd, given("whole", "")},
	} {
		t.Run(name, func(t *testing.T) {
			got := only(t, setOf(t, append([]string{baseline}, documents...)...).Decide(t.Context(), created(t, emptyCluster(t), call.PodGVK, "pods", riskyPod)))
			if got.Status != decision.Skip || len(got.Exceptions) != 1 || got.Exceptions[0].Name != "whole" || strings.Contains(got.Message, "cannot be evaluated") {
				t.Errorf("%s by %v: %s", got.Status, got.Exceptions, got.Message)
			}
		})
	}
}

// TestUsesInTrials counts nothing where a request is judged once more only to find out
// what another time, or one session, would make of it.
func TestUsesInTrials(t *testing.T) {
	ledger := exception.NewLedger()
	given := yamlOf("PolicyException", "dev/bypass", `spec: {exceptions: [{policyName: require-labels}], match: {any: [{resources: {kinds: [Deployment]}}]}}`)
	given = strings.Replace(given, "name: bypass", "name: bypass, uid: x", 1)
	set, problems := Compile(sourcesOf(t, requireLabels, given), pod.Default(), exception.Options{Began: judgedAt, Ledger: ledger})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for trial, want := range map[bool]int64{true: 0, false: 1} {
		c := &call.Call{Request: created(t, emptyCluster(t), deploymentGVK, "deployments", deployment("dev", "nginx", "")), Trial: trial}
		for _, p := range set.Excusing.Exceptions() {
			c.Use(&decision.Result{}, p)
		}
		if uses, _ := ledger.Drain("x"); uses != want {
			t.Errorf("trial %t: used %d times, want %d", trial, uses, want)
		}
	}
}

// TestTroublesOfOtherExceptions says nothing of exceptions that cannot be evaluated
// where another one excuses the rule.
func TestTroublesOfOtherExceptions(t *testing.T) {
	of := func(name, more string) string {
		return yamlOf("PolicyException", "dev/"+name, `spec: {exceptions: [{policyName: require-labels}], match: {any: [{resources: {kinds: [Deployment]}}]}`+more+`}`)
	}
	odd := `, conditions: [{expression: "object.spec.missing == 'x'"}]`
	set := setOf(t, requireLabels, of("a-odd", odd), of("m-whole", ""), of("z-odd", odd))
	got := only(t, set.Decide(t.Context(), created(t, emptyCluster(t), deploymentGVK, "deployments", deployment("dev", "nginx", ""))))
	if got.Status != decision.Skip || strings.Contains(got.Message, "odd") {
		t.Errorf("%s: %s", got.Status, got.Message)
	}
}

// TestEmptyDurationsOfOtherKinds says of a field that a kind does not have that it is
// unknown, and not that it is empty.
func TestEmptyDurationsOfOtherKinds(t *testing.T) {
	var sources Sources
	problems := addYAML(t, &sources, yamlOf("DenyPolicy", "x", `spec: {duration: ""}`))
	if len(problems) != 1 || problems[0].Path != "spec.duration" || strings.Contains(problems[0].Detail, "is empty") {
		t.Errorf("%v", problems)
	}
}
