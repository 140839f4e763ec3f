package policies

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/condition"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// statusOf reads the status of a policy.
func statusOf(object *unstructured.Unstructured) (v1alpha1.PolicyStatus, error) {
	var status v1alpha1.PolicyStatus
	if raw, ok := object.Object["status"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status); err != nil {
			return status, fmt.Errorf("status has another shape than expected: %w", err)
		}
	}
	return status, nil
}

// told is what the status of a version of a policy is to say.
type told struct {
	ref        stored.Ref
	generation int64
	conditions []metav1.Condition
	// gone are the types of conditions that are not to be there, and kept are conditions
	// that are for others to say from now on. They are applied as they stand: what is not
	// applied any more loses what others did not change of it, and is not a condition then.
	gone []string
	kept []metav1.Condition
	// adverse is set where something was refused to the policy here, and missing where
	// some condition is not there for this version.
	adverse, missing bool
}

// cannot is what keeps this replica from doing what the policy says; empty for nothing,
// and where others say it.
func (t *told) cannot() string {
	if t == nil {
		return ""
	}
	for i := range t.conditions {
		if c := &t.conditions[i]; c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// beside leaves of what is told what only the replica knows to which it happened: what
// was refused to the policy. The rest is the leader's to say.
func (t *told) beside() {
	t.conditions = slices.DeleteFunc(t.conditions, func(c metav1.Condition) bool {
		return c.Type != v1alpha1.ConditionContextDenied && c.Type != v1alpha1.ConditionContextReady
	})
	t.gone, t.missing = nil, false
}

// conditions are what the status of a policy is to say; nil where others say all of
// it.
func (s *Status) conditions(key Key, object *unstructured.Unstructured, o policy.Outcome, status *v1alpha1.PolicyStatus) *told {
	generation := object.GetGeneration()
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "InForce", Message: "the policy is in force",
	}
	var described policy.Description
	if s.Describe != nil {
		described = s.Describe(stored.Ref(key))
	}
	broken := len(o.Problems) > 0
	t := &told{ref: stored.Ref(key), generation: generation}
	switch {
	case broken:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "CannotWork", o.Problems.Error()
		if o.Meanwhile != "" {
			ready.Message += "\nUntil then: " + o.Meanwhile + "."
		} else if o.LastInForce {
			ready.Message += "\nThe last version that could work stays in force."
		}
	case described.Elsewhere:
		return t.leave(status)
	case described.NotReady != nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, described.Reason, described.NotReady.Error()
	}
	if broken || !described.Meanwhile {
		t.conditions = append(t.conditions, ready)
	} else if said := apimeta.FindStatusCondition(status.Conditions, ready.Type); said != nil {
		t.kept = append(t.kept, *said)
	}
	if !described.Elsewhere {
		s.further(t, o, status, described.Meanwhile)
		// What the pods of a server said that ran the policy before.
		t.gone = append(t.gone, v1alpha1.ConditionModuleReady)
	}
	t.conditions = append(t.conditions, described.Conditions...)
	if s.Enforced != nil && !described.Elsewhere {
		if enforced, known := s.Enforced(stored.Ref(key), policy.VersionOfObject(object), ready.Status == metav1.ConditionTrue); known {
			t.conditions = append(t.conditions, enforced)
		} else if existing := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionEnforced); existing != nil && existing.ObservedGeneration == generation {
			t.conditions = append(t.conditions, *existing)
		} else {
			// What was said of another version is not true of this one.
			t.gone = append(t.gone, v1alpha1.ConditionEnforced)
		}
	}
	for i := range t.conditions {
		c := &t.conditions[i]
		c.ObservedGeneration, c.Message = generation, condition.Message(c.Message)
		existing := apimeta.FindStatusCondition(status.Conditions, c.Type)
		t.missing = t.missing || existing == nil || existing.ObservedGeneration != generation
	}
	return t
}

// leave takes away what was said of a policy that is judged elsewhere now and does not
// hold any more; nil where there is nothing, or whoever runs its server has said it.
func (t *told) leave(status *v1alpha1.PolicyStatus) *told {
	said := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionEnforced)
	if said == nil || said.Reason == modulepolicy.EnforcedAtServer || said.Reason == modulepolicy.NotEnforcedAtServer {
		return nil
	}
	t.gone = append(t.gone, v1alpha1.ConditionEnforced)
	for _, said := range status.Conditions {
		if said.Type != v1alpha1.ConditionEnforced {
			t.kept = append(t.kept, said)
		}
	}
	return t
}

