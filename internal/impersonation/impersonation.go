// Package impersonation knows the reviews by which the API server asks whether
// somebody may act as another: those that it always had, and those of KEP-5284. It is
// the one place that does.
package impersonation

import (
	"strings"

	"github.com/sallyport-io/sallyport/internal/glob"
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

const nodePrefix = "system:node:"

// EveryNode is the name of a user that stands for those of all nodes. The API server
// asks about it where it does not say which.
const EveryNode = nodePrefix + "*"

// Is reports whether a verb is one of the family.
func Is(verb string) bool {
	return verb == Verb || strings.HasPrefix(verb, as) || strings.HasPrefix(verb, on)
}

// Form is one of the ways in which who is acted as can be named.
type Form struct{ Group, Resource, Subresource, Namespace, Name string }

// Forms are all ways to name whoever a review is about, as it was asked first. What
// is asked about by one of them is about the others too: the API server tries each
// that it knows, and one that lets somebody through is enough.
func Forms(verb string, asked Form) []Form {
	if !Is(verb) || strings.HasPrefix(verb, on) || asked.Group != "" && asked.Group != Group {
		return []Form{asked}
	}
	forms := []Form{asked}
	add := func(f Form) {
		if f != asked {
			forms = append(forms, f)
		}
	}
	both := func(f Form) {
		for _, group := range []string{"", Group} {
			f.Group = group
			add(f)
		}
	}
	switch {
	case asked.Resource == "groups", asked.Resource == "serviceaccounts":
		both(asked)
	case asked.Resource == "users":
		both(asked)
		if node, is := strings.CutPrefix(asked.Name, nodePrefix); is {
			add(Form{Group: Group, Resource: "nodes", Name: node})
		}
	case asked.Resource == "nodes" && asked.Group == Group:
		user := Form{Resource: "users"}
		if asked.Name != "" {
			user.Name = nodePrefix + asked.Name
		}
		both(user)
	}
	return forms
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
		return Target{user: "system:serviceaccount:" + asked.Namespace + ":" + asked.Name}, true
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
	return asked == name || (asked == "*" || asked == EveryNode) && glob.Match(asked, name)
}
