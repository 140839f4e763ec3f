package risk

import (
	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Factor is one kind of dangerous setting. Factors are ordered as they stand in
// v1alpha1.RiskFactors; whatever lists factors lists them in this order.
type Factor uint8

// The factors. The package comment says what each means.
const (
	HostNetwork Factor = iota
	HostPID
	HostIPC
	PrivilegedContainer
	HostPathWritable
	HostPathReadOnly
	RunAsRoot
	// Capabilities stands for capabilities taken together; a single one is
	// written capability:NAME.
	Capabilities
	HostPort
	AllowPrivilegeEscalation
	ProcMountUnmasked
	SeccompUnconfined
	AppArmorUnconfined
	UnsafeSysctl
	WindowsHostProcess
	ShareProcessNamespace
	RuntimeSocket
	SensitiveHostPath
	ServiceAccountToken
	PowerfulServiceAccount

	numFactors
)

// factors holds, for each factor, its name and where its weight stands. The
// weights of Capabilities stand in a map of their own.
var factors = [numFactors]struct {
	name   string
	weight func(*v1alpha1.RiskFactors) int32
}{
	HostNetwork:              {"hostNetwork", func(f *v1alpha1.RiskFactors) int32 { return f.HostNetwork }},
	HostPID:                  {"hostPID", func(f *v1alpha1.RiskFactors) int32 { return f.HostPID }},
	HostIPC:                  {"hostIPC", func(f *v1alpha1.RiskFactors) int32 { return f.HostIPC }},
	PrivilegedContainer:      {"privilegedContainer", func(f *v1alpha1.RiskFactors) int32 { return f.PrivilegedContainer }},
	HostPathWritable:         {"hostPathWritable", func(f *v1alpha1.RiskFactors) int32 { return f.HostPathWritable }},
	HostPathReadOnly:         {"hostPathReadOnly", func(f *v1alpha1.RiskFactors) int32 { return f.HostPathReadOnly }},
	RunAsRoot:                {"runAsRoot", func(f *v1alpha1.RiskFactors) int32 { return f.RunAsRoot }},
	Capabilities:             {"capabilities", func(*v1alpha1.RiskFactors) int32 { return 0 }},
	HostPort:                 {"hostPort", func(f *v1alpha1.RiskFactors) int32 { return f.HostPort }},
	AllowPrivilegeEscalation: {"allowPrivilegeEscalation", func(f *v1alpha1.RiskFactors) int32 { return f.AllowPrivilegeEscalation }},
	ProcMountUnmasked:        {"procMountUnmasked", func(f *v1alpha1.RiskFactors) int32 { return f.ProcMountUnmasked }},
	SeccompUnconfined:        {"seccompUnconfined", func(f *v1alpha1.RiskFactors) int32 { return f.SeccompUnconfined }},
	AppArmorUnconfined:       {"appArmorUnconfined", func(f *v1alpha1.RiskFactors) int32 { return f.AppArmorUnconfined }},
	UnsafeSysctl:             {"unsafeSysctl", func(f *v1alpha1.RiskFactors) int32 { return f.UnsafeSysctl }},
	WindowsHostProcess:       {"windowsHostProcess", func(f *v1alpha1.RiskFactors) int32 { return f.WindowsHostProcess }},
	ShareProcessNamespace:    {"shareProcessNamespace", func(f *v1alpha1.RiskFactors) int32 { return f.ShareProcessNamespace }},
	RuntimeSocket:            {"runtimeSocket", func(f *v1alpha1.RiskFactors) int32 { return f.RuntimeSocket }},
	SensitiveHostPath:        {"sensitiveHostPath", func(f *v1alpha1.RiskFactors) int32 { return f.SensitiveHostPath }},
	ServiceAccountToken:      {"serviceAccountToken", func(f *v1alpha1.RiskFactors) int32 { return f.ServiceAccountToken }},
	PowerfulServiceAccount:   {"powerfulServiceAccount", func(f *v1alpha1.RiskFactors) int32 { return f.PowerfulServiceAccount }},
}

// String is the factor's name in a policy.
func (f Factor) String() string {
	if f >= numFactors {
		return "unknown"
	}
	return factors[f].name
}

// Parse finds a factor by the name that it has in a policy. Case counts.
func Parse(name string) (Factor, bool) {
	for f := range numFactors {
		if factors[f].name == name {
			return f, true
		}
	}
	return 0, false
}

// factorSet is a set of factors.
type factorSet uint32

func (s *factorSet) add(f Factor)     { *s |= 1 << f }
func (s factorSet) has(f Factor) bool { return s&(1<<f) != 0 }
