package server

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// observed is the decision that is recorded and answered, and the only place where an
// installation that only observes lets in what was refused. What is written about
// Sallyport itself is refused all the same: policies that cannot work, exceptions and
// approvals of the wrong hands, and marks of templates that nobody was judged for, would
// stay until something is enforced. Of a mark, each part goes by itself; where nothing was
// judged, all of it does.
func (g *gate) observed(req *request.Request, d *decision.Decision) decision.Decision {
	if !g.Observe || req.Kind.Group == v1alpha1.GroupVersion.Group || workflow.ConcernsDefinition(req) {
		return *d
	}
	return d.Observed(func(r *decision.Result) bool {
		return r.Marked || r.Kind == decision.KindOwn && req.Object != nil && call.MarkCounts(req)
	})
}

// bringsMark reports whether a review that nobody could read, or had room for, may bring the
// mark of a template with it. body is as much of it as was read. The API server writes no
// character of the annotation's name in another way.
func (g *gate) bringsMark(req *request.Request, body []byte, whole bool) bool {
	if req.Door != request.Admission || req.Operation == request.Delete || req.Operation == request.Connect || req.Subresource != "" {
		return false
	}
	if whole {
		return bytes.Contains(body, []byte(v1alpha1.AnnotationTemplateJudged))
	}
	return g.Store.Set().Markable(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind})
}
