package scan

import (
	"maps"
	"slices"
	"strconv"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/report"
)

// pageSize is how many results one report holds, so that it stays well below
// what the API server can store in one object.
const pageSize = 250

// pages sorts results into reports: those of a namespace into as many as they
// need. Results that passed are counted in the first and listed in none: there
// are as many as there are objects, and nobody has to act on them.
type pages struct{ byNamespace map[string][]*report.Report }

func newPages() *pages { return &pages{map[string][]*report.Report{}} }

func (p *pages) add(namespace string, r *decision.Result) {
	list := p.byNamespace[namespace]
	if len(list) == 0 {
		list = append(list, report.New(namespace))
	}
	if r.Status == decision.Pass {
		list[0].Count(r.Status)
	} else {
		last := list[len(list)-1]
		if len(last.Results) == pageSize {
			last = report.New(namespace)
			last.Metadata.Name += "-" + strconv.Itoa(len(list)+1)
			list = append(list, last)
		}
		last.Add(r)
	}
	p.byNamespace[namespace] = list
}

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
