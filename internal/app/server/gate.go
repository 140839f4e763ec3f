package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/door/access"
	"github.com/sallyport-io/sallyport/internal/door/admission"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// accessTimeout bounds a decision at the access door: nine tenths of the 3 s that
// config/wiring/authorization-config.yaml lets the API server wait.
const accessTimeout = 2700 * time.Millisecond

// State is what a cluster is read and asked by.
type State struct {
	Cluster    request.Cluster
	Authorizer request.Authorizer
	// Host answers what policies read beside requests; nil where nothing can be read.
	Host request.Host
	// Controllers are the accounts that make objects from templates; nil: the
	// built-in ones.
	Controllers *request.Controllers
	// Tenant and Environment of the cluster, where they are known.
	Tenant, Environment string
	// Elsewhere is set for every cluster but the one that policies and exceptions
	// are kept in.
	Elsewhere bool
	// Exclusive is set for a cluster that no caller may ask for but those that are
	// bound to it.
	Exclusive bool
	// Known has what must be known of this cluster; nil for nothing.
	Known *known.Book
}

// gate leads from the bytes of a review to the bytes of its answer.
type gate struct {
	*Options
	room *capacity
	// strangers are those who show no credentials; nil where they get no answer.
	strangers *strangers
}

func newGate(o *Options) *gate {
	return &gate{Options: o, room: newCapacity(o.MaxConcurrent, largeMemory)}
}

// question is what a path asks: at which door, whether for changes, for which
// cluster, and by which policy only; empty for all.
type question struct {
	door   request.Door
	mutate bool
	// by is who asks.
	by      *caller
	cluster string
	policy  string
	// ignore is set where the webhook was registered with a failure policy that lets
	// in what cannot be judged: while Sallyport does not know what it must, it hears
	// that, and not a refusal.
	ignore bool
	// converted is set where just those policies are asked which name the version that
	// the object was converted to.
	converted bool
}

// judge answers one review. Every error is a *door.Error.
func (g *gate) judge(ctx context.Context, asked question, body []byte) ([]byte, error) {
	at, mutate, by, clusterName := asked.door, asked.mutate, asked.by, asked.cluster
	started := g.Now()
	pods := g.Store.Set().Pods()
	req, err := g.parse(at, body, pods)
	if err != nil {
		return nil, err
	}
	if clusterName == "" {
		clusterName = g.ClusterName
	}
	req.ClusterName, req.Time, req.Converted, req.Observing = clusterName, started, asked.converted, g.Observe
	if by.unauthenticated {
		req.Unauthenticated = true
		ctx = contextgate.Quietly(ctx)
		if err := withinBounds(req); err != nil {
			return nil, err
		}
	}
	var d decision.Decision
	var patch []byte
	// What is looked up from here on is at least as new as what was known.
	missing := g.Known.Missing(started)
	var state State
	// Who shows nothing learns nothing of other clusters.
	if missing == nil && (!by.unauthenticated || clusterName == g.ClusterName) {
		if state, err = g.Cluster(clusterName); err == nil {
			missing = state.Known.Missing(started)
		}
	}
	if missing != nil {
		g.notKnown(at, by)
		if asked.ignore {
			return nil, notKnown(missing)
		}
		d = refusal(ruleNotKnown, missing.Error())
	} else if refused := g.mayAsk(by, clusterName, state.Exclusive); refused != nil {
		d = refusal("caller", refused.Error())
	} else if err != nil {
		// A cluster that nobody knows is refused in words that the user reads.
		d = refusal("cluster", err.Error())
	} else {
		req.Cluster, req.Authorizer, req.Controllers = cluster.PerRequest(state.Cluster), state.Authorizer, state.Controllers
		req.Tenant, req.Environment, req.Elsewhere = state.Tenant, state.Environment, state.Elsewhere
		req.Host = state.Host
		if answer, is := g.probe(req); is && asked.policy == "" {
			// Nobody asked for anything, so there is nothing to count and to record.
			d = refusal("probe", answer)
			if mutate {
				d = decision.Of(nil)
			}
			if at == request.Admission {
				return admission.AnswerPatched(req, &d, nil), nil
			}
			return access.Answer(req, &d), nil
		}
		set := g.Store.Set()
		if set.Pods() != pods {
			// Other kinds make pods since the review was read.
			again, err := g.parse(at, body, set.Pods())
			if err != nil {
				return nil, err
			}
			req.Object, req.OldObject = again.Object, again.OldObject
		}
		if asked.policy != "" {
			set = set.Module(asked.policy)
		}
		if mutate && set != nil && (set.Marks(req) || set.Mutates(req)) {
			// Who may write it is judged, counted and recorded at the other path.
			return admission.AnswerPatched(req, &decision.Decision{Verdict: decision.Allow}, g.change(ctx, set, req)), nil
		}
		req.Final = !mutate
		switch {
		case asked.policy == "" && mutate && workflow.Incomplete(req):
			// Whether it can do what it says is judged once it is filled in.
			d = decision.Of(nil)
			patch = g.guard(ctx, req, mutate, &d)
		case asked.policy == "":
			d = g.decide(ctx, req, set.Decide)
			patch = g.guard(ctx, req, mutate, &d)
		case set != nil:
			d = g.decide(ctx, req, set.DecideModules)
		case g.Store.Left(asked.policy):
			// Nothing is left to judge by; its webhook goes as well.
			d = decision.Of(nil)
		default:
			// No HTTP status says so: a failurePolicy of Ignore would let in what was
			// not judged.
			d = refusal("policy", fmt.Sprintf("the policy %s is not known here, and so nobody judged this; where it was removed, so should its webhook be", shortened(asked.policy)))
		}
	}
	d = g.observed(req, &d)
	g.Recorder.Decided(req, &d, g.Now().Sub(started))
	if at == request.Admission {
		return admission.AnswerPatched(req, &d, patch), nil
	}
	return access.Answer(req, &d), nil
}

