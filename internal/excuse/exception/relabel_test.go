package exception

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

func relabelled(namespace string, before, after map[string]string, keys ...string) *Relabelled {
	object := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}}
	}
	return &Relabelled{
		Relabelling: &match.Relabelling{Namespace: namespace, Before: before, After: after}, Keys: keys, Old: object(before), New: object(after),
	}
}

// TestWidened finds the exceptions that come to excuse in a namespace by its labels.
func TestWidened(t *testing.T) {
	const selected = "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], namespaceSelector: {matchLabels: {debug: 'yes'}}}}"
	const asked = "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, conditions: [{name: c, expression: \"namespaceObject.metadata.labels['debug'] == 'yes'\"}]"
	const team = ", conditions: [{name: c, expression: \"'team' in namespaceObject.metadata.labels\"}]}"
	yes, no := map[string]string{"debug": "yes"}, map[string]string{"debug": "no"}
	for name, c := range map[string]struct {
		spec          string
		of            string // the namespace of the exception; empty: of the cluster.
		in            string
		before, after map[string]string
		key           string
		at            time.Time
		elsewhere     bool
		widened       bool
	}{
		"into":                        {selected + "}", "dev", "dev", no, yes, "debug", now, false, true},
		"out of":                      {selected + "}", "dev", "dev", yes, no, "debug", now, false, false},
		"within":                      {selected + "}", "dev", "dev", yes, yes, "team", now, false, false},
		"of another namespace":        {selected + "}", "dev", "ops", no, yes, "debug", now, false, false},
		"in another cluster":          {selected + "}", "dev", "dev", no, yes, "debug", now, true, false},
		"of the cluster":              {selected + "}", "", "ops", no, yes, "debug", now, false, true},
		"of the cluster, elsewhere":   {selected + "}", "", "ops", no, yes, "debug", now, true, true},
		"over":                        {selected + ", expiresAt: '2026-11-28T12:00:00Z'}", "dev", "dev", no, yes, "debug", now, false, false},
		"not over":                    {selected + ", expiresAt: '2026-11-28T12:00:01Z'}", "dev", "dev", no, yes, "debug", now, false, true},
		"not yet":                     {selected + ", notBefore: '2027-11-28T12:00:00Z'}", "dev", "dev", no, yes, "debug", now, false, true},
		"by a condition":              {asked + "}", "dev", "dev", no, yes, "debug", now, false, true},
		"by a condition, out of":      {asked + "}", "dev", "dev", yes, no, "debug", now, false, false},
		"and a condition that is not": {selected + team, "dev", "dev", no, yes, "debug", now, false, false},
		"a condition, and not into":   {selected + team, "dev", "dev", no, map[string]string{"debug": "no", "team": "x"}, "team", now, false, false},
		"a condition, and within":     {selected + team, "dev", "dev", yes, map[string]string{"debug": "yes", "team": "x"}, "team", now, false, true},
		"by nothing":                  {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", "dev", "dev", no, yes, "debug", now, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sources(t, c.spec)
			if c.of == "" {
				s.ClusterExceptions = []source.Of[*v1alpha1.ClusterPolicyException]{{Object: &v1alpha1.ClusterPolicyException{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Spec: s.Exceptions[0].Object.Spec}}}
				s.Exceptions = nil
			}
			set, problems := Compile(s, Options{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := set.Widened(t.Context(), relabelled(c.in, c.before, c.after, c.key), c.at, c.elsewhere); (len(got) > 0) != c.widened {
				t.Errorf("%d are widened", len(got))
			}
		})
	}
}

// TestAutomaticFor finds the ExceptionPolicies whose condition a label can make true.
func TestAutomaticFor(t *testing.T) {
	const condition = ", approvalPolicy: Automatic, approvalCondition: \"namespaceObject.metadata.labels['debug'] == 'yes'\"}"
	yes, no := map[string]string{"debug": "yes"}, map[string]string{"debug": "no"}
	rules := rulesOfPolicies(t, "{policies: [p, q]"+condition, "{policies: [r], namespaces: [prod]"+condition, "{policies: [s], approvalPolicy: Automatic}", "{policies: [t]}")
	for _, c := range []struct {
		in            string
		before, after map[string]string
		key           string
		want          []string
	}{
		{"dev", no, yes, "debug", []string{"rules-a", "p", "q"}},
		{"prod", no, yes, "debug", []string{"rules-a", "p", "q", "rules-b", "r"}},
		{"dev", yes, no, "debug", nil},
		{"dev", yes, yes, "team", nil},
	} {
		var got []string
		rules.AutomaticFor(t.Context(), relabelled(c.in, c.before, c.after, c.key), func(policy string, names []string) { got = append(append(got, policy), names...) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, from %v to %v: %v, want %v", c.in, c.before, c.after, got, c.want)
		}
	}
}
