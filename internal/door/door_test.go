package door

import (
	"errors"
	"io"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

func TestResource(t *testing.T) {
	for _, tt := range []struct{ name, resource, subresource, want string }{
		{"as in a URL", "pods", "exec", "pods/exec"},
		{"no subresource", "pods", "", "pods/"},
		{"in another case", "Pods", "EXEC", "pods/exec"},
		{"written as one", "pods/exec", "", "pods/exec"},
		{"written as one, in another case", "Pods/Exec", "", "pods/exec"},
		{"twice", "pods/exec", "attach", "pods/exec/attach"},
		{"every one", "*", "*", "*/*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gvr, subresource := Resource("", "v1", tt.resource, tt.subresource)
			if got := gvr.Resource + "/" + subresource; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestReasonLimit(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  request.Request
		want int
	}{
		{"side door", request.Request{Door: request.Access}, shortReason},
		{"CONNECT", request.Request{Door: request.Admission, Operation: request.Connect}, shortReason},
		{"a controller", request.Request{Door: request.Admission, Operation: request.Create, User: request.User{Name: "system:serviceaccount:kube-system:job-controller"}}, shortReason},
		{"a person", request.Request{Door: request.Admission, Operation: request.Create, User: request.User{Name: "alice"}}, longReason},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ReasonLimit(&tt.req); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	err := Malformed("the body cannot be read: %w", io.ErrUnexpectedEOF)
	if err.Status != 400 || !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "the body cannot be read: unexpected EOF" {
		t.Errorf("got %d %v", err.Status, err)
	}
}
