package main

// area is a package whose guards are tried, with the packages whose tests are to
// notice when one is missing, the nearest first.
type area struct {
	name, dir string
	tests     []string
}

// areas are those where a missing guard lets somebody in, or refuses without a
// reason. docs/threat-model.md says what each is there for.
var areas = []area{
	{"decide", "internal/engine/policy", deciding},
	{"requests", "internal/engine/call", deciding},
	{"deny", "internal/engine/deny", deciding},
	{"rules", "internal/engine/clusterpolicy", deciding},
	{"modules", "internal/engine/modulepolicy", deciding},
	{"identities", "internal/engine/identityrule", deciding},
	{"broken", "internal/engine/stored", deciding},
	{"names", "internal/rules/builtin", deciding},
	{"excuse", "internal/excuse/exception", []string{"internal/excuse/exception", "internal/engine/policy", "internal/controller/workflow"}},
	{"sessions", "internal/excuse/breakglass", []string{"internal/excuse/breakglass", "internal/engine/policy", "internal/controller/workflow"}},
	{"gate", "internal/app/server", []string{"internal/app/server"}},
	{"writing", "internal/controller/workflow", []string{"internal/controller/workflow", "internal/app/server"}},
}

// deciding are the packages whose tests decide requests.
var deciding = []string{
	"internal/engine/policy", "internal/app/server", "internal/cli", "internal/cli/judge", "internal/cli/access", "internal/cli/review", "internal/cli/convert",
}

func areaNames() []string {
	var names []string
	for _, a := range areas {
		names = append(names, a.name)
	}
	return names
}
