package match

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestClusterScoped looks at kinds of Kubernetes, ours and others.
func TestClusterScoped(t *testing.T) {
	for entry, want := range map[string]bool{
		"Node": true, "Namespace": true, "v1/Node": true, "ClusterRole": true, "rbac.authorization.k8s.io/v1/ClusterRole": true,
		"DenyPolicy": true, "ExceptionPolicy": true, "ClusterPolicyException": true, "PriorityLevelConfiguration": true,
		"Pod": false, "PolicyException": false, "example.com/v1/Node": true, "Node*": false, "*": false, "Deployment": false,
	} {
		kind, err := ParseKind(entry)
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		if got := kind.ClusterScoped(); got != want {
			t.Errorf("%s: %v, want %v", entry, got, want)
		}
	}
	if !ClusterScoped(schema.GroupKind{Group: "sallyport.io", Kind: "PolicyExceptionResponse"}) || ClusterScoped(schema.GroupKind{Kind: "DenyPolicy"}) {
		t.Error("kinds are told apart by their groups")
	}
}
