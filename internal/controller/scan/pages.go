package scan

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-io/sallyport/internal/observe/report"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// pageSize and pageBytes are how many results one report holds, so that it stays
// well below what the API server can store in one object; longest is how long one
// text of a result is at most.
const (
	pageSize  = 250
	pageBytes = 512 << 10
	longest   = 2048
)

// pages sorts results into reports: those of a namespace into as many as they
// need. Results that passed are counted in the first and listed in none: there
// are as many as there are objects, and nobody has to act on them.
type pages struct {
	byNamespace map[string][]*report.Report
	// bytes that the last report of each namespace has, about.
	bytes map[string]int
}

func newPages() *pages { return &pages{map[string][]*report.Report{}, map[string]int{}} }

func (p *pages) add(namespace string, r *decision.Result) {
	list := p.byNamespace[namespace]
	if len(list) == 0 {
		list = append(list, report.New(namespace))
	}
	if r.Status == decision.Pass {
		list[0].Count(r.Status)
	} else {
		last := list[len(list)-1]
		one := report.ResultOf(r)
		size := shorten(&one)
		if len(last.Results) == pageSize || len(last.Results) > 0 && p.bytes[namespace]+size > pageBytes {
			p.bytes[namespace] = 0
			last = report.New(namespace)
			last.Metadata.Name += "-" + strconv.Itoa(len(list)+1)
			list = append(list, last)
		}
		p.bytes[namespace] += size
		last.Count(r.Status)
		last.Results = append(last.Results, one)
	}
	p.byNamespace[namespace] = list
}

// shorten cuts long texts of a result, and says about how many bytes it takes.
func shorten(r *report.Result) int {
	const others = 512
	size := others
	cut := func(text string) string {
		if len(text) > longest {
			text = strings.ToValidUTF8(text[:longest], "") + "..."
		}
		size += len(text)
		return text
	}
	r.Message = cut(r.Message)
	kept := 0
	for _, key := range slices.Sorted(maps.Keys(r.Properties)) {
		if kept++; kept > maxProperties {
			delete(r.Properties, key)
			continue
		}
		r.Properties[key] = cut(r.Properties[key])
		size += len(key)
	}
	return size
}

// maxProperties is how many properties a result has at most: findings, most of
// them.
const maxProperties = 64

// all lists the reports by namespace.
func (p *pages) all() []report.Report {
	reports := []report.Report{}
	for _, namespace := range slices.Sorted(maps.Keys(p.byNamespace)) {
		for _, r := range p.byNamespace[namespace] {
			reports = append(reports, *r)
		}
	}
	return reports
}
