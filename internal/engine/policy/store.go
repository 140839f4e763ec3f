package policy

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Store holds the Set that requests are judged by, and puts a new one in its
// place when policies change. Several origins feed it, such as a directory and
// the API server; what they bring is compiled together.
type Store struct {
	current atomic.Pointer[Set]
	pods    *pod.Registry
	options exception.Options
	now     func() time.Time
	modules modulepolicy.Modules
	uses    *breakglass.Ledger
	watches []func(*Set)
	// filesOnly is set where nothing that an API server stores comes into force.
	filesOnly bool
	// foresee says what will keep policies from being enforced; nil for nothing.
	foresee func(context.Context, *Set) []string

	// apart is that of Apart, and ofAPI what is wrong with objects of the API server
	// beside the set in force.
	apart func()
	ofAPI atomic.Pointer[map[stored.Ref]stored.Problems]

	// left are the ids of modules that were in a set before, with when that ended.
	left sync.Map

	mu         sync.Mutex
	cache      *cache
	exceptions *exception.Cache
	origins    map[string]Sources
	fromAPI    Sources
	state      State

	// compiled is what compiledFrom came to, without exceptions, so that a change
	// of exceptions does not compile all policies again.
	compiled         *Set
	compiledProblems stored.Problems
	compiledFrom     Sources
}

// State says how the Set in force came about.
type State struct {
	// Loaded is when the Set in force was put in place.
	Loaded time.Time
	// Failed is when a change was last refused, and Problems why. Both are zero
	// when the last change was accepted.
	Failed   time.Time
	Problems stored.Problems
	// Failures counts the changes that were refused.
	Failures int
}

// NewStore makes a Store with an empty Set. exceptions say what exceptions may
// do, and count their uses.
func NewStore(pods *pod.Registry, now func() time.Time, exceptions exception.Options) *Store {
	s := &Store{pods: pods, now: now, options: exceptions, cache: newCache(), exceptions: exception.NewCache(exceptions), origins: map[string]Sources{}}
	set, _ := s.compileAll(Sources{})
	s.current.Store(set)
	return s
}

// Options are what exceptions may do.
func (s *Store) Options() exception.Options { return s.options }

// Watch has watch called with each set that comes into force from now on, beside
// what others have called. It must return soon and not call the store. Call Watch
// before policies come in.
func (s *Store) Watch(watch func(*Set)) { s.watches = append(s.watches, watch) }

// Run has the modules of policies run. Call Run before policies come in.
func (s *Store) Run(modules modulepolicy.Modules) { s.modules = modules }

// Count has the uses of sessions counted. Call Count before policies come in.
func (s *Store) Count(uses *breakglass.Ledger) { s.uses = uses }

// FilesOnly has whoever writes a policy into an API server warned that it does not
// come into force here. Call FilesOnly before policies come in.
func (s *Store) FilesOnly() { s.filesOnly = true }

// Apart has f called where files make something else wrong with policies of the API
// server than before.
func (s *Store) Apart(f func()) { s.apart = f }

// Foresee has whoever writes a policy into an API server warned of what will keep it
// from being enforced: foresee says so of the policies of a set, a sentence each. Call
// Foresee before policies come in.
func (s *Store) Foresee(foresee func(context.Context, *Set) []string) { s.foresee = foresee }

// Set is the set in force.
func (s *Store) Set() *Set { return s.current.Load() }

// State says how the Set in force came about.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Replace puts what an origin brings in place of what it brought before, if
// all of it can work. If not, the set in force stays, and the problems are
// returned and kept in the state.
func (s *Store) Replace(origin string, sources Sources) stored.Problems {
	problems, changed := s.replace(origin, sources)
	if changed && s.apart != nil {
		s.apart()
	}
	return problems
}

// replace is Replace, and reports whether something else is wrong with policies of the
// API server than before, such as a name that they share with one from a file.
func (s *Store) replace(origin string, sources Sources) (wrong stored.Problems, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	previous, had := s.origins[origin]
	s.origins[origin] = sources
	taken := false
	defer func() {
		if taken {
			return
		}
		if s.origins[origin] = previous; !had {
			delete(s.origins, origin)
		}
	}()
	set, problems, ofAPI := s.compile()
	if len(problems) > 0 {
		s.refuse(problems)
		return problems, false
	}
	taken = true
	before := s.ofAPI.Swap(&ofAPI)
	s.take(set)
	return nil, before == nil || !reflect.DeepEqual(*before, ofAPI)
}

// Merge takes what the API server holds: every policy that can work, one by one.
// It returns the problems of the others, which are not in force.
func (s *Store) Merge(sources Sources) stored.Problems {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fromAPI = sources
	set, problems := s.compileAll(s.joined())
	ofAPI := byObject(problems)
	s.ofAPI.Store(&ofAPI)
	s.put(set)
	return problems
}

