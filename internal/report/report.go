package output

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/decision"
)

// Objects of openreports.io/v1alpha1: a Report a namespace, and a ClusterReport
// for what has none.
type (
	reportList struct {
		metav1.TypeMeta `json:",inline"`
		Items           []report `json:"items"`
	}
	report struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        reportMetadata   `json:"metadata"`
		Source          string           `json:"source"`
		Summary         decision.Summary `json:"summary"`
		Results         []reportResult   `json:"results"`
	}
	reportMetadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace,omitempty"`
	}
	reportResult struct {
		Policy     string                   `json:"policy"`
		Rule       string                   `json:"rule,omitempty"`
		Severity   string                   `json:"severity,omitempty"`
		Result     decision.Status          `json:"result"`
		Scored     bool                     `json:"scored"`
		Resources  []corev1.ObjectReference `json:"resources"`
		Message    string                   `json:"message,omitempty"`
		Properties map[string]string        `json:"properties,omitempty"`
	}
)

const reportSource = "sallyport"

// writeReports writes a List of reports. They carry no time, so that the same
// input gives the same bytes.
func writeReports(w io.Writer, j *Judgement) error {
	byNamespace := map[string]*report{}
	for i := range j.Decision.Results {
		r := &j.Decision.Results[i]
		namespace := r.Resource.Namespace
		if byNamespace[namespace] == nil {
			byNamespace[namespace] = newReport(namespace)
		}
		byNamespace[namespace].add(r)
	}
	list := reportList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []report{}}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		list.Items = append(list.Items, *byNamespace[namespace])
	}
	return encode(w, list)
}

func newReport(namespace string) *report {
	kind := "Report"
	if namespace == "" {
		kind = "ClusterReport"
	}
	return &report{
		TypeMeta: metav1.TypeMeta{APIVersion: "openreports.io/v1alpha1", Kind: kind},
		Metadata: reportMetadata{Name: reportSource, Namespace: namespace}, Source: reportSource,
	}
}

func (p *report) add(r *decision.Result) {
	one := decision.Of([]decision.Result{*r}).Summary
	p.Summary.Pass += one.Pass
	p.Summary.Fail += one.Fail
	p.Summary.Warn += one.Warn
	p.Summary.Skip += one.Skip
	p.Summary.Error += one.Error
	p.Results = append(p.Results, reportResult{
		Policy: qualified(r.PolicyNamespace, r.Policy), Rule: r.Rule, Severity: severity(r),
		Result: r.Status, Scored: r.Action == decision.Enforce,
		Resources: []corev1.ObjectReference{{
			APIVersion: r.Resource.APIVersion, Kind: r.Resource.Kind, Namespace: r.Resource.Namespace, Name: r.Resource.Name,
		}},
		Message: r.Message, Properties: properties(r),
	})
}

// severity is how bad it is that the rule failed; none for one that passed.
func severity(r *decision.Result) string {
	switch outcomeOf(r) {
	case failed, unjudged:
		return "high"
	case warned:
		return "medium"
	case recorded:
		return "low"
	default:
		return ""
	}
}

// properties hold what has no field of its own. Findings are numbered, since a
// path can have several.
func properties(r *decision.Result) map[string]string {
	p := map[string]string{"policyKind": r.Kind, "action": string(r.Action)}
	for i := range r.Findings {
		p["finding."+strconv.Itoa(i)] = findingText(&r.Findings[i])
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
