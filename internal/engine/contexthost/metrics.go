package contexthost

import (
	"strings"

	"github.com/sallyport-io/sallyport/internal/observe/record"
)

// State is what the metrics show: register record.ContextCollector(host.State).
func (h *Host) State() record.ContextState {
	var s record.ContextState
	denied := map[record.ContextDenials]int64{}
	for _, d := range h.ledger.all("") {
		// As the other metrics name policies: without the kind.
		_, name, _ := strings.Cut(d.Policy, "/")
		denied[record.ContextDenials{Policy: name, Resource: d.Resource}] += d.Count
	}
	for d, count := range denied {
		d.Count = count
		s.Denied = append(s.Denied, d)
	}
	if h.Objects == nil {
		return s
	}
	s.Bytes = h.Objects.Bytes() + h.trees.size()
	for _, c := range h.Objects.Status() {
		s.Copies = append(s.Copies, record.ContextCopy{Resource: c.Resource.String(), Version: c.Resource.Version, Objects: c.Objects, Synced: c.Synced && c.Err == nil})
	}
	return s
}
