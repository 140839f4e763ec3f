package load

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// envelope is what every object has.
type envelope struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	// Items is the array of a list.
	Items apijson.Raw `json:"items"`
}

// readEnvelope reads the envelope of the document's object into the document,
// and returns it. All of the object is checked to be JSON in which no name
// stands twice. What is missing from apiVersion and kind is taken from
// inherited, which is what the items of a typed list may leave out.
func readEnvelope(d *Document, inherited schema.GroupVersionKind) (*envelope, error) {
	var e envelope
	err := apijson.Unmarshal(d.Raw, &e)
	d.GVK, d.Namespace, d.Name = inherited, e.Metadata.Namespace, e.Metadata.Name
	if e.Kind != "" {
		d.GVK.Kind = e.Kind
	}
	d.hasItems = len(e.Items) > 0 && e.Items[0] == '['
	if err != nil {
		return nil, err
	}
	if e.APIVersion != "" {
		gv, err := schema.ParseGroupVersion(e.APIVersion)
		if err != nil || gv.Version == "" {
			return nil, errorAt("apiVersion", "is %q; a version such as v1, or group/version, belongs here", e.APIVersion)
		}
		d.GVK = gv.WithKind(d.GVK.Kind)
	}
	switch {
	case d.GVK.Version == "" && d.GVK.Kind == "":
		return nil, fmt.Errorf("has neither apiVersion nor kind; every object names both")
	case d.GVK.Version == "":
		return nil, errorAt("apiVersion", "is missing; every object names its apiVersion and kind")
	case d.GVK.Kind == "":
		return nil, errorAt("kind", "is missing; every object names its apiVersion and kind")
	}
	return &e, nil
}

// isList reports whether the document is a List, or a typed list such as
// PodList.
func isList(d *Document, e *envelope) bool {
	if d.GVK.Kind == "List" && d.GVK.Group == "" {
		return true
	}
	return strings.HasSuffix(d.GVK.Kind, "List") && d.hasItems
}