// further adds what is said beside whether a policy is in force. What a policy reads is
// for its server to say, if that is to judge by it: meanwhile it is read with another
// account.
func (s *Status) further(t *told, o policy.Outcome, status *v1alpha1.PolicyStatus, meanwhile bool) {
	broken := len(o.Problems) > 0
	if !broken && len(o.Notes) > 0 {
		notes := make([]string, len(o.Notes))
		for i := range o.Notes {
			notes[i] = o.Notes[i].At()
		}
		t.conditions = append(t.conditions, metav1.Condition{
			Type: v1alpha1.ConditionGaps, Status: metav1.ConditionTrue, Reason: "LeftOpen", Message: strings.Join(notes, "; "),
		})
	} else {
		t.gone = append(t.gone, v1alpha1.ConditionGaps)
	}
	if broken {
		t.gone = append(t.gone, v1alpha1.ConditionEffective)
	} else {
		less := o.Effects
		if s.Inert != nil {
			less = slices.Concat(less, s.Inert(t.ref))
		}
		t.conditions = append(t.conditions, effect.Condition(less))
	}
	switch {
	case s.Context == nil || broken || meanwhile:
	case o.Context == nil:
		t.gone = append(t.gone, v1alpha1.ConditionContextDenied, v1alpha1.ConditionContextReady)
	default:
		for _, c := range s.Context(o.Context, status.Conditions, t.generation, o.Since) {
			t.conditions = append(t.conditions, c)
			t.adverse = t.adverse || c.Type == v1alpha1.ConditionContextDenied && c.Status == metav1.ConditionTrue ||
				c.Type == v1alpha1.ConditionContextReady && c.Status == metav1.ConditionFalse
		}
	}
}

// differs reports whether a status says something else.
func (t *told) differs(status *v1alpha1.PolicyStatus) bool {
	if status.ObservedGeneration != t.generation {
		return true
	}
	for i := range t.conditions {
		c := t.conditions[i]
		existing := apimeta.FindStatusCondition(status.Conditions, c.Type)
		if existing == nil {
			return true
		}
		c.LastTransitionTime = existing.LastTransitionTime
		if !apiequality.Semantic.DeepEqual(c, *existing) {
			return true
		}
	}
	for _, kind := range t.gone {
		if apimeta.FindStatusCondition(status.Conditions, kind) != nil {
			return true
		}
	}
	return false
}

// write applies what is told to the status of an object, as the leader if what is told
// was decided by it, and takes away what is not to be there and someone else wrote. An
// object that is not there any more, or was made again, needs neither.
func (s *Status) write(ctx context.Context, object *unstructured.Unstructured, status *v1alpha1.PolicyStatus, t *told, leads bool) error {
	applied := v1alpha1.PolicyStatus{ObservedGeneration: t.generation}
	now := metav1.NewTime(s.Clock.Now())
	for _, c := range t.conditions {
		c.LastTransitionTime = now
		if existing := apimeta.FindStatusCondition(status.Conditions, c.Type); existing != nil && existing.Status == c.Status {
			c.LastTransitionTime = existing.LastTransitionTime
		}
		applied.Conditions = append(applied.Conditions, c)
	}
	applied.Conditions = append(applied.Conditions, t.kept...)
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&applied)
	if err != nil {
		return fmt.Errorf("status cannot be written down: %w", err)
	}
	patch := &unstructured.Unstructured{Object: map[string]any{"status": raw}}
	patch.SetGroupVersionKind(object.GroupVersionKind())
	patch.SetNamespace(object.GetNamespace())
	patch.SetName(object.GetName())
	patch.SetUID(object.GetUID())
	writer, owner := s.Client, FieldOwner
	if !leads {
		writer, owner = s.Beside, FieldOwnerBeside
	}
	err = writer.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(patch), client.FieldOwner(owner), client.ForceOwnership)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case err != nil:
		return err
	}
	return takeAway(ctx, writer, patch, owner, t.gone)
}

// takeAway removes conditions from a status that applying left, as others wrote
// them.
func takeAway(ctx context.Context, writer client.Client, object *unstructured.Unstructured, owner string, gone []string) error {
	status, err := statusOf(object)
	if err != nil {
		return err
	}
	var operations []string
	for i := len(status.Conditions) - 1; i >= 0; i-- {
		for _, kind := range gone {
			if status.Conditions[i].Type == kind {
				at := "/status/conditions/" + strconv.Itoa(i)
				operations = append(operations, fmt.Sprintf(`{"op":"test","path":%q,"value":%q},{"op":"remove","path":%q}`, at+"/type", kind, at))
			}
		}
	}
	if len(operations) == 0 {
		return nil
	}
	patch := client.RawPatch(types.JSONPatchType, []byte("["+strings.Join(operations, ",")+"]"))
	if err := writer.Status().Patch(ctx, object, patch, client.FieldOwner(owner)); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
		return err
	}
	return nil
}
