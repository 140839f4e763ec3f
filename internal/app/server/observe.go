package server

import (
	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// observed is the decision that is recorded and answered, and the only place where an
// installation that only observes lets in what was refused. What is written about
// Sallyport itself is refused all the same: policies that cannot work, exceptions and
// approvals of the wrong hands, and marks of templates that nobody was judged for, would
// stay until something is enforced.
func (g *gate) observed(req *request.Request, d *decision.Decision) decision.Decision {
	if !g.Observe || req.Kind.Group == v1alpha1.GroupVersion.Group || workflow.ConcernsDefinition(req) {
		return *d
	}
	marks := marksAppear(req)
	return d.Observed(func(r *decision.Result) bool {
		return marks && (r.Kind == identity.KindSource || r.Rule == stored.RuleExemptLabels)
	})
}

// marksAppear reports whether the object has part of the mark of a template that was judged
// which it did not have before. The mutating webhook of this installation gives it only to
// whom nothing would be refused.
func marksAppear(req *request.Request) bool {
	mark := func(o *pod.Object) string {
		if o == nil {
			return ""
		}
		return o.Meta.Annotations[v1alpha1.AnnotationTemplateJudged]
	}
	before := mark(req.OldObject)
	for _, part := range identity.Signatures(mark(req.Object)) {
		if !identity.Marked(before, part) {
			return true
		}
	}
	return false
}
