package effect

// What blocks that say what a policy is about say without effect.
var (
	MatchesNothing = &Rule{
		Reason: "MatchesNothing", Answer: Warned, Kinds: policies + ", DenyPolicy, ClusterAdmissionPolicy, AdmissionPolicy, " + exceptions, Field: "`match`, `exclude`, `rules`, selectors",
		What:   "kinds that Kubernetes does not have, operations that are never asked about, DELETE; entries of `all` that have no kind, operation, name, namespace, label or user in common; selectors that no labels can meet",
		Write:  "the kind as it is written, the operations that are asked about, a DenyPolicy about deletions; `any` in place of `all`",
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
		What:   "all that `match` is about: its kinds and nothing else, every namespace or name (`*`), everybody (`system:authenticated`), each operation, or just what `match` names",
		Write:  "what makes the objects different that are excluded, or nothing",
		detail: "excludes all that match is about, so that the rule is about nothing%s; name the kinds, names, namespaces, labels, operations or subjects that are meant, or leave exclude out",
	}
	ExcludesNothing = &Rule{
		Reason: "ExcludesNothing", Answer: Warned, Kinds: policies, Field: "`exclude`",
		What:   "only kinds, names, namespaces, operations, labels or users that the rule is not about",
		Write:  "what `match` is about, or nothing",
		detail: "excludes %s; write what is meant of that, or take it out",
	}
	NameNeverThere = &Rule{
		Reason: "NameNeverThere", Answer: Refused, Kinds: "all", Field: "names and namespaces",
		What:   "a name that no object can have, such as one with `{{ }}`, upper case letters or a space",
		Write:  "the name as it is",
		detail: said,
	}

	ConditionFixed = &Rule{
		Reason: "ConditionFixed", Answer: Warned, Kinds: "ClusterAdmissionPolicy, AdmissionPolicy, " + exceptions, Field: "`matchConditions`, `conditions`",
		What:   "a condition that is `false`, so that nobody is asked, or nothing excused, or `true`, which asks nothing",
		Write:  "when it is to hold, or nothing",
		detail: said,
	}

	ScaleForgotten = &Rule{
		Reason: "ScaleForgotten", Answer: Warned, Kinds: policies, Field: "`match`",
		What:   "Deployment, StatefulSet, ReplicaSet, ReplicationController, or a custom kind that is known to scale, in a rule that asks something of `spec.replicas`, without the subresource `scale`, by which `kubectl scale` and autoscalers write it",
		Write:  "the subresource too, such as `Deployment/scale`: in the same rule, or in one of its own in the same policy",
		detail: "asks something of spec.replicas, and is not asked when it is written by the subresource scale, as kubectl scale and autoscalers do; write %s as well: %s",
	}

	ofMatches = []*Rule{MatchesNothing, PodsOnly, ExcludesAll, ExcludesNothing, NameNeverThere, ConditionFixed, ScaleForgotten}
)
