package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// namer knows of one resource which kind it is of.
type namer struct {
	request.Cluster
	resource, kind string
	asked          int
}

func (n *namer) KindOf(_ context.Context, resource schema.GroupVersionResource) (string, error) {
	n.asked++
	if resource.Resource != n.resource {
		return "", errors.New("the API server is away")
	}
	return n.kind, nil
}

// scaleOf is an update of the scale of a custom resource.
func scaleOf(t *testing.T, state request.Cluster, resource, version string) *request.Request {
	t.Helper()
	kind := schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	r := created(t, state, kind, "scales", "{apiVersion: autoscaling/v1, kind: Scale, metadata: {namespace: dev, name: x}, spec: {replicas: 9}}")
	r.Operation, r.Resource, r.Subresource = request.Update, schema.GroupVersionResource{Group: "example.com", Version: version, Resource: resource}, "scale"
	r.OldObject = r.Object
	return r
}

// TestScaleOfCustomKinds is judged by the rules about it, though a Scale does not say what
// it is of.
func TestScaleOfCustomKinds(t *testing.T) {
	for _, c := range []struct {
		kinds, resource string
		want            decision.Status
		says            string
	}{
		{"Widget/scale", "widgets", decision.Fail, ""},
		{"example.com/v1/Widget/scale", "widgets", decision.Fail, ""},
		{"example.com/*/Widget/*", "widgets", decision.Fail, ""},
		{`"*/scale"`, "widgets", decision.Fail, ""},
		{"Gadget/scale", "widgets", "", ""},
		{"example.com/v2/Widget/scale", "widgets", "", ""},
		{"Widget/status", "widgets", "", ""},
		{"Widget", "widgets", "", ""},
		{"Widget/scale", "gadgets", decision.Error, "which kind gadgets.example.com are cannot be read: the API server is away"},
		{"example.com/*/Widget/*", "gadgets", decision.Error, "the API server is away"},
		{`"*/scale"`, "gadgets", decision.Fail, ""},
		{"example.com/v2/Widget/scale", "gadgets", "", ""},
		{"Deployment/scale, example.org/v1/Widget/scale", "gadgets", decision.Error, ""},
		{"apps/v1/Deployment/scale, example.org/v1/Widget/scale", "gadgets", "", ""},
		{"Widget", "gadgets", "", ""},
	} {
		t.Run(fmt.Sprintf("%s of %s", c.kinds, c.resource), func(t *testing.T) {
			known := &namer{Cluster: clusterOf(t), resource: "widgets", kind: "Widget"}
			d := setOf(t, refusing("p", c.kinds, "")).Decide(t.Context(), scaleOf(t, known, c.resource, "v1"))
			if c.want == "" {
				if len(d.Results) > 0 {
					t.Errorf("%+v", d.Results)
				}
				return
			}
			if got := only(t, d); got.Status != c.want || !d.Refuses() || !strings.Contains(got.Message, c.says) || known.asked != 1 {
				t.Errorf("%+v, asked %d times", got, known.asked)
			}
		})
	}
	t.Run("where nothing is known", func(t *testing.T) {
		d := setOf(t, refusing("p", "Widget/scale", "")).Decide(t.Context(), scaleOf(t, clusterOf(t), "widgets", "v1"))
		if got := only(t, d); got.Status != decision.Error || !d.Refuses() || !strings.Contains(got.Message, "which kind widgets.example.com are cannot be read here") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("by another version", func(t *testing.T) {
		r := scaleOf(t, &namer{Cluster: clusterOf(t), resource: "widgets", kind: "Widget"}, "widgets", "v2")
		r.Asked = &request.Asked{Kind: r.Kind, Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, Subresource: "scale"}
		r.Converted = true
		if d := setOf(t, refusing("p", "example.com/v2/Widget/scale", "")).Decide(t.Context(), r); !d.Refuses() {
			t.Errorf("%+v", d.Results)
		}
		if d := setOf(t, refusing("p", "Widget/scale", "")).Decide(t.Context(), r); len(d.Results) > 0 {
			t.Errorf("what is judged as it was sent: %+v", d.Results)
		}
	})
}
