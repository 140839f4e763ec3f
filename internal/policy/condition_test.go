package policy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/contextgate"
)

// TestConditionsAreWritten only where they change, and without what the API server
// would refuse.
func TestConditionsAreWritten(t *testing.T) {
	object := stored(t, yamlOf("ClusterPolicy", "x", "spec: {}"))[0]
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "InForce", Message: "the policy is in force", ObservedGeneration: 1}
	changed, fresh, err := withConditions(object, v1alpha1.PolicyStatus{}, []metav1.Condition{ready})
	if err != nil || !fresh {
		t.Fatalf("a first condition is not written: %v", err)
	}
	if object.Object["status"] != nil {
		t.Error("the object that was given is changed")
	}
	status, err := statusOf(changed)
	if err != nil || len(status.Conditions) != 1 || status.ObservedGeneration != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	if _, fresh, err := withConditions(changed, status, []metav1.Condition{ready}); fresh || err != nil {
		t.Errorf("what says the same is written again: %v", err)
	}
	later := ready
	later.ObservedGeneration = 2
	if _, fresh, _ := withConditions(changed, status, []metav1.Condition{later}); !fresh {
		t.Error("a new generation is not written")
	}
	if changed, fresh, _ := withConditions(changed, status, []metav1.Condition{ready}, v1alpha1.ConditionReady); !fresh || changed == nil {
		t.Error("a condition that is gone is not taken away")
	}
	long := ready
	long.Message = strings.Repeat("ä", longestMessage)
	changed, _, err = withConditions(object, v1alpha1.PolicyStatus{}, []metav1.Condition{long})
	if err != nil {
		t.Fatal(err)
	}
	if status, err := statusOf(changed); err != nil || len(status.Conditions[0].Message) > longestMessage || !strings.HasSuffix(status.Conditions[0].Message, "ä...") {
		t.Errorf("the message is %d long: %v", len(status.Conditions[0].Message), err)
	}
	changed.Object["status"] = map[string]any{"conditions": "none"}
	if _, err := statusOf(changed); err == nil || !strings.Contains(err.Error(), "another shape than expected") {
		t.Errorf("a status that is none is read: %v", err)
	}
}

// TestConditionsOfContext are asked for where a policy works, and are left as they are
// where it does not.
func TestConditionsOfContext(t *testing.T) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 3}
	asked := func(p *contextgate.Policy, _ []metav1.Condition, generation int64, _ time.Time) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionContextReady, Message: p.String(), ObservedGeneration: generation}}
	}
	reads, err := contextgate.NewPolicy(contextgate.ClusterPolicy, "", "x", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	wrong := Problems{{Kind: "ClusterPolicy", Name: "x", Path: "spec"}}
	for name, c := range map[string]struct {
		context    contextConditions
		d          decoded
		want, gone int
	}{
		"no one is asked":          {nil, decoded{context: reads}, 0, 0},
		"it reads":                 {asked, decoded{context: reads}, 1, 0},
		"it reads nothing":         {asked, decoded{}, 0, 2},
		"it reads, and is wrong":   {asked, decoded{context: reads, problems: wrong}, 0, 0},
		"it is wrong, of no words": {asked, decoded{problems: wrong}, 0, 0},
	} {
		conditions, gone := (&Informer{context: c.context}).conditions(ready, &c.d, &v1alpha1.PolicyStatus{})
		// The first is whether it is in force, and that it leaves something open is gone.
		if len(conditions)-1 != c.want || len(gone)-1 != c.gone {
			t.Errorf("%s: %+v, gone %v", name, conditions, gone)
		}
	}
}

// TestConditionsOfGaps are there only for a policy that works and leaves something open.
func TestConditionsOfGaps(t *testing.T) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 3}
	note := Problems{{Kind: "DenyPolicy", Name: "x", Path: "spec", Detail: "leaves log open"}}
	for name, c := range map[string]struct {
		d    decoded
		gaps bool
	}{
		"it leaves nothing open":            {decoded{}, false},
		"it leaves something open":          {decoded{notes: note}, true},
		"it leaves something, and is wrong": {decoded{notes: note, problems: note}, false},
	} {
		conditions, gone := (&Informer{}).conditions(ready, &c.d, &v1alpha1.PolicyStatus{})
		if got := len(conditions) == 2; got != c.gaps || (len(gone) == 0) != c.gaps {
			t.Errorf("%s: %+v, gone %v", name, conditions, gone)
		}
		if c.gaps && (conditions[1].Type != v1alpha1.ConditionGaps || !strings.Contains(conditions[1].Message, "leaves log open") || conditions[1].ObservedGeneration != 3) {
			t.Errorf("%s: %+v", name, conditions[1])
		}
	}
}
