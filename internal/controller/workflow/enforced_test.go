package workflow

import (
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// TestEnforcedIsOfItsVersion keeps what is said of the version that there is, and takes
// back what was said of an earlier one.
func TestEnforcedIsOfItsVersion(t *testing.T) {
	said := func(generation int64, status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionEnforced, Status: status, Reason: "Asked", Message: "said", ObservedGeneration: generation}}
	}
	knows := func(known bool) func(stored.Ref, policy.Version, bool) (metav1.Condition, bool) {
		return func(ref stored.Ref, version policy.Version, works bool) (metav1.Condition, bool) {
			if ref != (stored.Ref{Kind: exception.KindException, Namespace: "shop", Name: "e"}) || version != (policy.Version{UID: "u", Generation: 2}) || !works {
				t.Errorf("asked of %v, %v, %v", ref, version, works)
			}
			return said(0, metav1.ConditionTrue)[0], known
		}
	}
	for name, c := range map[string]struct {
		enforced   func(stored.Ref, policy.Version, bool) (metav1.Condition, bool)
		conditions []metav1.Condition
		want       metav1.ConditionStatus
		generation int64
	}{
		"nobody who says so":                    {nil, said(1, metav1.ConditionFalse), metav1.ConditionFalse, 1},
		"known":                                 {knows(true), nil, metav1.ConditionTrue, 2},
		"known, after an earlier version":       {knows(true), said(1, metav1.ConditionFalse), metav1.ConditionTrue, 2},
		"not known":                             {knows(false), nil, "", 0},
		"not known now, and said of it before":  {knows(false), said(2, metav1.ConditionFalse), metav1.ConditionFalse, 2},
		"not known, and said of an earlier one": {knows(false), said(1, metav1.ConditionFalse), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			controller := &Controller{Options: Options{Enforced: c.enforced}}
			conditions := c.conditions
			controller.setEnforced(&conditions, exception.KindException, &metav1.ObjectMeta{Namespace: "shop", Name: "e", UID: "u", Generation: 2}, true)
			got := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionEnforced)
			switch {
			case got == nil && c.want != "":
				t.Errorf("nothing is said, want %s", c.want)
			case got != nil && (got.Status != c.want || got.ObservedGeneration != c.generation || len(conditions) != 1):
				t.Errorf("%+v, want %q of generation %d", conditions, c.want, c.generation)
			}
		})
	}
}

// TestExceptionsOfOtherTimesAreNotEnforced says so of one that is over, or begins later.
func TestExceptionsOfOtherTimesAreNotEnforced(t *testing.T) {
	for _, state := range []v1alpha1.ExceptionState{v1alpha1.ExceptionExpired, v1alpha1.ExceptionPending} {
		var conditions []metav1.Condition
		(&Controller{}).setNotNow(&conditions, 2, state)
		if len(conditions) > 0 {
			t.Errorf("said where nobody knows whether exceptions are enforced: %+v", conditions)
		}
		c := &Controller{Options: Options{Enforced: func(stored.Ref, policy.Version, bool) (metav1.Condition, bool) {
			return metav1.Condition{}, false
		}}}
		c.setNotNow(&conditions, 2, state)
		if got := conditions[0]; got.Status != metav1.ConditionFalse || got.Reason != string(state) || got.ObservedGeneration != 2 {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

// TestExceptionsAreEnforcedInTheirTime says so while one holds, and not before or after.
func TestExceptionsAreEnforcedInTheirTime(t *testing.T) {
	text := strings.Replace(exceptionText(exception.KindException, "{policyName: p}"), "spec: {", `spec: {notBefore: "2026-11-29T12:00:00Z", expiresAt: "2026-11-30T12:00:00Z", `, 1)
	for after, want := range map[time.Duration]string{0: "False NotYetValid", 25 * time.Hour: "True InForce", 49 * time.Hour: "False Expired"} {
		e := parse[v1alpha1.PolicyException](t, text)
		w := newSwept(t, nil, e)
		w.Retention = 0
		w.Enforced = func(stored.Ref, policy.Version, bool) (metav1.Condition, bool) {
			return metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "InForce"}, true
		}
		w.clock.SetTime(noon.Add(after))
		w.sweep()
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
			t.Fatal(err)
		}
		got := apimeta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionEnforced)
		if got == nil || string(got.Status)+" "+got.Reason != want {
			t.Errorf("after %s: state %s, %+v, want %s", after, e.Status.State, got, want)
		}
	}
}

// TestApprovedRequestsAreEnforced says so of a request where every replica has it and its
// answer, and nothing of one that excuses nothing.
func TestApprovedRequestsAreEnforced(t *testing.T) {
	q := &v1alpha1.PolicyExceptionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "q", UID: "u", Generation: 3}}
	answer := &v1alpha1.PolicyExceptionResponse{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "v", Generation: 1}}
	for name, c := range map[string]struct {
		request, answer metav1.ConditionStatus
		answered        *v1alpha1.PolicyExceptionResponse
		excuses         bool
		want            metav1.ConditionStatus
	}{
		"both everywhere":         {"True", "True", answer, true, "True"},
		"the request not":         {"False", "True", answer, true, "False"},
		"its answer not":          {"True", "False", answer, true, "False"},
		"the request not known":   {"", "True", answer, true, ""},
		"its answer not known":    {"True", "", answer, true, ""},
		"one that is denied":      {"True", "True", answer, false, ""},
		"one without an approval": {"True", "True", nil, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			controller := &Controller{Options: Options{Enforced: func(ref stored.Ref, version policy.Version, works bool) (metav1.Condition, bool) {
				status := c.request
				switch ref {
				case stored.Ref{Kind: exception.KindRequest, Namespace: "dev", Name: "q"}:
					if version != (policy.Version{UID: "u", Generation: 3}) {
						t.Errorf("asked of %+v of the request", version)
					}
				case stored.Ref{Kind: exception.KindResponse, Name: "a"}:
					status = c.answer
					if version != (policy.Version{UID: "v", Generation: 1}) {
						t.Errorf("asked of %+v of the answer", version)
					}
				default:
					t.Errorf("asked of %s", ref)
				}
				return metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: status, Reason: "InForce"}, works && status != ""
			}}}
			conditions := []metav1.Condition{{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionFalse, Reason: "Before", ObservedGeneration: 2}}
			controller.setApprovedEnforced(&conditions, q, c.answered, c.excuses)
			got := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionEnforced)
			switch {
			case got == nil && c.want != "", got != nil && (got.Status != c.want || got.ObservedGeneration != 3):
				t.Errorf("said %+v, want %q", got, c.want)
			}
		})
	}
	before := []metav1.Condition{{Type: v1alpha1.ConditionEnforced}}
	if (&Controller{}).setApprovedEnforced(&before, q, answer, false); len(before) != 1 {
		t.Error("something is said where nobody knows it")
	}
}
