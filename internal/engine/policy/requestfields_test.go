package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestFieldsOfTheRequest has expressions go by the fields of a review that say how it
// was written.
func TestFieldsOfTheRequest(t *testing.T) {
	options := func(text string) func(*request.Request) {
		return func(r *request.Request) { r.Write = []byte(text) }
	}
	for name, tt := range map[string]struct {
		expression string
		edit       func(*request.Request)
		verdict    decision.Verdict
		says       string
	}{
		"who manages":             {"request.options.fieldManager == 'argocd'", options(`{"kind":"CreateOptions","fieldManager":"argocd"}`), decision.Allow, ""},
		"someone else manages":    {"request.options.fieldManager == 'argocd'", options(`{"kind":"CreateOptions","fieldManager":"kubectl"}`), decision.Deny, ""},
		"a field that is not set": {"!has(request.options.fieldManager)", options(`{"kind":"CreateOptions"}`), decision.Allow, ""},
		"the kind of the options": {"request.options.kind == 'CreateOptions'", options(`{"kind":"CreateOptions"}`), decision.Allow, ""},
		"no options":              {"request.options == null", nil, decision.Allow, ""},
		"no options, but used":    {"request.options.fieldManager == 'argocd'", nil, decision.VerdictError, ""},
		"options that are broken": {"true", options(`{"kind":`), decision.VerdictError, "the options of the request cannot be read"},
		"the version asked for": {"request.requestKind.version == 'v1beta1' && request.kind.version == 'v1' && request.requestResource.resource == 'oldmaps' && request.requestSubResource == 'x'", func(r *request.Request) {
			r.Asked = &request.Asked{Kind: schema.GroupVersionKind{Version: "v1beta1", Kind: "ConfigMap"}, Resource: schema.GroupVersionResource{Version: "v1beta1", Resource: "oldmaps"}, Subresource: "x"}
		}, decision.Allow, ""},
		"the same version": {"request.requestKind == request.kind && request.requestResource == request.resource && !has(request.requestSubResource)", nil, decision.Allow, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := configMap(t, nil)
			if tt.edit != nil {
				tt.edit(r)
			}
			d := setOf(t, readingPolicy("", tt.expression)).Decide(t.Context(), r)
			if d.Verdict != tt.verdict || tt.says != "" && !strings.Contains(only(t, d).Message, tt.says) {
				t.Errorf("%s: %+v", d.Verdict, d.Results)
			}
		})
	}
}
