// Package doortest holds reviews that a kube-apiserver v1.37 sent to webhooks
// while people worked with kubectl, for tests of whatever reads them.
package doortest

import (
	"embed"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed recorded/*.json
var recorded embed.FS

// Review is one recorded request.
type Review struct {
	// File is its name: scenario, number and what it is, such as
	// "02-exec-ws-allowed.3.admission.CONNECT-pods_exec.json".
	File string
	// Scenario is the first part of the name: "02-exec-ws-allowed".
	Scenario string
	// Admission is set for an AdmissionReview, not for a SubjectAccessReview.
	Admission bool
	Body      []byte
}

// Recorded gives all recorded requests, by scenario, each in the order in which
// they came.
func Recorded() []Review {
	entries, err := recorded.ReadDir("recorded")
	if err != nil {
		panic(err)
	}
	type ordered struct {
		Review
		number int
	}
	var all []ordered
	for _, entry := range entries {
		parts := strings.Split(entry.Name(), ".")
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			panic(entry.Name() + " has no number: " + err.Error())
		}
		body, err := recorded.ReadFile(path.Join("recorded", entry.Name()))
		if err != nil {
			panic(err)
		}
		all = append(all, ordered{Review{File: entry.Name(), Scenario: parts[0], Admission: parts[2] == "admission", Body: body}, number})
	}
	slices.SortStableFunc(all, func(a, b ordered) int {
		if c := strings.Compare(a.Scenario, b.Scenario); c != 0 {
			return c
		}
		return a.number - b.number
	})
	reviews := make([]Review, len(all))
	for i := range all {
		reviews[i] = all[i].Review
	}
	return reviews
}
