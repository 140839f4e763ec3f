package enforced

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestCondition is True only where every part is, and says the first that is not.
func TestCondition(t *testing.T) {
	part := func(status metav1.ConditionStatus, reason string) Part {
		return func(stored.Ref, policy.Version) (metav1.Condition, bool) {
			return metav1.Condition{Status: status, Reason: reason, Message: reason}, status != ""
		}
	}
	yes, no, open := part("True", "Yes"), part("False", "No"), part("", "")
	for _, c := range []struct {
		name, kind string
		parts      Parts
		broken     bool
		want, says string
	}{
		{"all", "ClusterPolicy", Parts{Asked: yes, Reached: yes, InForce: yes}, false, "True Asked", "Yes; Yes; Yes"},
		{"one that cannot work", "ClusterPolicy", Parts{Asked: yes, Reached: yes, InForce: yes}, true, "False CannotWork", "this version cannot work; the condition Ready says why"},
		{"not asked", "DenyPolicy", Parts{Asked: no, Reached: open, InForce: open}, false, "False No", "No"},
		{"not reached", "IdentitySource", Parts{Asked: yes, Reached: no, InForce: yes}, false, "False No", "No"},
		{"not reached, and nothing is asked there", "DenyPolicy", Parts{Asked: part("True", BySideDoor), Reached: no, InForce: yes}, false, "True Asked", BySideDoor + "; Yes"},
		{"not everywhere", "Policy", Parts{Asked: yes, Reached: yes, InForce: no}, false, "False No", "No"},
		{"not known yet", "AdmissionPolicy", Parts{Asked: yes, Reached: open, InForce: no}, false, "", ""},
		{"an exception", "PolicyException", Parts{Asked: no, Reached: no, InForce: yes}, false, "True InForce", "Yes"},
		{"an exception that is not everywhere", "ClusterPolicyException", Parts{Asked: yes, Reached: yes, InForce: no}, false, "False No", "No"},
		{"a request that was approved", "PolicyExceptionRequest", Parts{Asked: no, Reached: no, InForce: yes}, false, "True InForce", "Yes"},
		{"an answer that is not everywhere", "PolicyExceptionResponse", Parts{Asked: yes, Reached: yes, InForce: no}, false, "False No", "No"},
		{"a kind of which it is not said", "PodKind", Parts{Asked: yes, Reached: yes, InForce: yes}, false, "", ""},
		{"nothing is refused", "DenyPolicy", Parts{Asked: yes, Reached: yes, InForce: yes, Observe: true}, false, "False Observing", stored.Observing},
		{"nothing is refused, and it cannot work", "DenyPolicy", Parts{Observe: true}, true, "False CannotWork", "this version cannot work; the condition Ready says why"},
		{"an exception where nothing is refused", "PolicyException", Parts{InForce: yes, Observe: true}, false, "True InForce", "Yes"},
		{"parts that there are not", "ClusterAdmissionPolicy", Parts{Asked: yes}, false, "True Asked", "Yes"},
	} {
		got, known := c.parts.Condition(stored.Ref{Kind: c.kind}, policy.Version{}, !c.broken)
		said := ""
		if known {
			said = string(got.Status) + " " + got.Reason
		}
		if said != c.want || got.Message != c.says {
			t.Errorf("%s: %q %q", c.name, said, got.Message)
		}
	}
}
