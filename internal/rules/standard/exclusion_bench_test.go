package standard

import (
	"fmt"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// excusedPod breaks controls of the pod and of two containers.
const excusedPod = `
spec:
  hostNetwork: true
  securityContext: {seccompProfile: {type: Unconfined}}
  containers:
  - {name: agent, image: "registry.example/agent:1", securityContext: {privileged: true, capabilities: {drop: [ALL], add: [NET_ADMIN, SYS_ADMIN]}}}
  - {name: web, image: "registry.example/web:1", securityContext: {capabilities: {drop: [ALL], add: [NET_ADMIN]}}}
  volumes:
  - {name: root, hostPath: {path: /}}
`

func BenchmarkExcuse(b *testing.B) {
	part := `{controlName: Capabilities, images: ["registry.example/agent:*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [NET_ADMIN]}`
	others := "["
	for i := range 100 {
		others += fmt.Sprintf(`{controlName: Capabilities, images: ["other.example/%d:*"]},`, i)
	}
	tests := []struct{ name, exclude string }{
		{"None", `[]`},
		{"OtherControl", `[{controlName: Sysctls}]`},
		{"Whole", `[{controlName: Capabilities, images: ["registry.example/*"]}]`},
		{"Part", `[` + part + `]`},
		{"HundredOthersAndPart", others + part + `]`},
	}
	p := parse(b, excusedPod)
	s := mustNew(b, v1alpha1.LevelRestricted, "", "")
	b.Run("Check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Check(p)
		}
	})
	violations := s.Check(p)
	for _, test := range tests {
		x := mustExclude(b, test.exclude)
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Excuse(p, violations)
			}
		})
	}
}

func BenchmarkCompileExclusions(b *testing.B) {
	list := everyField()
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := CompileExclusions(list, nil); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
