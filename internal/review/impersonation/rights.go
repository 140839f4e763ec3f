package impersonation

// Right is a right to act as somebody, as RBAC has it.
type Right struct {
	Group, Resource string
	// AnySubresource: it is about every subresource, each on its own.
	AnySubresource bool
	// Verbs, any of which is enough.
	Verbs []string
	// ClusterWide: the resource has no namespace, so that a RoleBinding does not give
	// it.
	ClusterWide bool
	// Of says whom or what it lets act as.
	Of string
	// Alone is set where it makes somebody another already, and not only together with
	// a right to be some user.
	Alone bool
}

// Rights are all of them.
func Rights() []Right {
	return []Right{
		{Resource: "users", Verbs: []string{Verb}, ClusterWide: true, Of: "users", Alone: true},
		{Group: Group, Resource: "users", Verbs: []string{as + "user-info"}, ClusterWide: true, Of: "users", Alone: true},
		{Resource: "groups", Verbs: []string{Verb}, ClusterWide: true, Of: "groups", Alone: true},
		{Group: Group, Resource: "groups", Verbs: []string{as + "user-info"}, ClusterWide: true, Of: "groups", Alone: true},
		{Resource: "serviceaccounts", Verbs: []string{Verb}, Of: "service accounts", Alone: true},
		{Group: Group, Resource: "serviceaccounts", Verbs: []string{as + "serviceaccount"}, Of: "service accounts", Alone: true},
		{Group: Group, Resource: "nodes", Verbs: []string{as + "arbitrary-node", as + "associated-node"}, ClusterWide: true, Of: "nodes", Alone: true},
		{Group: Group, Resource: "uids", Verbs: []string{Verb, as + "user-info"}, ClusterWide: true, Of: "UIDs"},
		{Group: Group, Resource: "userextras", AnySubresource: true, Verbs: []string{Verb, as + "user-info"}, ClusterWide: true, Of: "extra attributes of users"},
	}
}
