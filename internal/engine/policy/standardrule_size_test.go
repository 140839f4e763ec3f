package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// TestObjectsOfManyPods are refused, in a message that does not grow with them, and with
// every finding.
func TestObjectsOfManyPods(t *testing.T) {
	const pods = 5000
	var items strings.Builder
	for i := range pods {
		fmt.Fprintf(&items, "{spec: {containers: [{name: c%d, image: \"a:1\", securityContext: {privileged: true}}]}}, ", i)
	}
	document := "apiVersion: x.io/v1\nkind: Farm\nmetadata: {name: f, namespace: shop}\nspec: {templates: [" + items.String() + "]}\n"
	store, _ := started(t, yamlOf("ClusterPolicy", "p", podBaseline), yamlOf("PodKind", "farms", "spec: {group: x.io, kinds: [Farm], pods: [{path: \"spec.templates[*]\"}]}"))
	result := only(t, store.Set().Decide(t.Context(), writes(t, store.Set(), document)))
	if result.Status != decision.Fail || len(result.Findings) != pods || len(result.Message) > 100*200 || !strings.HasSuffix(result.Message, "; so do 4900 more pods of the object") {
		t.Errorf("%s, %d findings, a message of %d bytes: ...%s", result.Status, len(result.Findings), len(result.Message), result.Message[max(0, len(result.Message)-80):])
	}
}
