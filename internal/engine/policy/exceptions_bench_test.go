package policy

import (
	"fmt"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// BenchmarkExceptions decides about a Deployment that fails one rule, among
// exceptions that are about something else, and on the very rule.
func BenchmarkExceptions(b *testing.B) {
	many := func(n int, format string) []string {
		documents := make([]string, n)
		for i := range documents {
			documents[i] = fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e%d, namespace: dev}\nspec:\n", i) + fmt.Sprintf(format, i)
		}
		return documents
	}
	const rule = "  exceptions: [{policyName: require-labels, ruleNames: [check-for-labels]}]\n"
	for _, c := range []struct {
		name       string
		exceptions []string
		want       decision.Status
	}{
		{"none", nil, decision.Fail},
		{"10000 for other resources", many(10_000, rule+"  match: {any: [{resources: {kinds: [Deployment], names: [other-%d]}}]}\n"), decision.Fail},
		{"10000 for other rules", many(10_000, "  exceptions: [{policyName: require-labels, ruleNames: [other-%d]}]\n  match: {any: [{resources: {kinds: [Deployment], names: [nginx]}}]}\n"), decision.Fail},
		{"100 on the very rule, none matches", many(100, rule+"  match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {app: other-%d}}}}]}\n"), decision.Fail},
		{"100 on the very rule, by patterns of names", many(100, rule+"  match: {any: [{resources: {kinds: [Deployment], names: ['other-%d-*']}}]}\n"), decision.Fail},
		{"100 on the very rule, the last matches", append(many(99, rule+"  match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {app: other-%d}}}}]}\n"),
			"apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: z, namespace: dev}\nspec:\n"+rule+"  match: {any: [{resources: {kinds: [Deployment]}}]}\n"), decision.Skip},
	} {
		b.Run(c.name, func(b *testing.B) {
			set := setOf(b, append([]string{requireLabels}, c.exceptions...)...)
			r := created(b, emptyCluster(b), deploymentGVK, "deployments", deployment("dev", "nginx", ""))
			b.ReportAllocs()
			for b.Loop() {
				d := set.Decide(b.Context(), r)
				if d.Results[0].Status != c.want {
					b.Fatalf("%+v", d.Results)
				}
			}
		})
	}
}
