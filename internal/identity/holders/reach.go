package holders

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/cluster"
)

// DefaultLimit is how many accesses are listed of one runtime at most.
const DefaultLimit = 1000

// Options of an Audit.
type Options struct {
	// Makers are resources that make pods, beside those of Kubernetes. Nil: those
	// that Makers lists.
	Makers []schema.GroupResource
	// Limit is how many accesses are listed of one runtime at most, and how many
	// holders of a claim; 0: DefaultLimit.
	Limit int
}

// Audit answers for the runtimes of one cluster. It keeps what it has found out
// of a namespace, and is not safe for concurrent use.
type Audit struct {
	rbac       *cluster.RBAC
	ways       []way
	limit      int
	everywhere []entry
	local      map[string][]entry
	missing    map[string][]cluster.MissingRole
	claims     map[Claim]*held
	selves     map[cluster.Subject][]cluster.Subject
	key        []byte
}

// New makes an Audit.
func New(rbac *cluster.RBAC, o Options) *Audit {
	if o.Makers == nil {
		o.Makers = Makers(nil)
	}
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	a := &Audit{
		rbac: rbac, ways: ways(askMakers(o.Makers)), limit: o.Limit, local: map[string][]entry{},
		missing: map[string][]cluster.MissingRole{}, claims: map[Claim]*held{}, selves: map[cluster.Subject][]cluster.Subject{},
	}
	a.everywhere = entries(a.openings(rbac.Grants("")))
	return a
}

var (
	everything = []Way{{Way: Everything, Says: "do everything", Verbs: []string{"*"}, Resources: []string{"*"}}}
	superusers = cluster.Subject{Kind: rbacv1.GroupKind, Name: cluster.Superusers}
)

// Reach lists who can reach a runtime, and through which rule. It is one step:
// that somebody may act as another, or take a token of a service account, is
// listed whether or not that other one reaches anything. Whether a way is guarded
// is said for those who hold none of the runtime's claims.
func (a *Audit) Reach(r Runtime) Reached {
	reached := Reached{Missing: a.missingIn(r.Namespace), Accesses: []Access{{Subject: superusers, Ways: everything}}}
	asked := asksFor(r.Claims)
	for e := range a.reaching(r.Namespace) {
		ways, guarded := e.opening.waysTo(&r, asked, &a.key)
		switch {
		case len(ways) == 0:
		case len(reached.Accesses) == a.limit:
			reached.More++
		default:
			reached.Accesses = append(reached.Accesses, Access{e.subject, ways, guarded, e.opening.through})
		}
	}
	return reached
}

// reaching walks the entries that count in a namespace, in the order of subject;
// those of the whole cluster first where a subject has both.
func (a *Audit) reaching(namespace string) func(yield func(entry) bool) {
	local, known := a.local[namespace]
	if !known && namespace != "" {
		local = entries(a.openings(a.rbac.Grants(namespace)[len(a.rbac.Grants("")):]))
		a.local[namespace] = local
	}
	return func(yield func(entry) bool) {
		wide, local := a.everywhere, local
		for len(wide)+len(local) > 0 {
			from := &wide
			if len(wide) == 0 || len(local) > 0 && local[0].subject.Compare(wide[0].subject) < 0 {
				from = &local
			}
			if !yield((*from)[0]) {
				return
			}
			*from = (*from)[1:]
		}
	}
}

// missingIn lists the bindings that count in a namespace and whose role is not
// there.
func (a *Audit) missingIn(namespace string) []cluster.MissingRole {
	missing, known := a.missing[namespace]
	if !known {
		missing = a.rbac.Missing(namespace)
		a.missing[namespace] = missing
	}
	return missing
}

// entry is one subject with one rule.
type entry struct {
	subject cluster.Subject
	opening *opening
}

// entries are those of all openings, by subject.
func entries(openings []*opening) []entry {
	var all []entry
	for _, o := range openings {
		for _, s := range o.grant.Subjects {
			all = append(all, entry{s, o})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.subject.Compare(b.subject) })
	return all
}
