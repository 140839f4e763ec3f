package server

import (
	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// observed is the decision that is recorded and answered, and the only place where an
// installation that only observes lets in what was refused. What is written about
// Sallyport itself is refused all the same: policies that cannot work, and exceptions and
// approvals of the wrong hands, would stay until something is enforced.
func (g *gate) observed(req *request.Request, d *decision.Decision) decision.Decision {
	if !g.Observe || req.Kind.Group == v1alpha1.GroupVersion.Group || workflow.ConcernsDefinition(req) {
		return *d
	}
	return d.Observed()
}
