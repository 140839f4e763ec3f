package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/door/access"
	"github.com/sallyport-io/sallyport/internal/door/admission"
	"github.com/sallyport-io/sallyport/internal/request"
)

// State is what a cluster is read and asked by.
type State struct {
	Cluster    request.Cluster
	Authorizer request.Authorizer
}

// gate leads from the bytes of a review to the bytes of its answer.
type gate struct {
	*Options
	places chan struct{}
}

// judge answers one review. Every error is a *door.Error.
func (g *gate) judge(ctx context.Context, at request.Door, clusterName string, body []byte) ([]byte, error) {
	started := g.Now()
	req, err := g.parse(at, body)
	if err != nil {
		return nil, err
	}
	if clusterName == "" {
		clusterName = g.ClusterName
	}
	req.ClusterName = clusterName
	var d decision.Decision
	state, err := g.Cluster(clusterName)
	if err != nil {
		// A cluster that nobody knows is refused in words that the user reads.
		d = decision.Of([]decision.Result{{
			Policy: "sallyport", Rule: "cluster", Kind: "Sallyport", Status: decision.Error, Action: decision.Enforce,
			FailClosed: true, Message: err.Error(),
		}})
	} else {
		req.Cluster, req.Authorizer = cluster.PerRequest(state.Cluster), state.Authorizer
		d = g.Store.Set().Decide(ctx, req)
	}
	g.Recorder.Decided(req, &d, g.Now().Sub(started))
	if at == request.Admission {
		return admission.Answer(req, &d), nil
	}
	return access.Answer(req, &d), nil
}

func (g *gate) parse(at request.Door, body []byte) (*request.Request, error) {
	if at == request.Admission {
		return admission.Parse(body, g.Pods)
	}
	return access.Parse(body)
}

// serve answers one HTTP request at a door. What cannot be answered by a review
// is answered with an HTTP status: the API server then follows the failure
// policy that the webhook or the authorizer was configured with.
func (g *gate) serve(at request.Door, w http.ResponseWriter, r *http.Request) {
	defer g.recovered(at, w)
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
	default:
		// Waiting in line would only use up the time that the API server gives;
		// it is told at once.
		g.Recorder.Overloaded(at)
		w.Header().Set("Retry-After", "1")
		g.refuse(at, w, &door.Error{Status: http.StatusTooManyRequests, Message: fmt.Sprintf("%d requests are being judged, and no more are taken at once", g.MaxConcurrent)})
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		g.refuse(at, w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout(r))
	defer cancel()
	answer, err := g.judge(ctx, at, r.PathValue("cluster"), body)
	if err != nil {
		g.refuse(at, w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(answer); err != nil {
		g.Log.V(1).Info("the caller left before the answer", "door", at, "error", err.Error())
	}
}

// timeout is how long a decision may take. The API server tells an admission
// webhook how long it waits (?timeout=10s); a tenth of that is left for the
// answer to travel, so that a policy's fail mode is heard before the API server
// stops listening.
func (g *gate) timeout(r *http.Request) time.Duration {
	limit := g.DecisionTimeout
	if given, err := time.ParseDuration(r.URL.Query().Get("timeout")); err == nil && given > 0 {
		limit = min(limit, given-given/10)
	}
	return limit
}

func (g *gate) refuse(at request.Door, w http.ResponseWriter, err error) {
	refusal := &door.Error{Status: http.StatusInternalServerError, Message: "the request could not be judged"}
	if !errors.As(err, &refusal) {
		g.Log.Error(err, "a request could not be judged", "door", at)
	}
	g.Recorder.Bad(at, refusal.Status)
	g.Log.V(1).Info("request refused", "door", at, "status", refusal.Status, "problem", refusal.Message)
	http.Error(w, decision.Clean(refusal.Message), refusal.Status)
}

// recovered is the one place where a fault of this program ends: the request is
// answered with an error, which the API server takes as its failure policy says,
// and the fault is logged and counted.
func (g *gate) recovered(at request.Door, w http.ResponseWriter) {
	fault := recover()
	if fault == nil {
		return
	}
	if fault == http.ErrAbortHandler {
		panic(fault)
	}
	g.Recorder.Panicked(at)
	g.Log.Error(fmt.Errorf("%v", fault), "judging a request failed", "door", at, "stack", string(debug.Stack()))
	http.Error(w, "the request could not be judged: Sallyport failed, see its log", http.StatusInternalServerError)
}
