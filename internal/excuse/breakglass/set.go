package breakglass

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Set holds escalations and sessions, indexed by who has them. It is not changed
// once it is made; uses are counted in its Ledger.
type Set struct {
	escalations map[string]*Escalation
	sessions    []*Session
	byUser      map[string][]*Session
	// scoped are those that go by the labels of namespaces.
	scoped []scoped
	ledger *Ledger
}

// NewSet makes a Set. ledger may be nil.
func NewSet(escalations []*Escalation, sessions []*Session, ledger *Ledger) *Set {
	s := &Set{escalations: make(map[string]*Escalation, len(escalations)), sessions: sessions, byUser: map[string][]*Session{}, ledger: ledger}
	for _, e := range escalations {
		s.escalations[e.Name] = e
	}
	for _, session := range sessions {
		if !Final(session.object.Status.State) {
			s.byUser[session.User] = append(s.byUser[session.User], session)
		}
	}
	s.scope()
	for _, list := range s.byUser {
		slices.SortFunc(list, func(a, b *Session) int { return cmp.Compare(a.Name, b.Name) })
	}
	return s
}

// Grant is a session that is active, with its escalation.
type Grant struct {
	*Session
	Escalation *Escalation
	set        *Set
}

// Active are the sessions that somebody has, and may use, in a cluster at a time, by
// name.
func (s *Set) Active(by Person, cluster string, now time.Time) []Grant {
	usable, _ := s.sessionsOf(by, cluster, now)
	return usable
}

// Unusable says in words why sessions that are active, and of the name of somebody, are
// not his to use: a session each.
func (s *Set) Unusable(by Person, cluster string, now time.Time) []string {
	_, unusable := s.sessionsOf(by, cluster, now)
	return unusable
}

func (s *Set) sessionsOf(by Person, cluster string, now time.Time) (usable []Grant, unusable []string) {
	if s == nil || now.IsZero() {
		return nil, nil
	}
	for _, session := range s.byUser[by.Name] {
		g, ok := s.active(session, cluster, now)
		if !ok {
			continue
		}
		if ok, why := session.Usable(g.Escalation, by); !ok {
			unusable = append(unusable, "BreakglassSession "+session.Name+" does not count: "+why)
			continue
		}
		usable = append(usable, g)
	}
	return usable, unusable
}

// active makes a grant of a session that is active in a cluster at a time, whoever may
// use it.
func (s *Set) active(session *Session, cluster string, now time.Time) (Grant, bool) {
	if session.Cluster != cluster {
		return Grant{}, false
	}
	e := s.escalations[session.Escalation]
	if ok, _ := session.Active(e, s.ledger.lastUsed(session), now); !ok {
		return Grant{}, false
	}
	return Grant{Session: session, Escalation: e, set: s}, true
}

// Held finds a session that is active in a cluster at a time, is of a user that is
// meant, and is not to be used by acting as him; nil if there is none. Who may use it is
// not asked: in which groups somebody will act is not known before he does.
func (s *Set) Held(meant func(user, uid string) bool, cluster string, now time.Time) *Grant {
	if s == nil || now.IsZero() {
		return nil
	}
	for _, session := range s.sessions {
		if !meant(session.User, session.UserUID) {
			continue
		}
		if g, ok := s.active(session, cluster, now); ok && !session.Impersonable(g.Escalation) {
			return &g
		}
	}
	return nil
}

// Empty reports whether there are neither escalations nor sessions.
func (s *Set) Empty() bool { return s == nil || len(s.escalations)+len(s.sessions) == 0 }

// Escalation finds an escalation by name; nil if it is not there.
func (s *Set) Escalation(name string) *Escalation {
	if s == nil {
		return nil
	}
	return s.escalations[name]
}

// Sessions are all sessions.
func (s *Set) Sessions() []*Session {
	if s == nil {
		return nil
	}
	return s.sessions
}

// Help are the escalations that somebody may ask for in a cluster and that would
// excuse what a pod scores, by name.
func (s *Set) Help(p Person, cluster string, would func(*Overrides) bool) []*Escalation {
	if s == nil {
		return nil
	}
	var help []*Escalation
	for _, e := range s.escalations {
		if o := e.overrides; o == nil || !o.enabled || !would(o) {
			continue
		}
		if ok, _ := e.MayAsk(p, cluster); ok {
			help = append(help, e)
		}
	}
	slices.SortFunc(help, func(a, b *Escalation) int { return cmp.Compare(a.Name, b.Name) })
	return help
}

// Covers reports whether the overrides are for pods of a namespace.
func (o *Overrides) Covers(namespace string, labels func() (map[string]string, error)) bool {
	ok, _ := o.in(namespace, labels)
	return ok
}

// Use is a pod that was entered under a session.
type Use struct {
	Session        string
	Namespace, Pod string
	UID            string
	At             time.Time
}

// Used counts that the session let somebody in.
func (g *Grant) Used(u Use) {
	u.Session = g.UID
	if u.Session == "" {
		u.Session = g.Name
	}
	g.set.ledger.add(u)
}

// Ledger collects uses until somebody writes them down. The zero Ledger is of use,
// and so is none.
type Ledger struct {
	mu   sync.Mutex
	last map[string]time.Time
	uses map[string]map[Use]*Span
}

// Span is from when until when a pod was entered.
type Span struct{ First, Last time.Time }

// mostPods bounds how many pods are kept for one session between two writings.
const mostPods = 256

func (l *Ledger) lastUsed(s *Session) time.Time {
	if l == nil {
		return time.Time{}
	}
	key := s.UID
	if key == "" {
		key = s.Name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[key]
}

func (l *Ledger) add(u Use) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last, l.uses = map[string]time.Time{}, map[string]map[Use]*Span{}
	}
	l.last[u.Session] = later(l.last[u.Session], u.At)
	pods := l.uses[u.Session]
	if pods == nil {
		pods = map[Use]*Span{}
		l.uses[u.Session] = pods
	}
	at := u.At
	u.At = time.Time{}
	switch span := pods[u]; {
	case span != nil:
		span.First, span.Last = earlier(span.First, at), later(span.Last, at)
	case u.Pod != "" && len(pods) < mostPods:
		pods[u] = &Span{First: at, Last: at}
	}
}

// Take hands out the uses since it was called last, by session: when it was used
// last, and which pods were entered. The sessions are named by UID.
func (l *Ledger) Take() map[string]Uses {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := map[string]Uses{}
	for session, pods := range l.uses {
		u := Uses{Last: l.last[session]}
		for pod, span := range pods {
			u.Pods = append(u.Pods, PodUse{pod.Namespace, pod.Pod, pod.UID, *span})
		}
		slices.SortFunc(u.Pods, func(a, b PodUse) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
		})
		taken[session] = u
	}
	l.uses = map[string]map[Use]*Span{}
	return taken
}

// Restore takes back uses of a session that could not be written down.
func (l *Ledger) Restore(session string, uses Uses) {
	l.add(Use{Session: session, At: uses.Last})
	for _, p := range uses.Pods {
		for _, at := range []time.Time{p.First, p.Last} {
			l.add(Use{Session: session, Namespace: p.Namespace, Pod: p.Name, UID: p.UID, At: at})
		}
	}
}

// Forget lets go of what is known of sessions that are not among these.
func (l *Ledger) Forget(keep map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for session := range l.last {
		if !keep[session] {
			delete(l.last, session)
		}
	}
}

// Uses are those of one session.
type Uses struct {
	Last time.Time
	Pods []PodUse
}

// PodUse is from when until when a pod was entered.
type PodUse struct {
	Namespace, Name, UID string
	Span
}
