package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
)

// compileModule compiles a policy that is a module. wide is nil for an
// AdmissionPolicy.
func (s *Sources) compileModule(kind string, meta *metav1.ObjectMeta, spec *v1alpha1.AdmissionPolicySpec, wide *v1alpha1.ClusterAdmissionPolicySpec) (*modulepolicy.Policy, field.ErrorList) {
	p, errs := modulepolicy.Compile(kind, meta, spec, wide)
	if p != nil && s.ModuleRules[spec] {
		p.Named = &modulepolicy.NamedRules{}
	}
	return p, errs
}