// probe reports whether a request is made only to find out whether it is asked about.
func (g *gate) probe(req *request.Request) (answer string, is bool) {
	if g.Probe == nil {
		return "", false
	}
	return g.Probe(req)
}

// guard has the workflow of exceptions judge what is written about these, or
// fill it in, and adds what it says to the decision; and it judges who takes away
// the definitions of our kinds.
func (g *gate) guard(ctx context.Context, req *request.Request, mutate bool, d *decision.Decision) (patch []byte) {
	definition := workflow.ConcernsDefinition(req)
	if !definition && (req.Door != request.Admission || req.Kind.Group != v1alpha1.GroupVersion.Group) {
		return nil
	}
	defer func() {
		if fault := recover(); fault != nil {
			g.fault(req.Door, fault)
			patch, *d = nil, refusal("fault", "Sallyport failed, see its log")
		}
	}()
	var more []decision.Result
	switch {
	case definition:
		more = workflow.Definition(ctx, req)
	case req.Elsewhere:
		more = workflow.Elsewhere(req)
	case g.Guard == nil:
		more = workflow.Unguarded(req)
	case mutate:
		patch, more = g.Guard.Mutate(ctx, req)
	default:
		more = g.Guard.Validate(ctx, req)
	}
	if len(more) > 0 {
		*d = decision.Of(append(d.Results[:len(d.Results):len(d.Results)], more...))
	}
	// An answer that refuses holds no patch.
	return patch
}

// decide judges a request. A fault of this program refuses it, in an answer and
// not with an HTTP status: a failurePolicy of Ignore must not let in what could
// not be judged.
func (g *gate) decide(ctx context.Context, req *request.Request, judge func(context.Context, *request.Request) decision.Decision) (d decision.Decision) {
	defer func() {
		if fault := recover(); fault != nil {
			g.fault(req.Door, fault)
			d = refusal("fault", "Sallyport failed, see its log")
		}
	}()
	return judge(ctx, req)
}

// change has the modules change the object, and then sees to the mark of a
// template, as they have left it. What fails leaves the object as it is, which the
// judgement at the other path then refuses.
func (g *gate) change(ctx context.Context, set *policy.Set, req *request.Request) (patch []byte) {
	defer func() {
		if fault := recover(); fault != nil {
			g.fault(req.Door, fault)
			patch = nil
		}
	}()
	changed := req
	if !g.Observe {
		var err error
		if changed, patch, err = set.Mutate(ctx, req); err != nil {
			g.Log.Error(err, "what policies would change of an object is left out", "uid", req.UID)
			changed, patch = req, nil
		}
	}
	if !set.Marks(changed) {
		return patch
	}
	return joinPatches(patch, set.Mark(ctx, changed))
}

