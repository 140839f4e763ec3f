package e2e

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// TestIdentitySourceSchema has only the API server refuse sources by their
// schema, and fill in what they leave out.
func TestIdentitySourceSchema(t *testing.T) {
	const head = "apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: a}\nspec: "
	for _, tt := range []struct {
		name, spec string
		ok         bool
		says       string
	}{
		{"as the document has it", "{key: kerberos, podAnnotation: {}}", true, `ValidatedAnnotation ["exec","attach","ephemeralcontainers"]`},
		{"a domain in the key", "{key: cloud.google.com/serviceaccount, serviceAccount: {annotation: iam.gke.io/gcp-service-account}}", true, "ValidatedAnnotation"},
		{"a field", "{key: a, field: {kinds: [{group: tekton.dev, kind: TaskRun, paths: [spec.a]}]}}", true, ""},
		{"more subresources", "{key: a, podAnnotation: {}, subresources: [exec, attach, ephemeralcontainers, proxy], cacheSeconds: 300}", true, "proxy"},
		{"no way", "{key: a}", false, "exactly one of podAnnotation"},
		{"two ways", "{key: a, podAnnotation: {}, projectedToken: {audience: b}}", false, "exactly one of podAnnotation"},
		{"a star", "{key: '*', podAnnotation: {}}", false, "spec.key"},
		{"a slash in a resource", "{key: a/b, reviewForm: Resource, podAnnotation: {}}", false, "reads as a subresource"},
		{"a resource of the group", "{key: subjectaccessreviews, reviewForm: Resource, podAnnotation: {}}", false, "none of the resources"},
		{"exec left out", "{key: a, podAnnotation: {}, subresources: [attach]}", false, "subresources must hold exec"},
		{"too long a time", "{key: a, podAnnotation: {}, cacheSeconds: 301}", false, "spec.cacheSeconds"},
		{"no audience", "{key: a, projectedToken: {audience: ''}}", false, "spec.projectedToken.audience"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := shared.Run(t.Context(), lab.Kubectl{
				User: root, Stdin: strings.NewReader(head + tt.spec),
				Args: []string{"create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.reviewForm} {.spec.subresources}"},
			})
			want(t, r, tt.ok, tt.says)
		})
	}
}
