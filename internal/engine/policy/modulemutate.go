package policy

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// Mutates reports whether a module may change the object of the request.
func (s *Set) Mutates(r *request.Request) bool {
	if r.Door != request.Admission || r.Object == nil || r.Operation != request.Create && r.Operation != request.Update || r.Object.GVK.Group == v1alpha1.GroupVersion.Group {
		return false
	}
	found := false
	s.Modules.About(r.Resource.Resource, func(p *modulepolicy.Policy) { found = found || p.Guest.Mutating && s.Runs(p) })
	return found
}

// Mutate has the modules change the object, each what the ones before it have
// made of it, and returns the request with the changed object, and the changes as
// a JSON patch; nil for none. It judges nothing: what a module refuses or fails at
// is left as it is, for the validating webhook to judge.
func (s *Set) Mutate(ctx context.Context, r *request.Request) (*request.Request, []byte, error) {
	changed := r
	s.Modules.About(r.Resource.Resource, func(p *modulepolicy.Policy) {
		if !p.Guest.Mutating || !s.Runs(p) {
			return
		}
		if next := mutate(p, &call.Call{Ctx: ctx, Request: changed, Exceptions: s.Excusing, Trial: true}, s); next != nil {
			changed = next
		}
	})
	if changed == r {
		return r, nil, nil
	}
	patch, err := wasm.Patch(r.Object.Raw, changed.Object.Raw)
	if err != nil {
		return nil, nil, fmt.Errorf("the changes of the policies cannot be written down: %w", err)
	}
	return changed, patch, nil
}

// mutate gives the request as the module would have it; nil for no change.
func mutate(p *modulepolicy.Policy, c *call.Call, s *Set) *request.Request {
	if ok, err := p.Applies(c, s.Runner); err != nil || !ok || p.Rule.Action != decision.Enforce {
		return nil
	}
	response, err := p.Ask(c.Ctx, c, s.Runner)
	if err != nil || !response.Accepted {
		return nil
	}
	patch, err := response.Patch(modulepolicy.ObjectJSON(c), true)
	if err != nil || patch == nil {
		return nil
	}
	// Who is excused from the policy is excused from its changes.
	trial := p.Rule.Base(c, clusterpolicy.Direct)
	trial.Status = decision.Fail
	if clusterpolicy.Excuse(c, p.Rule, trial).Status == decision.Skip {
		return nil
	}
	r := c.Request
	if p.ChangesRights(r) {
		return nil
	}
	object, err := s.Registry.Decode(r.Object.GVK, json.RawMessage(response.MutatedObject))
	if err != nil || !sameObject(r.Object, object) {
		return nil
	}
	changed := *r
	changed.Object = object
	return &changed
}

// sameObject reports whether what a module made of an object is still that object:
// nothing else would be what the others have judged.
func sameObject(before, after *pod.Object) bool {
	var was, is metav1.TypeMeta
	if apijson.Unmarshal(before.Raw, &was) != nil || apijson.Unmarshal(after.Raw, &is) != nil {
		return false
	}
	return was == is && before.GVK == after.GVK && before.Meta.Name == after.Meta.Name && before.Meta.Namespace == after.Meta.Namespace &&
		before.Meta.GenerateName == after.Meta.GenerateName && before.Meta.UID == after.Meta.UID
}
