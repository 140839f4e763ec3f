package effect

// What patterns of ClusterPolicies and Policies say without effect.
var (
	NullInPattern = &Rule{
		Reason: "NullInPattern", Answer: Refused, Kinds: policies, Field: "`validate.pattern`, `validate.anyPattern`",
		What:   "`null`, at any depth; and an object whose annotation `kubectl.kubernetes.io/last-applied-configuration` shows a `null` that did not arrive",
		Write:  "`X(field): \"null\"` where the field must not be there, `=(field): \"\"`, `=(field): false` or `=(field): 0` where it may be there and empty",
		detail: "is null, which kubectl apply takes out on its way, with what it asks; write %s",
	}
	EmptyInPattern = &Rule{
		Reason: "EmptyInPattern", Answer: Refused, Kinds: policies, Field: "`validate.pattern`, `validate.anyPattern`",
		What:   "`{}` as an item of a list or the value of `=( )`: everything matches it",
		Write:  "the fields that are asked for, or nothing",
		detail: "is {}, which asks nothing of what stands there; write the fields that are asked for, or leave it out",
	}
	OnlyThere = &Rule{
		Reason: "OnlyThere", Answer: Warned, Kinds: policies, Field: "`validate.pattern`, `validate.anyPattern`",
		What:   "`{}` as the value of a field or of a condition: it asks that a map is there, and nothing of the map",
		Write:  "the fields that are asked for, or `field: \"*\"` where that is meant",
		detail: "is {}, which asks only that a map is there, and nothing of what stands in it; write the fields that are asked for, or %s: \"*\" where that is meant",
	}
	ValueOfAbsent = &Rule{
		Reason: "ValueOfAbsent", Answer: Warned, Kinds: policies, Field: "`validate.pattern`, `validate.anyPattern`",
		What:   "a value of `X(field)`: the field is refused whatever its value",
		Write:  "`X(field): \"null\"`, or `=(field): \"!value\"` where other values are allowed",
		detail: "refuses the field whatever its value is: %s plays no part; write X(%s): \"null\", or =(%s): \"!...\" where the field may have other values",
	}
	EmptyText = &Rule{
		Reason: "EmptyText", Answer: Warned, Kinds: policies, Field: "`validate.pattern`, `validate.anyPattern`",
		What:   "`\"\"` as the value of a field, or of a condition `(field)`, which is what YAML makes of `!x*` and `>5` without quotes",
		Write:  "quotes: `image: \"!x*\"`, `replicas: \">5\"`; `=(field): \"\"` where the empty string is meant",
		detail: `is the empty string, which is what YAML makes of !x* and >5 without quotes: %s; put quotes around what is meant, or write =(%s): "" for the empty string`,
	}
	FieldUnknown = &Rule{
		Reason: "FieldUnknown", Answer: Warned, Kinds: policies, Field: "`validate.pattern`, `validate.anyPattern`",
		What:   "a field that the kinds of Kubernetes do not have that the rule names, such as `X(hostpath)`",
		Write:  "the field as it is written",
		detail: "%s has no field %s in any version that is known here, so that it is never there%s",
	}
	Variable = &Rule{
		Reason: "Variable", Answer: Warned, Kinds: policies, Field: "`validate.pattern`, `validate.anyPattern`, messages, and names and namespaces in `match` and `exclude`",
		What:   "`{{ }}`, or `$( )` in a pattern: there are no variables, and it is used as it stands",
		Write:  "the value itself, or the rule as `validate.cel`; `messageExpression` for a message",
		detail: "holds %s, which is used as it stands, as there are no variables here; %s",
	}

	ofPatterns = []*Rule{NullInPattern, EmptyInPattern, OnlyThere, ValueOfAbsent, EmptyText, FieldUnknown, Variable}
)

const policies = "ClusterPolicy, Policy"
