package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestOutline reads from a review that is cut off wherever, or broken in what a
// requester fills in, what the whole one says.
func TestOutline(t *testing.T) {
	want := &request.Request{
		Door: request.Admission, UID: "u1", Operation: request.Create,
		User:      request.User{Name: "alice", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"scopes": {"a"}}},
		Kind:      schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:  schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespace: "shop",
	}
	object := strings.Index(create, `"object"`)
	for name, body := range map[string]string{
		"cut off before the object": create[:object],
		"cut off in the object":     create[:object+40],
		"cut off in its name":       create[:object+4],
	} {
		got, ok := Outline([]byte(body), false)
		if !ok {
			t.Errorf("%s: not read", name)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, ok := Outline([]byte(body), true); ok {
			t.Errorf("%s, and said to be whole: read", name)
		}
	}
	for i := range create {
		if got, ok := Outline([]byte(create[:i]), false); ok != (i >= strings.Index(create, `"u1"`)+4) || ok && got.UID != "u1" {
			t.Fatalf("of %d bytes: %v %+v", i, ok, got)
		}
	}
	if _, ok := Outline([]byte(create), true); !ok {
		t.Error("a review that is as it should be is not read")
	}
}

// TestOutlineOfRecorded says that the beginning of all that an API server was seen to
// send is enough.
func TestOutlineOfRecorded(t *testing.T) {
	for _, body := range recordedAdmission() {
		whole, err := Parse(body, pod.Default())
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Outline(body[:min(len(body), 4096)], false)
		if !ok || got.UID != whole.UID || got.User.Name != whole.User.Name || got.Resource != whole.Resource {
			t.Errorf("%+v, %v", got, ok)
		}
	}
}

func FuzzOutline(f *testing.F) {
	f.Add([]byte(create), true)
	f.Add([]byte(connect), false)
	f.Fuzz(func(t *testing.T, body []byte, whole bool) {
		r, ok := Outline(body, whole)
		if ok && r.UID == "" {
			t.Error("it has no uid")
		}
		if req, err := Parse(body, pod.Default()); err == nil && (!ok || r.UID != req.UID) && len(req.UID) <= maxUID {
			t.Errorf("what can be judged is not outlined: %s", body)
		}
	})
}
