package impersonation

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIs(t *testing.T) {
	for verb, want := range map[string]bool{
		"impersonate": true, "impersonate:user-info": true, "impersonate:associated-node": true, "impersonate-on:user-info:get": true,
		"impersonate-on:serviceaccount:deletecollection": true, "impersonates": false, "get": false, "": false, "*": false, "Impersonate": false,
	} {
		if got := Is(verb); got != want {
			t.Errorf("%q: %t", verb, got)
		}
	}
}

// besides are what somebody is besides: pairs of a resource and a name.
func besides(pairs ...string) []Form {
	var forms []Form
	for i := 0; i < len(pairs); i += 2 {
		for _, group := range []string{"", Group} {
			forms = append(forms, Form{Group: group, Resource: pairs[i], Name: pairs[i+1], Implied: true})
		}
	}
	return forms
}

// TestForms names who is acted as in each way in which the API server does.
func TestForms(t *testing.T) {
	for _, tt := range []struct {
		verb  string
		asked Form
		more  []Form
	}{
		{"impersonate", Form{Resource: "users", Name: "a"}, []Form{{Group: Group, Resource: "users", Name: "a"}}},
		{"impersonate:user-info", Form{Group: Group, Resource: "groups", Name: "*"}, []Form{{Resource: "groups", Name: "*"}}},
		{"impersonate:serviceaccount", Form{Group: Group, Resource: "serviceaccounts", Namespace: "n", Name: "a"},
			append([]Form{{Resource: "serviceaccounts", Namespace: "n", Name: "a"}}, besides("users", "system:serviceaccount:n:a", "groups", "system:serviceaccounts", "groups", "system:serviceaccounts:n")...)},
		{"impersonate", Form{Resource: "serviceaccounts", Name: "*"},
			append([]Form{{Group: Group, Resource: "serviceaccounts", Name: "*"}}, besides("users", "system:serviceaccount:*:*", "groups", "system:serviceaccounts", "groups", "system:serviceaccounts:*")...)},
		{"impersonate", Form{Resource: "serviceaccounts"}, []Form{{Group: Group, Resource: "serviceaccounts"}}},
		{"impersonate", Form{Resource: "users", Name: "system:serviceaccount:n:a"}, append([]Form{
			{Group: Group, Resource: "users", Name: "system:serviceaccount:n:a"},
			{Resource: "serviceaccounts", Namespace: "n", Name: "a"}, {Group: Group, Resource: "serviceaccounts", Namespace: "n", Name: "a"},
		}, besides("groups", "system:serviceaccounts", "groups", "system:serviceaccounts:n")...)},
		{"impersonate", Form{Resource: "users", Name: "system:serviceaccount:n"}, []Form{{Group: Group, Resource: "users", Name: "system:serviceaccount:n"}}},
		{"impersonate", Form{Resource: "users", Name: "system:node:w"}, []Form{{Group: Group, Resource: "users", Name: "system:node:w"}, {Group: Group, Resource: "nodes", Name: "w"}}},
		{"impersonate:associated-node", Form{Group: Group, Resource: "nodes", Name: "*"}, append([]Form{{Resource: "users", Name: EveryNode}, {Group: Group, Resource: "users", Name: EveryNode}}, besides("groups", "system:nodes")...)},
		{"impersonate:arbitrary-node", Form{Group: Group, Resource: "nodes"}, append([]Form{{Resource: "users"}, {Group: Group, Resource: "users"}}, besides("groups", "system:nodes")...)},
		{"impersonate", Form{Group: Group, Resource: "uids", Name: "u"}, nil},
		{"impersonate", Form{Resource: "nodes", Name: "w"}, nil},
		{"impersonate", Form{Group: "example.com", Resource: "users", Name: "a"}, nil},
		{"impersonate-on:user-info:get", Form{Resource: "users", Name: "a"}, nil},
		{"get", Form{Resource: "users", Name: "a"}, nil},
	} {
		want := append([]Form{tt.asked}, tt.more...)
		if diff := cmp.Diff(want, Forms(tt.verb, tt.asked)); diff != "" {
			t.Errorf("%s %+v (-want +got):\n%s", tt.verb, tt.asked, diff)
		}
	}
}

// TestTarget finds out who is meant, and takes no one else for him.
func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		verb           string
		asked          Form
		user, uid      string
		named, isMeant bool
	}{
		{"impersonate", Form{Resource: "users", Name: "a"}, "a", "", true, true},
		{"impersonate", Form{Resource: "users", Name: "a"}, "b", "a", true, false},
		{"impersonate", Form{Resource: "users", Name: "*"}, "b", "", true, true},
		{"impersonate", Form{Resource: "users", Name: "a*"}, "ab", "", true, false},
		{"impersonate:user-info", Form{Group: Group, Resource: "uids", Name: "u"}, "a", "u", true, true},
		{"impersonate:user-info", Form{Group: Group, Resource: "uids", Name: "u"}, "u", "", true, false},
		{"impersonate:serviceaccount", Form{Group: Group, Resource: "serviceaccounts", Namespace: "n", Name: "a"}, "system:serviceaccount:n:a", "", true, true},
		{"impersonate:serviceaccount", Form{Group: Group, Resource: "serviceaccounts", Namespace: "n", Name: "*"}, "system:serviceaccount:n:a", "", true, true},
		{"impersonate:serviceaccount", Form{Group: Group, Resource: "serviceaccounts", Name: "a"}, "system:serviceaccount:n:a", "", true, true},
		{"impersonate:serviceaccount", Form{Group: Group, Resource: "serviceaccounts", Namespace: "n", Name: "*"}, "system:serviceaccount:m:a", "", true, false},
		{"impersonate:arbitrary-node", Form{Group: Group, Resource: "nodes", Name: "w"}, "system:node:w", "", true, true},
		{"impersonate:associated-node", Form{Group: Group, Resource: "nodes", Name: "*"}, "system:node:w", "", true, true},
		{"impersonate:associated-node", Form{Group: Group, Resource: "nodes", Name: "*"}, "a", "", true, false},
		{"impersonate", Form{Resource: "nodes", Name: "w"}, "system:node:w", "", false, false},
		{"impersonate", Form{Resource: "users"}, "", "", false, false},
		{"impersonate", Form{Resource: "groups", Name: "a"}, "a", "", false, false},
		{"impersonate-on:user-info:get", Form{Resource: "users", Name: "a"}, "a", "", false, false},
		{"get", Form{Resource: "users", Name: "a"}, "a", "", false, false},
		{"impersonate", Form{Group: "example.com", Resource: "users", Name: "a"}, "a", "", false, false},
	} {
		target, named := Of(tt.verb, tt.asked)
		if named != tt.named || target.Is(tt.user, tt.uid) != tt.isMeant {
			t.Errorf("%s %+v: named %t, meant %t", tt.verb, tt.asked, named, target.Is(tt.user, tt.uid))
		}
	}
}

// TestRights gives each right a verb of the family.
func TestRights(t *testing.T) {
	for _, r := range Rights() {
		if len(r.Verbs) == 0 || slices.ContainsFunc(r.Verbs, func(verb string) bool { return !Is(verb) }) {
			t.Errorf("%+v", r)
		}
	}
}
