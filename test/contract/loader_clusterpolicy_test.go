package contract

import (
	"fmt"
	"testing"
)

// TestLoaderRefusesClusterPolicies covers the rules about pod security.
func TestLoaderRefusesClusterPolicies(t *testing.T) {
	t.Parallel()
	const match = "{any: [{resources: {kinds: [Pod]}}]}"
	rules := func(name, text string, names ...string) badPolicy {
		return badPolicy{name, clusterPolicy("wrong", "Enforce", text), append([]string{"wrong", "spec.rules"}, names...)}
	}
	standard := func(name, podSecurity string, names ...string) badPolicy {
		return rules(name, fmt.Sprintf("- {name: r, match: %s, validate: {podSecurity: %s}}", match, podSecurity),
			append(names, "validate.podSecurity")...)
	}
	matching := func(name, text string, names ...string) badPolicy {
		return rules(name, fmt.Sprintf("- {name: r, match: %s, validate: {podSecurity: {level: baseline}}}", text), append(names, "match")...)
	}
	refuseAll(t, []badPolicy{
		standard("no level", "{version: latest}", "level"),
		standard("unknown level", "{level: strict}", "spec.rules[0].validate.podSecurity.level", "strict", "baseline"),
		standard("level in another case", "{level: Baseline}", "level", "Baseline"),
		standard("version without v", `{level: baseline, version: "1.34"}`, "spec.rules[0].validate.podSecurity.version", "1.34"),
		standard("version with a patch", "{level: baseline, version: v1.34.1}", "version", "v1.34.1"),
		standard("version as a number", "{level: baseline, version: 1.34}", "version"),
		standard("version in another case", "{level: baseline, version: Latest}", "version", "Latest"),
		standard("version 2", "{level: baseline, version: v2.0}", "version", "v2.0"),
		standard("unknown probe hosts", "{level: baseline, probeHosts: none}", "probeHosts", "none"),
		standard("unknown field", "{level: baseline, levels: restricted}", "levels"),
		standard("field in another case", "{level: baseline, Version: v1.30}", "Version"),
		standard("defaults without level namespace", "{level: baseline, defaults: {enforce: baseline}}", "defaults"),
		standard("exemptions without level namespace", "{level: baseline, exemptions: {namespaces: [shop]}}", "exemptions"),
		standard("unknown default level", "{level: namespace, defaults: {enforce: strict}}", "defaults", "strict"),
		standard("unknown default mode", "{level: namespace, defaults: {deny: baseline}}", "defaults", "deny"),

		matching("empty match", "{}"),
		matching("empty any", "{any: []}", "any"),
		matching("no kinds", "{any: [{resources: {namespaces: [shop]}}]}", "kinds"),
		matching("empty kinds", "{any: [{resources: {kinds: []}}]}", "kinds"),
		matching("kinds as text", "{any: [{resources: {kinds: Pod}}]}", "kinds"),
		matching("empty namespaces", "{any: [{resources: {kinds: [Pod], namespaces: []}}]}", "namespaces"),
		matching("unknown field", "{any: [{resources: {kind: [Pod], kinds: [Pod]}}]}", "kind"),

		rules("no rules", "[]"),
		rules("a rule without a name", fmt.Sprintf("- {match: %s, validate: {podSecurity: {level: baseline}}}", match), "spec.rules[0]", "name"),
		rules("a rule without match", "- {name: r, validate: {podSecurity: {level: baseline}}}", "spec.rules[0]", "match"),
		rules("a rule that requires nothing", fmt.Sprintf("- {name: r, match: %s, validate: {message: no}}", match), "spec.rules[0].validate"),
		rules("a rule without validate", fmt.Sprintf("- {name: r, match: %s}", match), "spec.rules[0]", "validate"),
		rules("two rules of one name", fmt.Sprintf("- {name: r, match: %s, validate: {podSecurity: {level: baseline}}}\n- {name: r, match: %s, validate: {podSecurity: {level: restricted}}}", match, match), "spec.rules[1]", "r"),

		{"unknown action", podSecurityPolicy("wrong", "Deny", "{level: baseline}"), []string{"wrong", "spec.validationFailureAction", "Deny", "Enforce"}},
		{"action in upper case", podSecurityPolicy("wrong", "ENFORCE", "{level: baseline}"), []string{"wrong", "spec.validationFailureAction", "ENFORCE"}},
		{"unknown failure policy", podSecurityPolicy("wrong", "Enforce\n  failurePolicy: Open", "{level: baseline}"), []string{"wrong", "spec.failurePolicy", "Open"}},
		{"unknown field of spec", podSecurityPolicy("wrong", "Enforce\n  validationFailureActions: Audit", "{level: baseline}"), []string{"wrong", "spec", "validationFailureActions"}},
	})
}