// byObject has the problems of what no file holds.
func byObject(problems stored.Problems) map[stored.Ref]stored.Problems {
	found := map[stored.Ref]stored.Problems{}
	for _, p := range problems {
		if p.Origin == "" {
			id := stored.Ref{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
			found[id] = append(found[id], p)
		}
	}
	return found
}

// problemsOf are what is wrong with an object of the API server beside all others.
func (s *Store) problemsOf(id stored.Ref) stored.Problems {
	if found := s.ofAPI.Load(); found != nil {
		return (*found)[id]
	}
	return nil
}

// compile compiles everything. Problems of the API server's policies do not count
// against files: only these policies are left out, and their Outcome tells.
func (s *Store) compile() (set *Set, problems stored.Problems, ofAPI map[stored.Ref]stored.Problems) {
	set, problems = s.compileAll(s.joined())
	ofAPI = byObject(problems)
	return set, slices.DeleteFunc(problems, func(p stored.Problem) bool { return p.Origin == "" }), ofAPI
}

// joined has the policies from files first, so that one of the API server which
// takes the name of one from a file is the one that is refused.
func (s *Store) joined() Sources {
	var all Sources
	for _, origin := range slices.Sorted(maps.Keys(s.origins)) {
		all.add(s.origins[origin])
	}
	all.add(s.fromAPI)
	return all
}

// Refuse records that an origin could not be read at all.
func (s *Store) Refuse(problems stored.Problems) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse(problems)
}

func (s *Store) refuse(problems stored.Problems) {
	s.state.Failed, s.state.Problems = s.now(), problems
	s.state.Failures++
}

func (s *Store) take(set *Set) {
	s.state.Failed, s.state.Problems = time.Time{}, nil
	s.put(set)
}

// leaves is how long a module that is not in force any more is remembered: an API
// server may ask for it a moment longer than it is there.
const leaves = 30 * time.Second

// Left reports whether the policies that are modules with this id were in force a
// moment ago and were removed.
func (s *Store) Left(id string) bool {
	ended, ok := s.left.Load(id)
	return ok && s.now().Sub(ended.(time.Time)) < leaves
}

// leave remembers which modules a new set has no more.
func (s *Store) leave(old, set *Set) {
	now := s.now()
	s.left.Range(func(id, ended any) bool {
		if now.Sub(ended.(time.Time)) >= leaves {
			s.left.Delete(id)
		}
		return true
	})
	for id := range old.Modules.ByID {
		if old.Module(id) != nil && set.Module(id) == nil {
			s.left.Store(id, now)
		}
	}
	for id := range set.Modules.ByID {
		if set.Module(id) != nil {
			s.left.Delete(id)
		}
	}
}

// put puts a set in force.
func (s *Store) put(set *Set) {
	s.leave(s.current.Load(), set)
	s.current.Store(set)
	s.state.Loaded = s.now()
	for _, watch := range s.watches {
		watch(set)
	}
}

// alone compiles the policies of one object, which is kept for the sets that it comes
// to stand in.
func (s *Store) alone(sources Sources) (*Set, stored.Problems) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lone := s.cache.beside()
	set, problems := compileWith(sources, s.pods.Unsure(), exception.Options{}, lone)
	s.cache.add(lone)
	return set, problems
}

// compileAll brings everything together; policies only if one of them changed.
func (s *Store) compileAll(sources Sources) (*Set, stored.Problems) {
	if s.compiled == nil || !sources.samePolicies(&s.compiledFrom) {
		s.compiled, s.compiledProblems = compilePolicies(sources, s.pods, true, s.cache)
		s.compiledFrom = sources
	}
	passes, problems := s.exceptions.Compile(sources.Exceptions)
	sessions, more := compileBreakglass(&sources, s.uses)
	set := s.compiled.with(passes).Run(s.modules)
	set.Sessions, set.filesOnly, set.foresee = sessions, s.filesOnly, s.foresee
	set.addBroken(problems, more)
	return set, slices.Concat(s.compiledProblems, problems, more)
}

// samePolicies reports whether the very same policies are in both.
func (s *Sources) samePolicies(other *Sources) bool {
	return slices.Equal(s.DenyPolicies, other.DenyPolicies) &&
		slices.Equal(s.ClusterPolicies, other.ClusterPolicies) &&
		slices.Equal(s.Policies, other.Policies) &&
		slices.Equal(s.ClusterAdmissionPolicies, other.ClusterAdmissionPolicies) &&
		slices.Equal(s.AdmissionPolicies, other.AdmissionPolicies) &&
		slices.Equal(s.PolicyServers, other.PolicyServers) &&
		slices.Equal(s.PodKinds, other.PodKinds) &&
		slices.Equal(s.Identities, other.Identities) &&
		slices.Equal(s.Clusters, other.Clusters) &&
		slices.Equal(s.Broken, other.Broken)
}

// add appends what is in other to s, which owns its lists.
func (s *Sources) add(other Sources) {
	s.DenyPolicies = append(s.DenyPolicies, other.DenyPolicies...)
	s.ClusterPolicies = append(s.ClusterPolicies, other.ClusterPolicies...)
	s.Policies = append(s.Policies, other.Policies...)
	s.ClusterAdmissionPolicies = append(s.ClusterAdmissionPolicies, other.ClusterAdmissionPolicies...)
	s.AdmissionPolicies = append(s.AdmissionPolicies, other.AdmissionPolicies...)
	for spec := range other.ModuleRules {
		if s.ModuleRules == nil {
			s.ModuleRules = map[*v1alpha1.AdmissionPolicySpec]bool{}
		}
		s.ModuleRules[spec] = true
	}
	s.PolicyServers = append(s.PolicyServers, other.PolicyServers...)
	s.PodKinds = append(s.PodKinds, other.PodKinds...)
	s.Identities = append(s.Identities, other.Identities...)
	s.Escalations = append(s.Escalations, other.Escalations...)
	s.Sessions = append(s.Sessions, other.Sessions...)
	s.Clusters = append(s.Clusters, other.Clusters...)
	s.Broken = append(s.Broken, other.Broken...)
	s.Exceptions.Add(other.Exceptions)
}
