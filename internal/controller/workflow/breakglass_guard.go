package workflow

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// SessionLimits bound how many breakglass sessions there are that are not over.
// Zero stands for the default. Two that are asked for in the same moment may both
// be the last one that fits.
type SessionLimits struct{ PerUser, InAll int }

// The limits where none are given.
const (
	DefaultSessionsPerUser = 5
	DefaultSessionsInAll   = 1000
)

// askedAnHour is how many times as many sessions somebody may ask for within an hour
// as he may have at once.
const askedAnHour = 10

// concernsSession reports whether the guard has something to say about a request
// that concerns a breakglass session.
func concernsSession(r *request.Request) bool {
	return isSession(r) && (r.Operation == request.Create || r.Operation == request.Update || r.Operation == request.Delete)
}

func isSession(r *request.Request) bool {
	kind := kindOf(r)
	return r.Door == request.Admission && kind.Group == v1alpha1.GroupVersion.Group && kind.Kind == breakglass.KindSession
}

// kindOf is what a request is about. What is deleted stands in the old object, if
// anywhere.
func kindOf(r *request.Request) schema.GroupVersionKind {
	switch {
	case r.Object != nil:
		return r.Object.GVK
	case r.OldObject != nil:
		return r.OldObject.GVK
	default:
		return r.Kind
	}
}

// Incomplete reports whether Mutate fills in what an object cannot do without, so
// that it is judged no sooner: a session says who asks for it.
func Incomplete(r *request.Request) bool { return isSession(r) }

// validateSession judges what is written about a session. It trusts nothing that
// Mutate filled in.
func (g *Guard) validateSession(ctx context.Context, r *request.Request) error {
	switch {
	case r.Subresource == "status" && r.Operation == request.Update:
		return g.validateSessionStatus(ctx, r)
	case r.Subresource != "":
		return refuse("", r.Subresource, "breakglass sessions have no %s that could be written", r.Subresource)
	case r.Operation == request.Create:
		return g.validateAsked(ctx, r)
	case r.Operation == request.Delete:
		return validateSessionRemoval(r)
	default:
		return validateSessionUpdate(r)
	}
}

// validateAsked judges a session that is asked for.
func (g *Guard) validateAsked(ctx context.Context, r *request.Request) error {
	if r.Object == nil {
		return errors.New("the request holds no BreakglassSession")
	}
	object, err := decode[v1alpha1.BreakglassSession](r.Object.Raw)
	if err != nil {
		return err
	}
	if object.Spec.User != r.User.Name {
		return refuse("spec.user", object.Spec.User, "is %q, and %s asks: everybody asks for himself; leave it out, and it is filled in (by the webhook /mutate)", object.Spec.User, r.User.Name)
	}
	if !reflect.ValueOf(object.Status).IsZero() {
		return refuse("status", "", "is not for %s to fill in; leave it out", r.User.Name)
	}
	session, errs := breakglass.CompileSession(object)
	if len(errs) > 0 {
		return refuse(errs[0].Field, fmt.Sprint(errs[0].BadValue), "%s", errs.ToAggregate())
	}
	escalation, err := g.escalation(ctx, session.Escalation)
	if err != nil {
		return err
	}
	if escalation == nil {
		return refuse("spec.escalationRef", session.Escalation, "names no BreakglassEscalation; there is none of that name")
	}
	if err := breakglass.CheckAsk(session, escalation, personOf(r), now(r)); err != nil {
		return refuse("spec", "", "%s", err)
	}
	return g.withinLimits(ctx, r)
}

