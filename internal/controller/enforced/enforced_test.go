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
		{"all", "ClusterPolicy", Parts{yes, yes, yes}, false, "True Asked", "Yes; Yes; Yes"},
		{"one that cannot work", "ClusterPolicy", Parts{yes, yes, yes}, true, "False CannotWork", "this version cannot work; the condition Ready says why"},
		{"not asked", "DenyPolicy", Parts{no, open, open}, false, "False No", "No"},
		{"not reached", "IdentitySource", Parts{yes, no, yes}, false, "False No", "No"},
		{"not reached, and nothing is asked there", "DenyPolicy", Parts{part("True", BySideDoor), no, yes}, false, "True Asked", BySideDoor + "; Yes"},
		{"not everywhere", "Policy", Parts{yes, yes, no}, false, "False No", "No"},
		{"not known yet", "AdmissionPolicy", Parts{yes, open, no}, false, "", ""},
		{"an exception", "PolicyException", Parts{no, no, yes}, false, "True InForce", "Yes"},
		{"an exception that is not everywhere", "ClusterPolicyException", Parts{yes, yes, no}, false, "False No", "No"},
		{"a request that was approved", "PolicyExceptionRequest", Parts{no, no, yes}, false, "True InForce", "Yes"},
		{"an answer that is not everywhere", "PolicyExceptionResponse", Parts{yes, yes, no}, false, "False No", "No"},
		{"a kind of which it is not said", "PodKind", Parts{yes, yes, yes}, false, "", ""},
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
