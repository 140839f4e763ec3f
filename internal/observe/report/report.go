// Package report makes OpenReports objects of results.
package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// APIVersion of the objects: a Report a namespace, and a ClusterReport for what
// has none.
const (
	Group         = "openreports.io"
	Version       = "v1alpha1"
	APIVersion    = Group + "/" + Version
	KindNamespace = "Report"
	KindCluster   = "ClusterReport"
)

// Source is the name of what made the reports, and of the first report in each
// namespace.
const Source = "sallyport"

// Report is a Report or a ClusterReport.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        Metadata         `json:"metadata"`
	Source          string           `json:"source"`
	Summary         decision.Summary `json:"summary"`
	Results         []Result         `json:"results"`
}

// Metadata is as much of an ObjectMeta as a report has. It carries no time, so
// that the same results give the same bytes.
type Metadata struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// Result is what one rule said of one resource.
type Result struct {
	Policy     string                   `json:"policy"`
	Rule       string                   `json:"rule,omitempty"`
	Severity   string                   `json:"severity,omitempty"`
	Result     decision.Status          `json:"result"`
	Scored     bool                     `json:"scored"`
	Resources  []corev1.ObjectReference `json:"resources"`
	Message    string                   `json:"message,omitempty"`
	Properties map[string]string        `json:"properties,omitempty"`
}

// Of makes a report a namespace, in the order of their names; what has no
// namespace comes first.
func Of(results []decision.Result) []Report {
	byNamespace := map[string]*Report{}
	for i := range results {
		r := &results[i]
		namespace := r.Resource.Namespace
		if byNamespace[namespace] == nil {
			byNamespace[namespace] = New(namespace)
		}
		byNamespace[namespace].Add(r)
	}
	reports := make([]Report, 0, len(byNamespace))
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		reports = append(reports, *byNamespace[namespace])
	}
	return reports
}

// New makes an empty report; without a namespace, a ClusterReport.
func New(namespace string) *Report {
	kind := KindNamespace
	if namespace == "" {
		kind = KindCluster
	}
	return &Report{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: kind},
		Metadata: Metadata{Name: Source, Namespace: namespace}, Source: Source, Results: []Result{},
	}
}

// Count adds a result only to the summary.
func (p *Report) Count(status decision.Status) {
	switch status {
	case decision.Pass:
		p.Summary.Pass++
	case decision.Fail:
		p.Summary.Fail++
	case decision.Warn:
		p.Summary.Warn++
	case decision.Skip:
		p.Summary.Skip++
	case decision.Error:
		p.Summary.Error++
	}
}

// Add counts a result and lists it.
func (p *Report) Add(r *decision.Result) {
	p.Count(r.Status)
	p.Results = append(p.Results, ResultOf(r))
}

// ResultOf is a result as a report lists it.
func ResultOf(r *decision.Result) Result {
	return Result{
		Policy: r.PolicyName(), Rule: r.Rule, Severity: severity(r),
		Result: r.Status, Scored: r.Action == decision.Enforce,
		Resources: []corev1.ObjectReference{{
			APIVersion: r.Resource.APIVersion, Kind: r.Resource.Kind, Namespace: r.Resource.Namespace, Name: r.Resource.Name,
		}},
		Message: r.Message, Properties: properties(r),
	}
}

// severity is how bad it is that the rule failed; none for one that passed or
// was excused.
func severity(r *decision.Result) string {
	switch {
	case r.Status == decision.Pass || r.Status == decision.Skip:
		return ""
	case r.Blocks():
		return "high"
	case r.Warns():
		return "medium"
	default:
		return "low"
	}
}

// properties hold what has no field of its own. Findings and exceptions are
// numbered, since there can be several.
func properties(r *decision.Result) map[string]string {
	p := map[string]string{"policyKind": r.Kind, "action": string(r.Action)}
	for i := range r.Findings {
		p["finding."+strconv.Itoa(i)] = r.Findings[i].String()
	}
	for i := range r.Exceptions {
		p["exception."+strconv.Itoa(i)] = r.Exceptions[i].String()
	}
	if r.Refused() {
		for i := range r.Context.Denied {
			p["denied."+strconv.Itoa(i)] = r.Context.Denied[i].String()
		}
	}
	if r.Score != nil {
		p["score"] = strconv.Itoa(*r.Score)
	}
	if len(r.Factors) > 0 {
		p["factors"] = strings.Join(r.Factors, ", ")
	}
	if r.Exempt != "" {
		p["exempt"] = r.Exempt
	}
	return p
}
