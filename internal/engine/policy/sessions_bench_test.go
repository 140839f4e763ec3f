package policy

import (
	"fmt"
	"testing"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// BenchmarkNoSession judges requests of somebody without a session among many.
func BenchmarkNoSession(b *testing.B) {
	sources := sourcesOf(b, riskyPolicy)
	for i := range 1000 {
		sources.Escalations = append(sources.Escalations, sourcesOf(b, escalation(fmt.Sprintf("e%d", i), "{enabled: true}")).Escalations...)
	}
	for i := range 10000 {
		one := sourcesOf(b, session(fmt.Sprintf("s%d", i), fmt.Sprintf("e%d", i%1000), "")).Sessions
		one[0].Object.Spec.User = fmt.Sprintf("user-%d", i)
		sources.Sessions = append(sources.Sessions, one...)
	}
	for i := range 499 {
		// Every other one has a rule about exec, elsewhere.
		resource := []string{"pods/exec", "secrets"}[i%2]
		one := sourcesOf(b, "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\nspec:\n  rules: [{verbs: [create], apiGroups: [''], resources: ["+resource+"], namespaces: [kube-system]}]\n").DenyPolicies
		one[0].Object.Name = fmt.Sprintf("p%d", i)
		sources.DenyPolicies = append(sources.DenyPolicies, one...)
	}
	set, problems := Compile(sources, pod.Default(), exception.Options{Began: judgedAt})
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	state := clusterOf(b, podNamed("shop", "web", nil), namespace("shop", nil))
	read, enter := exec(state, "shop", "web"), exec(state, "shop", "web")
	read.Verb, read.Resource.Resource, read.Subresource = "get", "configmaps", ""
	for name, r := range map[string]*request.Request{"get": read, "exec": enter} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := set.Decide(b.Context(), r); d.Refuses() {
					b.Fatal(d)
				}
			}
		})
	}
}