// withinLimits counts the sessions that are not over.
func (g *Guard) withinLimits(ctx context.Context, r *request.Request) error {
	var list v1alpha1.BreakglassSessionList
	if err := g.Reader.List(ctx, &list); err != nil {
		return fmt.Errorf("the sessions that there are cannot be read: %w", err)
	}
	perUser, inAll := g.Sessions.PerUser, g.Sessions.InAll
	if perUser <= 0 {
		perUser = DefaultSessionsPerUser
	}
	if inAll <= 0 {
		inAll = DefaultSessionsInAll
	}
	his, all, lately := 0, 0, 0
	since := now(r).Add(-time.Hour)
	for i := range list.Items {
		s := &list.Items[i]
		if s.Spec.User == r.User.Name && s.CreationTimestamp.After(since) {
			lately++
		}
		if breakglass.Final(s.Status.State) {
			continue
		}
		all++
		if s.Spec.User == r.User.Name {
			his++
		}
	}
	switch {
	case his >= perUser:
		return refuse("spec.user", r.User.Name, "%s has %d sessions that are not over, and may have %d; withdraw one", r.User.Name, his, perUser)
	case lately >= askedAnHour*perUser:
		// The record of each is kept, and who withdraws at once and asks again would
		// make it grow without end.
		return refuse("spec.user", r.User.Name, "%s asked for %d sessions within an hour, and may ask for %d; wait", r.User.Name, lately, askedAnHour*perUser)
	case all >= inAll:
		return refuse("", "", "there are %d sessions that are not over, and there may be %d in all", all, inAll)
	}
	return nil
}

// escalation reads an escalation; nil if it is not there. One that cannot work is
// an error: nobody can tell what it allows.
func (g *Guard) escalation(ctx context.Context, name string) (*breakglass.Escalation, error) {
	object := &v1alpha1.BreakglassEscalation{}
	err := g.Reader.Get(ctx, client.ObjectKey{Name: name}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("BreakglassEscalation %s cannot be read: %w", name, err)
	}
	compiled, errs := breakglass.CompileEscalation(object)
	if len(errs) > 0 {
		return nil, refuse("spec.escalationRef", name, "BreakglassEscalation %s cannot work: %s", name, errs.ToAggregate())
	}
	return compiled, nil
}

// validateSessionUpdate keeps a session as it was asked for. Labels and the like
// may change.
func validateSessionUpdate(r *request.Request) error {
	session, old, err := sessionsOf(r)
	if err != nil {
		return err
	}
	if !apiequality.Semantic.DeepEqual(session.Spec, old.Spec) {
		return refuse("spec", "", "is not changed once it is asked for; withdraw BreakglassSession %s and ask again", old.Name)
	}
	if !apiequality.Semantic.DeepEqual(session.Status, old.Status) {
		return refuse("status", "", "is written on its own, as the subresource status")
	}
	return nil
}

// validateSessionRemoval keeps the record of sessions: who was let in does not
// vanish before its time. RBAC says who may remove what may be removed.
func validateSessionRemoval(r *request.Request) error {
	if r.OldObject == nil {
		return fmt.Errorf("the request does not say what BreakglassSession %s is, so nobody can tell whether its record may go", r.Name)
	}
	session, err := decode[v1alpha1.BreakglassSession](r.OldObject.Raw)
	if err != nil {
		return err
	}
	state, until := session.Status.State, session.Status.RetainedUntil
	switch {
	case state == "" || state == v1alpha1.SessionPending:
		return nil
	case !breakglass.Final(state):
		return refuse("status.state", string(state), "BreakglassSession %s is %s; it is revoked or withdrawn, and its record kept", session.Name, state)
	case until != nil && now(r).Before(until.Time):
		return refuse("status.retainedUntil", until.UTC().Format("2006-01-02T15:04:05Z"), "the record of BreakglassSession %s is kept until then", session.Name)
	}
	return nil
}

// sessionsOf reads a session and what it was before.
func sessionsOf(r *request.Request) (session, old *v1alpha1.BreakglassSession, err error) {
	if r.Object == nil || r.OldObject == nil {
		return nil, nil, fmt.Errorf("the request does not say what BreakglassSession %s was before", r.Name)
	}
	if session, err = decode[v1alpha1.BreakglassSession](r.Object.Raw); err != nil {
		return nil, nil, err
	}
	old, err = decode[v1alpha1.BreakglassSession](r.OldObject.Raw)
	return session, old, err
}

func personOf(r *request.Request) breakglass.Person {
	return breakglass.Person{Name: r.User.Name, UID: r.User.UID, Groups: r.User.Groups}
}
