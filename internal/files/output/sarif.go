package output

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// SARIF 2.1.0, as far as it is needed: one run, its rules, and a result for each
// finding, so that a code scanner points at each line.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		Results    []sarifResult `json:"results"`
		ColumnKind string        `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification,omitempty"`
	}
)

// writeSARIF writes all results but those that passed.
func writeSARIF(w io.Writer, j *Judgement, version string) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "sallyport", Version: version, InformationURI: "https://github.com/sallyport-io/sallyport", Rules: []sarifRule{},
		}},
		Results: []sarifResult{}, ColumnKind: "utf16CodeUnits",
	}
	rules := map[string]int{}
	for i := range j.Decision.Results {
		r, place := &j.Decision.Results[i], j.Places[i]
		if r.Status == decision.Pass {
			continue
		}
		id := ruleName(r)
		index, ok := rules[id]
		if !ok {
			index = len(rules)
			rules[id] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
				ID: id, ShortDescription: sarifText{"Rule " + r.Rule + " of " + r.Kind + " " + r.PolicyName()},
			})
		}
		run.Results = append(run.Results, sarifResults(r, place, id, index)...)
	}
	return encode(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// sarifResults makes a result for each finding, or one if there is none.
func sarifResults(r *decision.Result, place Place, rule string, index int) []sarifResult {
	base := sarifResult{RuleID: rule, RuleIndex: index, Level: sarifLevel(r)}
	if r.Status == decision.Skip {
		base.Suppressions = sarifSuppressions(r)
	}
	resource := resourceName(&r.Resource)
	if len(r.Findings) == 0 {
		base.Message.Text = resource + ": " + r.Message
		base.Locations = sarifLocations(place.File, place.Line, resource, "resource")
		return []sarifResult{base}
	}
	var results []sarifResult
	for i := range r.Findings {
		f := &r.Findings[i]
		result := base
		result.Message.Text = resource + ": " + f.String() + " (" + r.Message + ")"
		line := place.Line
		if i < len(place.Findings) {
			line = place.Findings[i]
		}
		name := resource
		if f.Path != "" {
			name += "." + f.Path
		}
		result.Locations = sarifLocations(place.File, line, name, "member")
		results = append(results, result)
	}
	return results
}

func sarifLevel(r *decision.Result) string {
	switch outcomeOf(r) {
	case failed, unjudged:
		return "error"
	case warned:
		return "warning"
	default:
		return "note"
	}
}

func sarifSuppressions(r *decision.Result) []sarifSuppression {
	var out []sarifSuppression
	for i := range r.Exceptions {
		e := &r.Exceptions[i]
		out = append(out, sarifSuppression{Kind: "external", Justification: strings.TrimSuffix(e.Called()+": "+e.Reason, ": ")})
	}
	return out
}

func sarifLocations(file string, line int, name, kind string) []sarifLocation {
	location := sarifLocation{Logical: []sarifLogical{{name, kind}}}
	if file != "" {
		location.Physical = &sarifPhysical{Artifact: sarifArtifact{fileURI(file)}}
		if line > 0 {
			location.Physical.Region = &sarifRegion{line}
		}
	}
	return []sarifLocation{location}
}

// fileURI is a relative reference for a relative path, and a file URI for an
// absolute one.
func fileURI(path string) string {
	slashed := filepath.ToSlash(filepath.Clean(path))
	if filepath.IsAbs(path) {
		if !strings.HasPrefix(slashed, "/") {
			slashed = "/" + slashed
		}
		return (&url.URL{Scheme: "file", Path: slashed}).String()
	}
	return (&url.URL{Path: slashed}).EscapedPath()
}