// joinPatches makes one JSON patch of two, the second of which is about what the
// first leaves. Either may be nil.
func joinPatches(first, second []byte) []byte {
	switch {
	case len(first) == 0:
		return second
	case len(second) == 0:
		return first
	}
	return slices.Concat(first[:len(first)-1], []byte(","), second[1:])
}

// ruleNotKnown is the rule of a refusal by which nothing was judged, as not all is
// known that must be.
const ruleNotKnown = "not-known"

// refusal is the decision about a request that no policy came to judge.
func refusal(rule, why string) decision.Decision {
	return decision.Of([]decision.Result{{
		Policy: "sallyport", Rule: rule, Kind: decision.KindOwn, Status: decision.Error, Action: decision.Enforce,
		FailClosed: true, Message: why,
	}})
}

// parse reads a review. A fault of this program that what was sent brings about
// refuses it like anything else that cannot be read.
func (g *gate) parse(at request.Door, body []byte, pods *pod.Registry) (req *request.Request, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			g.fault(at, fault)
			req, err = nil, &door.Error{Status: http.StatusInternalServerError, Message: "Sallyport failed, see its log"}
		}
	}()
	if at == request.Admission {
		return admission.Parse(body, pods)
	}
	return access.Parse(body)
}

// serve answers one HTTP request at a door. What cannot be answered by a review
// is answered with an HTTP status: the API server then follows the failure
// policy that the webhook or the authorizer was configured with. That is so only
// for what no requester can bring about.
func (g *gate) serve(asked question, w http.ResponseWriter, r *http.Request) {
	at := asked.door
	defer g.recovered(at, w)
	asked.cluster, asked.policy = r.PathValue("cluster"), r.PathValue("policy")
	if err := checkContentType(r.Header.Get("Content-Type")); err != nil {
		g.refuse(at, w, err)
		return
	}
	limit := g.timeout(at, r)
	// What is left when room was found has to be enough to judge.
	leave, err := g.enter(asked, r, limit/3)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		g.unjudged(asked, w, readBeginning(r), false, err)
		return
	}
	defer leave()
	body, err := readBody(r)
	if err != nil {
		// Of what did not come there is no beginning, and so no review to answer.
		g.unjudged(asked, w, body, false, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	answer, err := g.judge(ctx, asked, body)
	if err != nil {
		g.unjudged(asked, w, body, true, err)
		return
	}
	g.write(at, w, answer)
}

// timeout is how long a decision may take. The API server tells an admission
// webhook how long it waits (?timeout=10s); a tenth of that is left for the
// answer to travel, so that a policy's fail mode is heard before the API server
// stops listening.
//
// An authorizer is not told: there, the answer comes within what
// config/wiring/authorization-config.yaml gives it.
func (g *gate) timeout(at request.Door, r *http.Request) time.Duration {
	limit := g.DecisionTimeout
	if at == request.Access {
		limit = min(limit, accessTimeout)
	}
	if given, _ := time.ParseDuration(r.URL.Query().Get("timeout")); given > 0 {
		limit = min(limit, given-given/10)
	}
	return limit
}

func (g *gate) refuse(at request.Door, w http.ResponseWriter, err error) {
	problem := &door.Error{Status: http.StatusInternalServerError, Message: "the request could not be judged"}
	if !errors.As(err, &problem) {
		g.Log.Error(err, "a request could not be judged", "door", at)
	}
	g.Recorder.Bad(at, problem.Status)
	g.Log.V(1).Info("request refused", "door", at, "status", problem.Status, "problem", problem.Message)
	http.Error(w, decision.Clean(problem.Message), problem.Status)
}

// recovered is where a fault of this program outside of decide ends: there is no
// request to answer, so the caller reads an error.
func (g *gate) recovered(at request.Door, w http.ResponseWriter) {
	fault := recover()
	if fault == nil {
		return
	}
	if fault == http.ErrAbortHandler {
		panic(fault)
	}
	g.fault(at, fault)
	http.Error(w, "the request could not be judged: Sallyport failed, see its log", http.StatusInternalServerError)
}

func (g *gate) fault(at request.Door, fault any) {
	g.Recorder.Panicked(at)
	g.Log.Error(fmt.Errorf("%v", fault), "judging a request failed", "door", at, "stack", string(debug.Stack()))
}
