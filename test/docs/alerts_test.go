package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// rules is a PrometheusRule.
type rules struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert, Expr, For string
				Labels           map[string]string
				Annotations      map[string]string
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

var (
	// selector is a metric of ours in an expression, with its matchers.
	selector = regexp.MustCompile(`\b(sallyport_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	grouping = regexp.MustCompile(`\b(?:by|without) \(([^)]*)\)`)
	// row is a row of the table of metrics: its name, type and labels.
	row = regexp.MustCompile("(?m)^\\| `(sallyport_[a-z_]+)` \\| (\\w+) \\|([^|]*)\\|")
)

// ofHistograms are what Prometheus makes of a histogram.
var ofHistograms = []string{"_bucket", "_count", "_sum"}

// TestAlerts holds the rules for Prometheus to the table of metrics: an alert about a
// metric or a label that there is not never rings.
func TestAlerts(t *testing.T) {
	labels := map[string][]string{}
	for _, found := range row.FindAllStringSubmatch(pages(t)["docs/metrics.md"], -1) {
		var own []string
		for _, label := range code.FindAllString(found[3], -1) {
			own = append(own, strings.Trim(label, "`"))
		}
		if labels[found[1]] != nil {
			t.Errorf("docs/metrics.md has %s twice", found[1])
		}
		if labels[found[1]] = append(own, "instance"); found[2] == "histogram" {
			for _, suffix := range ofHistograms {
				labels[found[1]+suffix] = append(own, "instance", "le")
			}
		}
	}
	alerts := 0
	for _, b := range blocks(t, "yaml") {
		var r rules
		if !strings.Contains(b.text, "PrometheusRule") {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(b.text), &r); err != nil {
			t.Errorf("%s: %v", b.name(), err)
			continue
		}
		for _, group := range r.Spec.Groups {
			for _, rule := range group.Rules {
				alerts++
				if rule.Alert == "" || rule.Labels["severity"] == "" || strings.Count(rule.Expr, "(") != strings.Count(rule.Expr, ")") {
					t.Errorf("%s: this is not an alert: %+v", b.name(), rule)
				}
				for _, problem := range unknownIn(rule.Expr, labels) {
					t.Errorf("%s, %s: %s", b.name(), rule.Alert, problem)
				}
			}
		}
	}
	if alerts < 15 {
		t.Errorf("%d alerts were found", alerts)
	}
}

// unknownIn says which metrics and labels of an expression there are not.
func unknownIn(expression string, labels map[string][]string) (problems []string) {
	var all []string
	ours := selector.FindAllStringSubmatch(expression, -1)
	for _, found := range ours {
		own, ok := labels[found[1]]
		if !ok {
			problems = append(problems, "there is no metric "+found[1])
			continue
		}
		all = append(all, own...)
		for _, m := range matcher.FindAllStringSubmatch(found[2], -1) {
			if !slices.Contains(own, m[1]) {
				problems = append(problems, found[1]+" has no label "+m[1])
			}
		}
	}
	if len(ours) == 0 {
		return problems
	}
	for _, found := range grouping.FindAllStringSubmatch(expression, -1) {
		for label := range strings.SplitSeq(found[1], ",") {
			if !slices.Contains(all, strings.TrimSpace(label)) {
				problems = append(problems, "nothing in it has the label "+strings.TrimSpace(label))
			}
		}
	}
	return problems
}

// TestUnknownIn finds what would keep an alert from ringing.
func TestUnknownIn(t *testing.T) {
	labels := map[string][]string{"sallyport_a_total": {"door"}}
	for expression, want := range map[string]int{
		`sum by (door) (rate(sallyport_a_total{door="access"}[5m])) > 0`: 0,
		`sallyport_b_total > 0`:                 1,
		`sallyport_a_total{code!="1"} > 0`:      1,
		`sum by (code) (sallyport_a_total) > 0`: 1,
		`apiserver_x{name="a"} > 0`:             0,
	} {
		if got := unknownIn(expression, labels); len(got) != want {
			t.Errorf("%s: %q", expression, got)
		}
	}
}
