package effect

// What rules about Pod Security Standards say without effect.
var (
	ExclusionIdle = &Rule{
		Reason: "ExclusionIdle", Answer: Warned, Kinds: policies, Field: "`validate.podSecurity.exclude`",
		What:   "a control, or a field of one, that the level does not restrict in that version, such as `capabilities.drop` at baseline",
		Write:  "what the level restricts in that version, or nothing",
		detail: said,
	}
	ExceptionIdle = &Rule{
		Reason: "ExceptionIdle", Answer: Warned, Kinds: exceptions, Field: "`podSecurity`",
		What:   "a control, or a field of one, that none of the rules restricts that the exception names",
		Write:  "what the rules restrict, or nothing to excuse them whole",
		detail: said,
	}
	DemandsNothing = &Rule{
		Reason: "DemandsNothing", Answer: Warned, Kinds: policies, Field: "`validate.podSecurity.level`, `validate.cel.expressions`",
		What:   "level `privileged`, which lets every pod in; an expression that is `true`",
		Write:  "`baseline` or `restricted`; what the object has to be",
		detail: said,
	}
	VersionIdle = &Rule{
		Reason: "VersionIdle", Answer: Warned, Kinds: policies, Field: "`validate.podSecurity.defaults`",
		What:   "a version without its level, or with level `privileged`, as in `enforce-version` without `enforce`",
		Write:  "the level too",
		detail: "is a version without a level that demands anything; give %s: baseline or restricted, or leave the version out",
	}
	ExistingIdle = &Rule{
		Reason: "ExistingIdle", Answer: Warned, Kinds: policies, Field: "`validate.allowExistingViolations`",
		What:   "`false` beside `podSecurity` or `cel`: it counts for patterns only",
		Write:  "nothing",
		detail: "counts for patterns only: %s; leave it out",
	}

	ofStandards = []*Rule{ExclusionIdle, ExceptionIdle, DemandsNothing, VersionIdle, ExistingIdle}
)

const exceptions = "PolicyException, ClusterPolicyException, PolicyExceptionRequest"
