package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// patchOperation is one operation of a JSON patch (RFC 6902).
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Mutate fills in what follows from who writes an object, and returns that as a
// JSON patch; nil for nothing. Results are there only for what cannot be filled
// in, and refuse the object.
func (g *Guard) Mutate(ctx context.Context, r *request.Request) (patch []byte, refused []decision.Result) {
	if !g.Concerns(r) || concernsServer(r) || r.Subresource != "" && !isSession(r) {
		return nil, nil
	}
	patch, err := g.patch(ctx, r)
	if err != nil {
		return nil, []decision.Result{g.result(r, err)}
	}
	return patch, nil
}

func (g *Guard) patch(ctx context.Context, r *request.Request) ([]byte, error) {
	var patch []patchOperation
	var err error
	switch kindOf(r).Kind {
	case breakglass.KindSession:
		patch, err = g.mutateSession(ctx, r)
	case exception.KindRequest:
		patch, err = mutateRequest(r)
	case exception.KindResponse:
		patch, err = g.mutateResponse(ctx, r)
	default:
		patch, err = g.mutateException(ctx, r)
	}
	if err != nil || len(patch) == 0 {
		return nil, err
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("the patch cannot be written: %w", err)
	}
	return raw, nil
}

func mutateRequest(r *request.Request) ([]patchOperation, error) {
	asked, old, err := requestsOf(r)
	if err != nil {
		return nil, err
	}
	want := requesters(r.User.Name, asked, old)
	if slices.Equal(asked.Spec.Requesters, want) {
		return nil, nil
	}
	if len(want) == 0 {
		return []patchOperation{{Op: "remove", Path: "/spec/requesters"}}, nil
	}
	return []patchOperation{{Op: "add", Path: "/spec/requesters", Value: want}}, nil
}

func (g *Guard) mutateException(ctx context.Context, r *request.Request) ([]patchOperation, error) {
	e, old, err := exceptionsOf(r)
	if err != nil {
		return nil, err
	}
	approval, err := g.approval(ctx, r, e, old)
	if err != nil {
		return nil, err
	}
	return annotate(e.Annotations, map[string]string{
		v1alpha1.AnnotationCreatedBy: writer(r.User.Name, e, old), v1alpha1.AnnotationApproval: approval,
	}), nil
}

// annotate makes annotations what is wanted; empty is for none.
func annotate(given, want map[string]string) []patchOperation {
	const path = "/metadata/annotations"
	var patch []patchOperation
	for _, key := range slices.Sorted(maps.Keys(want)) {
		got, there := given[key]
		// RFC 6901 writes the slash of a key as ~1.
		at := path + "/" + strings.ReplaceAll(key, "/", "~1")
		switch value := want[key]; {
		case got == value && there == (value != ""):
		case value == "":
			patch = append(patch, patchOperation{Op: "remove", Path: at})
		default:
			patch = append(patch, patchOperation{Op: "add", Path: at, Value: value})
		}
	}
	if given == nil && len(patch) > 0 {
		patch = slices.Insert(patch, 0, patchOperation{Op: "add", Path: path, Value: map[string]string{}})
	}
	return patch
}

// mutateResponse fills in a response as a whole: who answered and when, what was
// asked for and by whom. Document "Policy Exceptions" has exclude and the time of
// approval added in this step.
func (g *Guard) mutateResponse(ctx context.Context, r *request.Request) ([]patchOperation, error) {
	if r.Operation != request.Create {
		return nil, nil
	}
	a, err := decode[v1alpha1.PolicyExceptionResponse](r.Object.Raw)
	if err != nil {
		return nil, err
	}
	if _, err := g.answered(ctx, r, a); err != nil {
		return nil, err
	}
	return []patchOperation{{Op: "add", Path: "/spec", Value: &a.Spec}}, nil
}
