package webhooks

import (
	"testing"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// TestOwnKindsAreTheSame: what stays closed where a cluster is freed, by what the webhooks ask
// about, is what is filled in first, by their names.
func TestOwnKindsAreTheSame(t *testing.T) {
	i := wiring.Installed{Namespace: "sallyport-system", Name: "sallyport"}
	judges, changes, err := i.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	same := func(name string) {
		t.Helper()
		if OwnKinds(name) != wiring.Own(name) {
			t.Errorf("%s: %v by what it asks about, %v by its name", name, OwnKinds(name), wiring.Own(name))
		}
		if wiring.Own(name) {
			met++
		}
	}
	for _, w := range judges.Webhooks {
		same(w.Name)
	}
	for _, w := range changes.Webhooks {
		same(w.Name)
	}
	if met < 6 {
		t.Errorf("%d webhooks about our own kinds", met)
	}
}
