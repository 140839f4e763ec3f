package deny

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestMadeUpNamesFillNoRoom: names that may be made up keep no other from being remembered.
func TestMadeUpNamesFillNoRoom(t *testing.T) {
	s := &Policies{Index: &Index{}}
	ask := func(name string, unauthenticated bool) {
		s.About(&request.Request{Door: request.Admission, Operation: request.Create, Resource: schema.GroupVersionResource{Version: "v1", Resource: name}, Unauthenticated: unauthenticated})
	}
	for i := range MaxRemembered + 1 {
		ask(strconv.Itoa(i), true)
	}
	if n := s.Index.resources.size.Load(); n != 0 {
		t.Errorf("%d are remembered among the others", n)
	}
	ask("pods", false)
	if n := s.Index.resources.size.Load(); n != 1 {
		t.Errorf("%d are remembered, of one", n)
	}
}
