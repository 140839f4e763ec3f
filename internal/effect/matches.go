package effect

// What blocks that say what a policy is about say without effect.
var (
	MatchesNothing = &Rule{
		Reason: "MatchesNothing", Answer: Warned, Kinds: policies + ", ClusterAdmissionPolicy, AdmissionPolicy", Field: "`match`, `exclude`, `rules`",
		What:   "kinds that Kubernetes does not have, operations that are never asked about, DELETE",
		Write:  "the kind as it is written, the operations that are asked about, a DenyPolicy about deletions",
		detail: said,
	}
	PodsOnly = &Rule{
		Reason: "PodsOnly", Answer: Warned, Kinds: policies, Field: "`match`, `exclude`",
		What:   "Pods with other kinds, or Pods by name, label or annotation: the rule does not carry over to what makes Pods",
		Write:  "a rule about Pods only, all kinds that make pods, or the annotation `sallyport.io/autogen-controllers`",
		detail: said,
	}
	ExcludesAll = &Rule{
		Reason: "ExcludesAll", Answer: Warned, Kinds: policies, Field: "`exclude`",
		What:   "each kind that `match` names, without a name, a namespace, a label or a user",
		Write:  "what makes the objects different that are excluded, or nothing",
		detail: "excludes %s, each kind that match names, so that the rule is about nothing; add the names, namespaces, labels or subjects that are meant, or leave exclude out",
	}
	ExcludesNothing = &Rule{
		Reason: "ExcludesNothing", Answer: Warned, Kinds: policies, Field: "`exclude`",
		What:   "only kinds that the rule is not about",
		Write:  "a kind that `match` names, or nothing",
		detail: "excludes %s, which the rule is not about; it is about %s",
	}
	NameNeverThere = &Rule{
		Reason: "NameNeverThere", Answer: Refused, Kinds: "all", Field: "names and namespaces",
		What:   "a name that no object can have, such as one with `{{ }}`, capital letters or a space",
		Write:  "the name as it is",
		detail: said,
	}

	ofMatches = []*Rule{MatchesNothing, PodsOnly, ExcludesAll, ExcludesNothing, NameNeverThere}
)
