package match

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The operations by their bits, in the order of knownOperations.
const (
	creates operations = 1 << iota
	updates
	deletes
	connects

	everyOperation = creates | updates | deletes | connects
)

// served are the operations by which admission is asked about a subresource, for a
// kind or, with none, for every kind. Of those that are not here nothing is known.
var served = map[string]operations{
	"Pod/attach": connects, "Pod/exec": connects, "Pod/portforward": connects, "Pod/proxy": connects,
	"Service/proxy": connects, "Node/proxy": connects,
	"Pod/binding": creates, "Pod/eviction": creates, "ServiceAccount/token": creates,
	"Pod/ephemeralcontainers": updates, "Pod/resize": updates,
	"CertificateSigningRequest/approval": updates, "Namespace/finalize": updates,
	"/scale": updates, "/status": updates,
	// Reading is not an operation.
	"Pod/log": 0,
}

// createdOnly are kinds that are answered and not kept, and Binding.
var createdOnly = strings.Fields("Binding LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectReview SelfSubjectRulesReview SubjectAccessReview TokenReview")

// operationsOn are those by which admission is asked about a kind and a subresource.
func operationsOn(kind, subresource string) operations {
	if subresource == "" {
		if slices.Contains(createdOnly, kind) {
			return creates
		}
		return creates | updates | deletes
	}
	for _, name := range []string{kind + "/" + subresource, "/" + subresource} {
		if o, known := served[name]; known {
			return o
		}
	}
	return everyOperation
}

// served are the operations by which admission can be asked about what the entry
// names.
func (k *Kind) served() operations {
	if k.subresource.pattern {
		return everyOperation
	}
	return operationsOn(k.kind.text, k.subresource.text)
}

func (k *Kind) String() string {
	if k.subresource.text == "" {
		return k.kind.text
	}
	return k.kind.text + "/" + k.subresource.text
}

// Whole is String with the group and the version, where the entry names them.
func (k *Kind) Whole() string {
	whole := k.String()
	for _, p := range []*part{&k.version, &k.group} {
		if !p.any && p.text != "" {
			whole = p.text + "/" + whole
		}
	}
	return whole
}

// NeverAsked says, of what a rule of a webhook names, why no request with one of the
// operations is about it; "" where one can be. Of resources that are not of Kubernetes
// itself nothing is known.
func NeverAsked(groups []string, resource string, asked []string) string {
	name, subresource, _ := strings.Cut(resource, "/")
	var can operations
	known := name == "*" && subresource == ""
	if known {
		can = operationsOn("", "")
	}
	for gr, kind := range builtinResources {
		if gr.Resource == name && (slices.Contains(groups, gr.Group) || slices.Contains(groups, "*")) {
			known, can = true, can|operationsOn(kind, subresource)
		}
	}
	if !known || subresource == "*" {
		return ""
	}
	var given operations
	for i, operation := range knownOperations {
		if slices.Contains(asked, string(operation)) || slices.Contains(asked, "*") {
			given |= 1 << i
		}
	}
	return given.never(resource, can, "pods/exec")
}

// never says why none of the operations is asked about what has a name, given those
// that can be; "" where one is.
func (o operations) never(name string, can operations, connected string) string {
	switch {
	case can == 0:
		return fmt.Sprintf("matches no request: reading %s is not an operation of admission; write a DenyPolicy about it", name)
	case o&can != 0:
		return ""
	case can&connects == 0 && o == connects:
		return fmt.Sprintf("matches no request: what is connected to is a subresource, such as %s, and %s is none; name the subresource, or write operations: [%s]", connected, name, can)
	}
	return fmt.Sprintf("matches no request with operations [%s]: about %s the API server asks with %s; write operations: [%s]", o, name, can, can)
}

func (o operations) String() string {
	var names []string
	for i, known := range knownOperations {
		if o&(1<<i) != 0 {
			names = append(names, string(known))
		}
	}
	return strings.Join(names, ", ")
}

const notAskedToDelete = "rules are not asked about DELETE; to keep objects from being deleted write a DenyPolicy with verbs: [delete, deletecollection], or a module"

// Idle calls say with each part of the block that no request can match, by the
// operations and the kinds that it names. path is that of the block. guards is set for
// a block that says what a rule is about: with DELETE in it, it looks as if that were
// judged.
func (m *Match) Idle(path *field.Path, guards bool, say func(at *field.Path, detail string)) {
	if m == nil {
		return
	}
	together := everyOperation
	for i := range m.filters {
		if o := m.filters[i].operations; m.all && o != 0 {
			together &= o
		}
	}
	if together == 0 {
		say(path.Child("all"), "matches no request: no operation is in all of the lists")
		return
	}
	if detail := m.Contradiction(); detail != "" {
		say(path.Child("all"), detail)
		return
	}
	for i := range m.filters {
		f := &m.filters[i]
		at := f.place.in(path)
		given := f.operations
		if given == 0 {
			given = everyOperation
		}
		given &= together
		if guards && f.operations&deletes != 0 {
			detail := notAskedToDelete
			if given == deletes {
				detail = "matches no request: " + detail
			}
			say(at.Child("resources", "operations"), detail)
			if given == deletes {
				continue
			}
		}
		for j := range f.kinds {
			kind := &f.kinds[j]
			if detail := kind.slip(); detail != "" {
				say(f.kindEntries.at(at, j), detail)
				continue
			}
			if detail := given.never(kind.String(), kind.served(), "Pod/exec"); detail != "" {
				say(f.kindEntries.at(at, j), detail)
			}
		}
	}
}

// InNoNamespace calls say with each kind of the block that is known to have no
// namespace, where the filter goes by namespaces, or all of them do: the block stands in
// a policy of a namespace. A Namespace goes by its own name and labels otherwise.
func (m *Match) InNoNamespace(path *field.Path, all bool, say func(at *field.Path, kind string)) {
	if m == nil {
		return
	}
	for i := range m.filters {
		f := &m.filters[i]
		if !all && !f.namespaceEntries.given() && f.namespaceSelector == nil {
			continue
		}
		for j := range f.kinds {
			if k := &f.kinds[j]; k.BuiltIn() && k.ClusterScoped() && (all || k.kind.text != "Namespace") {
				say(f.kindEntries.at(f.place.in(path), j), k.String())
			}
		}
	}
}

// SaysTheSame reports whether both blocks say the same in the same words.
func (m *Match) SaysTheSame(other *Match) bool {
	return m != nil && other != nil && m.all == other.all && m.open == other.open && slices.EqualFunc(m.filters, other.filters, func(a, b filter) bool {
		return a.operations == b.operations && slices.Equal(a.kinds, b.kinds) && slices.Equal(a.nameEntries.values, b.nameEntries.values) &&
			slices.Equal(a.namespaceEntries.values, b.namespaceEntries.values) && equalSelectors(a.selector, b.selector) &&
			equalSelectors(a.namespaceSelector, b.namespaceSelector) && slices.Equal(a.annotations, b.annotations) && a.user == nil && b.user == nil
	})
}

// KindNames are the kinds that the block names, as they are written, each once.
func (m *Match) KindNames() []string {
	var names []string
	m.Kinds(nil, func(k Kind, _ *field.Path) {
		if name := k.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	return names
}
