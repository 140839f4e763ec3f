package policy

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestOptionsAtTheSideDoor are not known, even if a request holds some.
func TestOptionsAtTheSideDoor(t *testing.T) {
	r := running(t, "tar")
	if tree, err := call.ReadOptions(r); err != nil || tree["container"] != "app" {
		t.Errorf("%v, %v", tree, err)
	}
	r.Door = request.Access
	if tree, err := call.ReadOptions(r); tree != nil || err != call.ErrNoOptions {
		t.Errorf("%v, %v", tree, err)
	}
}

// TestSameSpecWithoutTheOldObject is not the same: what is not shown is not known.
func TestSameSpecWithoutTheOldObject(t *testing.T) {
	r := podOfShop(t)
	c := &call.Call{Ctx: t.Context(), Request: r}
	for operation, want := range map[request.Operation]bool{request.Update: false, request.Create: false} {
		if r.Operation = operation; c.SameSpec() != want {
			t.Errorf("%s, without the old object", operation)
		}
	}
	r.OldObject = r.Object
	for operation, want := range map[request.Operation]bool{request.Update: true, request.Create: false} {
		if r.Operation = operation; c.SameSpec() != want {
			t.Errorf("%s, with the old object", operation)
		}
	}
}
