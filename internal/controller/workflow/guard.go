// Package workflow guards and carries out the way from a request for an exception
// to its answer: what may be written by whom, and what is filled in for them.
//
// Source: document "Policy Exceptions", Alternative Implementation Notes.
package workflow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// RuleWorkflow is the rule name in the results about who may write what.
const RuleWorkflow = "exception-workflow"

// RuleBreakglass is the rule name in the results about breakglass sessions.
const RuleBreakglass = "breakglass"

// Guard decides who may write exceptions, requests and responses, and fills in
// what nobody may write themselves. It reads live: what it decides by must not be
// older than the request.
type Guard struct {
	// Reader reads the API server, not a cache.
	Reader client.Reader
	// Set is the set of policies and exceptions in force.
	Set func() *policy.Set
	// Own are the user names of Sallyport's accounts: only they write status and
	// approve automatically.
	Own func() []string
	// Sessions bound how many breakglass sessions there may be.
	Sessions SessionLimits
	// Doors says which doors a cluster is known to be wired to; nil: nothing turns on
	// that.
	Doors func(cluster string) breakglass.Doors
}

// own reports whether a user is one of Sallyport's accounts.
func (g *Guard) own(user string) bool { return g.Own != nil && slices.Contains(g.Own(), user) }

// Concerns reports whether the guard has something to say about the request.
func (g *Guard) Concerns(r *request.Request) bool {
	if concernsSession(r) || concernsServer(r) {
		return true
	}
	return r.Door == request.Admission && r.Object != nil && r.Object.GVK.Group == v1alpha1.GroupVersion.Group &&
		(r.Operation == request.Create || r.Operation == request.Update) && exception.InWorkflow(r.Object.GVK.Kind)
}

// Unguarded is what is said of an object about exceptions where there is no
// cluster to read requests and answers from, and so no Guard; nil where nothing is
// to be said.
func Unguarded(r *request.Request) []decision.Result {
	if isSession(r) {
		return refusedFor("this Sallyport has no cluster to read escalations and sessions from; run it with --kubeconfig or in the cluster")
	}
	return nowhere(r, "this Sallyport has no cluster to read requests and answers from; run it with --kubeconfig or in the cluster")
}

// Elsewhere is what is said of an object about exceptions that is written in
// another cluster than the one in which they count; nil where nothing is to be
// said.
func Elsewhere(r *request.Request) []decision.Result {
	if isSession(r) {
		return refusedFor("breakglass sessions count in the cluster that Sallyport keeps its policies in, and not in this one; ask for them there")
	}
	return nowhere(r, "exceptions, and requests for them, count in the cluster that Sallyport keeps its policies in, and not in this one; write it there")
}

func nowhere(r *request.Request, why string) []decision.Result {
	if r.Door != request.Admission || r.Object == nil || r.Object.GVK.Group != v1alpha1.GroupVersion.Group || !exception.InWorkflow(r.Object.GVK.Kind) {
		return nil
	}
	return refusedFor(why)
}

func refusedFor(why string) []decision.Result {
	return []decision.Result{{
		Policy: "sallyport", Rule: RuleWorkflow, Kind: decision.KindOwn, Status: decision.Error, Action: decision.Enforce, FailClosed: true,
		Message: why,
	}}
}

// Validate judges what is written. It trusts nothing that Mutate filled in: it
// works it out again, since nobody knows whether that webhook is there.
func (g *Guard) Validate(ctx context.Context, r *request.Request) []decision.Result {
	if !g.Concerns(r) {
		return nil
	}
	return []decision.Result{g.result(r, g.validate(ctx, r))}
}

// result makes the result of what judging came to.
func (g *Guard) result(r *request.Request, err error) decision.Result {
	apiVersion, kind := kindOf(r).ToAPIVersionAndKind()
	result := decision.Result{
		Policy: r.Name, PolicyNamespace: r.Namespace, Rule: ruleOf(r), Kind: kind,
		Resource: decision.Resource{APIVersion: apiVersion, Kind: kind, Namespace: r.Namespace, Name: r.Name},
		Status:   decision.Pass, Action: decision.Enforce, Remedy: decision.RemedyCorrect,
		Message: r.User.Name + " may write it",
	}
	switch refused, ok := err.(*refusal); {
	case err == nil:
	case ok:
		result.Status, result.Message = decision.Fail, refused.detail
		if refused.path != "" {
			result.Findings = []decision.Finding{{Path: refused.path, Value: refused.value, Detail: refused.detail}}
		}
	default:
		// Where judging fails, nothing is written.
		result.Status, result.FailClosed, result.Message = decision.Error, true, err.Error()
	}
	return result
}

func (g *Guard) validate(ctx context.Context, r *request.Request) error {
	if isSession(r) {
		return g.validateSession(ctx, r)
	}
	if concernsServer(r) {
		return g.validateServer(ctx, r)
	}
	if r.Subresource == "status" {
		return g.statusWriter(r)
	}
	if r.Subresource != "" {
		return nil
	}
	switch r.Object.GVK.Kind {
	case exception.KindRequest:
		return g.validateRequest(ctx, r)
	case exception.KindResponse:
		return g.validateResponse(ctx, r)
	default:
		return g.validateException(ctx, r)
	}
}

// statusWriter lets only Sallyport write the status of what grants.
func (g *Guard) statusWriter(r *request.Request) error {
	if g.own(r.User.Name) {
		return nil
	}
	return refuse("status", "", "is written only by Sallyport, and not by %s", r.User.Name)
}

// refusal is why something may not be written.
type refusal struct{ path, value, detail string }

func (r *refusal) Error() string { return r.detail }

// refuse makes a refusal about a field.
func refuse(path, value, format string, args ...any) error {
	return &refusal{path: path, value: value, detail: fmt.Sprintf(format, args...)}
}

// decode reads an object of the request as a type of ours.
func decode[T any](raw []byte) (*T, error) {
	object := new(T)
	if err := apijson.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("the object cannot be read: %w", err)
	}
	return object, nil
}

// now is the time of the request.
func now(r *request.Request) time.Time {
	if r.Time.IsZero() {
		return time.Now()
	}
	return r.Time
}

// ruleOf is the rule by which a request is judged.
func ruleOf(r *request.Request) string {
	switch {
	case isSession(r):
		return RuleBreakglass
	case concernsServer(r):
		return RuleServer
	default:
		return RuleWorkflow
	}
}
