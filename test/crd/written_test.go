package crd

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/test/docs"
)

// TestNoDefinitionRefusesWhatIsWritten puts each object of the documents, the examples
// and the tests to its definition, which must not refuse what the loader takes.
func TestNoDefinitionRefusesWhatIsWritten(t *testing.T) {
	objects, err := docs.Objects("../..")
	if err != nil {
		t.Fatal(err)
	}
	known := definitions(t)
	tried := 0
	for _, o := range objects {
		var object map[string]any
		for d := range load.Parse(o.Where, []byte(o.Text)) {
			if d == nil || json.Unmarshal(d.Raw, &object) != nil {
				object = nil
			}
		}
		kind, _ := object["kind"].(string)
		if known[kind] == nil {
			continue
		}
		if _, problems := loaded(t, o.Text, ""); len(problems) > 0 {
			continue
		}
		tried++
		if errs := known[kind].refuses(t.Context(), object); len(errs) > 0 {
			t.Errorf("%s: a file may have what the definition refuses: %v", o.Where, errs)
		}
	}
	if tried < 80 {
		t.Errorf("only %d objects were found", tried)
	}
}
