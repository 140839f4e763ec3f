package record

import (
	"container/list"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// One exec is seen several times: by WebSocket as a review of get, a CONNECT and
// a review of create; by SPDY as a review of create and a CONNECT. kubectl tries
// a refused WebSocket again by SPDY. All of that is one attempt of one person,
// and is counted and recorded once.
//
// What was seen of an attempt is written as a string of stages.
const (
	stageGet     = 'G' // access door, get
	stageCreate  = 'S' // access door, create or another verb that writes
	stageConnect = 'C' // admission door
)

// fit is how a stage continues an attempt.
type fit uint8

const (
	fitNone fit = iota
	// fitRetry: the client tries again, or in another way.
	fitRetry
	// fitRefused is fitRetry where something must have been refused before: two
	// admitted CONNECTs are two execs.
	fitRefused
	// fitNext: the ordinary next stage.
	fitNext
)

// sequences are the attempts that clients make, cut after each stage. A single
// stage is one by itself. Everything that does not stand here is a new attempt:
// counting one twice does no harm, missing one does.
var sequences = map[string]fit{
	"GC":   fitNext,    // WebSocket, admitted or refused
	"GCS":  fitNext,    // WebSocket, the second review
	"SC":   fitNext,    // SPDY, or an ephemeral container: patch and UPDATE
	"GS":   fitRetry,   // WebSocket refused by an authorizer, again by SPDY
	"GSC":  fitNext,    // ... and admitted
	"GCSS": fitRetry,   // the second review refused, again by SPDY
	"GCSC": fitRefused, // refused at CONNECT, again by SPDY
	"CC":   fitRefused, // the same for somebody who skips authorizers
}

// Bounds of the tracker: a step follows the one before within milliseconds, or
// within the time-outs of the webhooks between them.
const (
	attemptWindow = 10 * time.Second
	// maxTracked is how many user and pod pairs are held: about 1 MiB.
	maxTracked = 4096
	// maxParallel is how many attempts of one user on one pod are told apart.
	maxParallel = 8
)

// attempts tracks the attempts under way. The zero value is not usable.
type attempts struct {
	mu    sync.Mutex
	byKey map[attemptKey]*list.Element
	// order holds *tracked, the one seen last in front.
	order *list.List
}

type attemptKey struct {
	cluster, user, uid, resource, subresource, namespace, name string
}

type tracked struct {
	key  attemptKey
	seen time.Time
	open []*attempt
}

type attempt struct {
	id      string
	stages  string
	seen    time.Time
	refused bool
	// heard is what was recorded.
	heard []string
}

func newAttempts() *attempts {
	return &attempts{byKey: map[attemptKey]*list.Element{}, order: list.New()}
}

// heard is what tells the answers in one attempt apart: the verdict, and by which policies
// what is let in would be refused, whether the installation only observes or they do. A
// refusal ends an attempt, so that no other policy is heard of.
func heard(d *decision.Decision) string {
	if d.Refuses() {
		return string(d.Verdict)
	}
	said := string(d.Verdict)
	for i := range d.Results {
		if r := &d.Results[i]; r.WouldDeny {
			said += " " + r.Kind + "/" + r.PolicyName()
		}
	}
	return said
}

// observe takes a request that was decided at now, and returns the attempt that
// it is part of and whether what is heard of it is new in that attempt. A request that
// enters nothing is new and part of none.
func (a *attempts) observe(req *request.Request, heard string, refuses bool, now time.Time) (id string, isNew bool) {
	stage := stageOf(req)
	if stage == 0 {
		return "", true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.track(attemptKey{
		cluster: req.ClusterName, user: req.User.Name, uid: req.User.UID,
		resource: req.Resource.Resource, subresource: req.Subresource, namespace: req.Namespace, name: req.Name,
	}, now)
	current := t.join(stage, now)
	current.refused = current.refused || refuses
	if slices.Contains(current.heard, heard) {
		return current.id, false
	}
	current.heard = append(current.heard, heard)
	return current.id, true
}

// track finds what is held for a key, and drops what is too old or too much.
func (a *attempts) track(key attemptKey, now time.Time) *tracked {
	for back := a.order.Back(); back != nil && now.Sub(back.Value.(*tracked).seen) > attemptWindow; back = a.order.Back() {
		a.drop(back)
	}
	if e, ok := a.byKey[key]; ok {
		t := e.Value.(*tracked)
		t.seen = now
		a.order.MoveToFront(e)
		return t
	}
	if a.order.Len() >= maxTracked {
		a.drop(a.order.Back())
	}
	t := &tracked{key: key, seen: now}
	a.byKey[key] = a.order.PushFront(t)
	return t
}

func (a *attempts) drop(e *list.Element) {
	a.order.Remove(e)
	delete(a.byKey, e.Value.(*tracked).key)
}

// join adds a stage to the oldest attempt that it fits best, or begins a new
// one.
func (t *tracked) join(stage byte, now time.Time) *attempt {
	live := t.open[:0]
	for _, candidate := range t.open {
		if now.Sub(candidate.seen) <= attemptWindow {
			live = append(live, candidate)
		}
	}
	t.open = live
	var best *attempt
	bestFit := fitNone
	for _, candidate := range t.open {
		f := sequences[candidate.stages+string(stage)]
		if f == fitRefused && !candidate.refused {
			f = fitNone
		}
		if f > bestFit {
			best, bestFit = candidate, f
		}
	}
	if best == nil {
		best = &attempt{id: strconv.FormatUint(rand.Uint64(), 36)}
		if len(t.open) == maxParallel {
			t.open = append(t.open[:0], t.open[1:]...)
		}
		t.open = append(t.open, best)
	}
	best.stages += string(stage)
	best.seen = now
	return best
}

// stageOf says which stage of an attempt a request is; 0 for a request that
// enters nothing that runs.
func stageOf(req *request.Request) byte {
	if !enters(req) {
		return 0
	}
	if req.Door == request.Admission {
		return stageConnect
	}
	switch req.Verb {
	case "get":
		return stageGet
	case "create", "update", "patch", "delete":
		return stageCreate
	default:
		// Such as impersonate-on:user-info:get, which is asked about somebody
		// else before the attempt begins.
		return 0
	}
}

// enters reports whether a request reaches into what runs.
func enters(req *request.Request) bool {
	if req.Resource.Group != "" {
		return false
	}
	switch req.Resource.Resource {
	case "pods":
		switch req.Subresource {
		case "exec", "attach", "portforward", "proxy", "log", "ephemeralcontainers":
			return true
		}
	case "nodes", "services":
		return req.Subresource == "proxy"
	}
	return false
}
