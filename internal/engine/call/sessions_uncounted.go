package call

import (
	"fmt"
	"slices"

	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// RuleCallers is the rule of what is refused as nobody knows who asks.
const RuleCallers = "callers"

// Uncounted says why a session lets nobody into a pod by this request: something is to be
// done to the pods that are entered, and an entry that anybody can make up is not noted.
// It is empty where the session may.
//
// What such a session takes away goes on to hold.
func (c *Call) Uncounted(g *breakglass.Grant) string {
	terms := g.Object().Status.Terms
	if !c.Request.Unauthenticated || g.Escalation.AfterUse == nil && (terms == nil || terms.AfterUse == nil) {
		return ""
	}
	return fmt.Sprintf("BreakglassSession %s has afterUse and lets nobody in here: entries are not counted where callers show no credentials (serve --callers network)", g.Name)
}

// UncountedEntry refuses an entry into a pod that a session's group allows, and that would
// have to be counted, and is not. Whether the user has rights of his own beside the session
// is not known here.
func (c *Call) UncountedEntry(results []decision.Result) []decision.Result {
	r := c.Request
	if !r.Unauthenticated || r.Door != request.Admission || r.Observing || c.Access == nil || c.Access.Pod == "" || !c.enters() {
		return results
	}
	grants := slices.DeleteFunc(slices.Clone(c.Sessions()), func(g breakglass.Grant) bool { return c.Uncounted(&g) == "" })
	g := c.givenBy(grants, c.frontVerbs())
	if g == nil {
		return results
	}
	return append(results, decision.Result{
		Policy: "sallyport", Rule: RuleCallers, Kind: decision.KindOwn, Resource: c.Resource(), Status: decision.Fail, Action: decision.Enforce,
		FailClosed: true, Message: c.Uncounted(g),
	})
}
