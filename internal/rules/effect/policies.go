package effect

// What other parts of policies, and other kinds, say without effect.
var (
	OverridesIdle = &Rule{
		Reason: "OverridesIdle", Answer: Warned, Kinds: policies, Field: "`validationFailureActionOverrides`, `failureActionOverrides`",
		What:   "overrides of a policy whose rules all give an action of their own; one for namespaces that an earlier one has; in a Policy, one for another namespace",
		Write:  "the overrides into the rules; each namespace once; the Policy's own namespace",
		detail: said,
	}
	VariableIdle = &Rule{
		Reason: "VariableIdle", Answer: Warned, Kinds: policies, Field: "`validate.cel.variables`",
		What:   "a variable that no expression uses",
		Write:  "`variables.NAME` in an expression, or nothing",
		detail: "defines %q, which no expression uses; write variables.%s where it is meant, or take it out",
	}
	ContextIdle = &Rule{
		Reason: "ContextIdle", Answer: Warned, Kinds: "ClusterPolicy", Field: "`contextAware`",
		What:   "a grant that no expression reads",
		Write:  "nothing",
		detail: "grants what no rule reads; only validate.cel reads it, by cluster.get and cluster.list",
	}
	NullInSettings = &Rule{
		Reason: "NullInSettings", Answer: Warned, Kinds: "ClusterAdmissionPolicy, AdmissionPolicy", Field: "`settings`",
		What:   "`null`, at any depth",
		Write:  "nothing, or the value that the module takes for none",
		detail: "is null, which kubectl apply takes out on its way: the module may see it or not; leave it out, or write the value that the module takes for none",
	}
	KnownAlready = &Rule{
		Reason: "KnownAlready", Answer: Warned, Kinds: "PodKind", Field: "`kinds`",
		What:   "a place of pods that Sallyport knows by itself",
		Write:  "nothing",
		detail: "%s makes pods at %s, which Sallyport knows by itself (at %s); take out what is known",
	}
	HalfOpen = &Rule{
		Reason: "HalfOpen", Answer: Warned, Kinds: "DenyPolicy", Field: "`rules[].verbs`",
		What:   "only some of the verbs by which a way into pods is taken that the rule names, such as `create` on `pods/exec`",
		Write:  "all of them, as the warning lists them",
		detail: said,
	}
	LocksOut = &Rule{
		Reason: "LocksOut", Answer: Refused, Kinds: "DenyPolicy", Field: "`rules`",
		What:   "rules that keep everybody from taking the policy away, from changing it and from excusing anyone from it, as `*` for verbs, groups and resources does",
		Write:  "the verbs and resources that are meant, or `appliesTo`, `namespaces` or `resourceNames`",
		detail: "lock everybody out: nobody could change DenyPolicy %s or take it away, or write an exception to it; name the verbs, groups and resources that are meant, or narrow the rules by namespaces or resourceNames, or the policy by appliesTo",
	}
	ExemptsAll = &Rule{
		Reason: "ExemptsAll", Answer: Warned, Kinds: "DenyPolicy", Field: "`podSecurityRules.exemptions.namespaces`",
		What:   "`*`, `**` or `?*`: every pod is exempt",
		Write:  "the namespaces that are meant",
		detail: "exempts every pod, so that nothing is judged; name the namespaces that are meant",
	}

	LetsInNobody = &Rule{
		Reason: "LetsInNobody", Answer: Warned, Kinds: "BreakglassEscalation", Field: "`podSecurityOverrides`",
		What:   "`enabled: true` without `maxAllowedScore` and `exemptFactors`: no session lets anybody into a pod that is denied",
		Write:  "`maxAllowedScore`, `exemptFactors`, or both",
		detail: "is enabled and lets nobody into a pod that is denied; give maxAllowedScore for scores, exemptFactors for factors, or both, or leave podSecurityOverrides out",
	}
	NotThere = &Rule{
		Reason: "NotThere", Answer: Warned, Kinds: exceptions + ", ClusterAdmissionPolicy, AdmissionPolicy, BreakglassSession", Field: "`exceptions`, `policyServer`, `escalationRef`",
		What:   "a policy, a rule, a PolicyServer or a BreakglassEscalation that is not there",
		Write:  "the name as it is; it may come later, except for a PolicyServer: the API server takes no policy that is put at one that is not there",
		detail: said,
	}
	Excused = &Rule{
		Reason: "Excused", Answer: Shown, Kinds: "DenyPolicy, " + policies + ", ClusterAdmissionPolicy, AdmissionPolicy, IdentitySource", Field: "rules",
		What:   "rules of which an exception that is in force excuses all, for every object; also except for anonymous requests, or for what is in no namespace, which the message then says",
		Write:  "what the exception is meant for into its `match`, or an end to it",
		detail: said,
	}
	NothingThere = &Rule{
		Reason: "NothingThere", Answer: Shown, Kinds: "DenyPolicy, " + policies + ", ClusterAdmissionPolicy", Field: "namespaces and selectors of namespaces",
		What:   "rules that are about no namespace that there is, or exempt every one",
		Write:  "the namespaces that are meant; they may come later",
		detail: said,
	}
	NotGuarded = &Rule{
		Reason: "NotGuarded", Answer: Shown, Kinds: policies + ", ClusterAdmissionPolicy", Field: "namespaces and selectors of namespaces",
		What:   "rules that are only about namespaces which the webhooks leave out by their names, such as Sallyport's own",
		Write:  "other namespaces; [what is not guarded](doors.md#what-is-not-guarded) says why these are left out",
		detail: said,
	}
	CountedFromNow = &Rule{
		Reason: "CountedFromNow", Answer: Warned, Kinds: "PolicyException, ClusterPolicyException", Field: "`duration`, in a file",
		What:   "a time that begins again each time the file is read",
		Write:  "`expiresAt`",
		detail: "%s is counted from now, each time again: the file does not say when the exception was made. Give expiresAt, so that it ends",
	}

	ofPolicies = []*Rule{OverridesIdle, VariableIdle, ContextIdle, NullInSettings, KnownAlready, HalfOpen, LocksOut, ExemptsAll, LetsInNobody, NotThere, Excused, NothingThere, NotGuarded, CountedFromNow}
)
