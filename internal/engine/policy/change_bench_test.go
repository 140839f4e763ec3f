package policy

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Of a large installation.
const (
	manyPolicies   = 1_000
	manyExceptions = 10_000
)

// largeInstallation has the objects of an API server with many policies and many
// exceptions.
func largeInstallation(t testing.TB) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	add := func(document string) { objects = append(objects, asStored(t, document)...) }
	for i := range manyPolicies {
		switch i % 4 {
		case 0:
			add(yamlOf("ClusterPolicy", fmt.Sprintf("p-%04d", i), fmt.Sprintf(`spec: {rules: [{name: labels, match: {any: [{resources: {kinds: [Deployment, Pod]}}]}, validate: {message: no, pattern: {metadata: {labels: {"team-%d": "?*"}}}}}]}`, i)))
		case 1:
			add(yamlOf("ClusterPolicy", fmt.Sprintf("p-%04d", i), fmt.Sprintf(`spec: {rules: [{name: cel, match: {any: [{resources: {kinds: [ConfigMap], namespaces: [ns-%d]}}]}, validate: {cel: {expressions: [{expression: "has(object.data) && size(object.data) < %d"}]}}}]}`, i, i+1)))
		case 2:
			add(yamlOf("Policy", fmt.Sprintf("ns-%d/p-%04d", i%50, i), `spec: {rules: [{name: baseline, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}]}`))
		default:
			add(yamlOf("DenyPolicy", fmt.Sprintf("p-%04d", i), fmt.Sprintf(`spec: {rules: [{verbs: [delete], apiGroups: [apps], resources: [deployments], namespaces: {patterns: [ns-%d]}}]}`, i)))
		}
	}
	for i := range manyExceptions {
		add(yamlOf("PolicyException", fmt.Sprintf("ns-%d/e-%05d", i%50, i), fmt.Sprintf(`spec: {reason: "until the migration is done", expiresAt: "2036-01-01T00:00:00Z", exceptions: [{policyName: p-%04d, ruleNames: [labels]}], match: {any: [{resources: {kinds: [Deployment], names: [app-%d, "app-%d-*"]}}]}}`, i*4%manyPolicies, i, i)))
	}
	for i, o := range objects {
		o.SetResourceVersion(strconv.Itoa(i + 1))
		o.SetGeneration(1)
	}
	return objects
}

// changing has one object of a large installation changed again and again, each time
// in its place, and the whole put in force.
func changing(b *testing.B, at int) { changingIn(b, largeInstallation(b), at) }

// changingIn is changing of these objects, which are packed as they are in a cache.
func changingIn(b *testing.B, objects []*unstructured.Unstructured, at int) {
	for _, o := range objects {
		if exception.InWorkflow(o.GetKind()) {
			Pack(o)
		}
	}
	feed := NewFeed(NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt}))
	feed.Take(objects)
	version := int64(1)
	b.ReportAllocs()
	for b.Loop() {
		version++
		changed, err := unpacked(objects[at].DeepCopy())
		if err != nil {
			b.Fatal(err)
		}
		changed.SetGeneration(version)
		changed.SetResourceVersion(strconv.FormatInt(1_000_000+version, 10))
		objects[at] = changed
		feed.Take(objects)
	}
}

// BenchmarkChangeOfOnePolicy is from when a policy among many was read to when it is in
// force.
func BenchmarkChangeOfOnePolicy(b *testing.B) { changing(b, manyPolicies/2) }

// BenchmarkChangeOfOneException is the same of an exception.
func BenchmarkChangeOfOneException(b *testing.B) { changing(b, manyPolicies+manyExceptions/2) }

// BenchmarkChangeOfRulesAboutExceptions is the same of an ExceptionPolicy, by which every
// exception is compiled again.
func BenchmarkChangeOfRulesAboutExceptions(b *testing.B) {
	changingIn(b, append(largeInstallation(b), asStored(b, yamlOf("ExceptionPolicy", "rules", "spec: {policies: [other], maxDuration: 1h}"))...), manyPolicies+manyExceptions)
}
