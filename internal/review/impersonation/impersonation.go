// Package impersonation knows the reviews by which the API server asks whether
// somebody may act as another: those that it always had, and those of KEP-5284. It is
// the one place that does.
package impersonation

import (
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Verb is the name of the family, and the verb of the oldest form.
const Verb = "impersonate"

const (
	// as begins the verbs that ask whether somebody may be acted as, by kind:
	// impersonate:user-info and its like.
	as = Verb + ":"
	// on begins those that ask what may be done meanwhile: impersonate-on:MODE:VERB.
	on = Verb + "-"
)

// Group is the API group of users where the kind of impersonation is named.
const Group = "authentication.k8s.io"

const (
	nodePrefix    = "system:node:"
	nodesGroup    = "system:nodes"
	accountPrefix = "system:serviceaccount:"
	// accountsGroup has every service account, and with a colon and a namespace those
	// of that namespace.
	accountsGroup = "system:serviceaccounts"
)

// EveryNode is the name of a user that stands for those of all nodes. The API server
// asks about it where it does not say which.
const EveryNode = nodePrefix + "*"

// Is reports whether a verb is one of the family.
func Is(verb string) bool {
	return verb == Verb || strings.HasPrefix(verb, as) || strings.HasPrefix(verb, on)
}

// Form is one of the ways in which who is acted as can be named.
type Form struct {
	Group, Resource, Subresource, Namespace, Name string
	// Implied: it names what whoever is acted as is besides, a service account a user
	// and in the groups of service accounts. The API server asks about the resource that
	// it is, and only who names it means it by the other.
	Implied bool
}

// Forms are all ways to name whoever a review is about, as it was asked first. What
// is asked about by one of them is about the others too: the API server tries each
// that it knows, and one that lets somebody through is enough.
func Forms(verb string, asked Form) []Form {
	if !Is(verb) || strings.HasPrefix(verb, on) || asked.Group != "" && asked.Group != Group {
		return []Form{asked}
	}
	forms := []Form{asked}
	both := func(f Form) {
		for _, group := range []string{"", Group} {
			if f.Group = group; f != asked {
				forms = append(forms, f)
			}
		}
	}
	implied := func(resource string, names ...string) {
		for _, name := range names {
			both(Form{Resource: resource, Name: name, Implied: true})
		}
	}
	switch {
	case asked.Resource == "groups":
		both(asked)
	case asked.Resource == "serviceaccounts":
		both(asked)
		if asked.Name != "" {
			implied("users", accountPrefix+orAny(asked.Namespace)+":"+asked.Name)
			implied("groups", accountsGroup, accountsGroup+":"+orAny(asked.Namespace))
		}
	case asked.Resource == "users":
		both(asked)
		if node, is := strings.CutPrefix(asked.Name, nodePrefix); is {
			forms = append(forms, Form{Group: Group, Resource: "nodes", Name: node})
		}
		if namespace, account, is := accountNamed(asked.Name); is {
			both(Form{Resource: "serviceaccounts", Namespace: namespace, Name: account})
			implied("groups", accountsGroup, accountsGroup+":"+namespace)
		}
	case asked.Resource == "nodes" && asked.Group == Group:
		user := Form{Resource: "users"}
		if asked.Name != "" {
			user.Name = nodePrefix + asked.Name
		}
		both(user)
		implied("groups", nodesGroup)
	}
	return forms
}

// orAny is a namespace, or all of them where a question is about no one.
func orAny(namespace string) string {
	if namespace == "" {
		return "*"
	}
	return namespace
}

// accountNamed is the service account that is a user of that name.
func accountNamed(user string) (namespace, account string, is bool) {
	rest, is := strings.CutPrefix(user, accountPrefix)
	if !is {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// StandsForMany reports whether the form names many at once: the API server asks
// about a star where it does not say which.
func (f *Form) StandsForMany() bool {
	return f.Name == "*" || f.Name == EveryNode || f.Implied && strings.Contains(f.Name, "*")
}

// Target is who a review asks to act as.
type Target struct{ user, uid string }

// Of is who a review asks to act as; ok is false where it names no one, or only a
// group or something else that no one holds a session by.
func Of(verb string, asked Form) (t Target, ok bool) {
	if !Is(verb) || strings.HasPrefix(verb, on) || asked.Name == "" || asked.Group != "" && asked.Group != Group {
		return Target{}, false
	}
	switch asked.Resource {
	case "users":
		return Target{user: asked.Name}, true
	case "serviceaccounts":
		return Target{user: accountPrefix + orAny(asked.Namespace) + ":" + asked.Name}, true
	case "nodes":
		// Those of the core group are machines, and no one acts as them.
		if asked.Group == Group {
			return Target{user: nodePrefix + asked.Name}, true
		}
	case "uids":
		return Target{uid: asked.Name}, true
	}
	return Target{}, false
}

// Is reports whether the target is a user of that name or uid, or may be.
func (t Target) Is(user, uid string) bool {
	return named(t.user, user) || named(t.uid, uid)
}

func named(asked, name string) bool {
	if asked == "" || name == "" {
		return false
	}
	return asked == name || (asked == "*" || asked == EveryNode || strings.HasPrefix(asked, accountPrefix)) && glob.Match(asked, name)
}
