package judge_test

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// TestModulesThatReadStrictly puts the same questions to a module that reads its
// request as typed SDKs do, by check and by review: neither hands it a null, and both
// hand it the options of the write.
func TestModulesThatReadStrictly(t *testing.T) {
	module := clitest.Module(t, wasmtest.Strict)
	policy := func(settings string) string {
		return `
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: strict}
spec:
  module: file://` + module + `
  settings: {` + settings + `}
  rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*", "*/*"], operations: ["*"]}]
`
	}
	const write = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"OP","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"namespace":"default","name":"web","userInfo":{"username":"alice"},"object":null,"oldObject":null,"options":OPTIONS}}`
	review := func(operation, options string) string {
		return strings.NewReplacer("OP\"", operation+"\"", "OPTIONS", options).Replace(write)
	}
	filestest.InDir(t, map[string]string{
		"quiet/p.yaml": policy(""), "show/p.yaml": policy("show: true"), "pod.yaml": filestest.GoodPod,
		"delete.json": review("DELETE", `{"kind":"DeleteOptions","propagationPolicy":"Foreground"}`),
		"none.json":   review("DELETE", "null"),
		"create.yaml": filestest.CreateReview,
		"odd.json":    review("DELETE", `["DeleteOptions"]`),
	})
	// Compiled once for all.
	cache := t.TempDir()
	for _, tt := range []struct {
		args, shows, hides string
	}{
		{"check pod.yaml", `options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`, `oldObject`},
		{"check pod.yaml --operation DELETE", `options":{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1"}`, `"object"`},
		{"review delete.json", `options":{"kind":"DeleteOptions","propagationPolicy":"Foreground"}`, `object`},
		{"review none.json", `operation":"DELETE"`, `options`},
		{"review create.yaml", `object":"there"`, `options`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			fields := strings.Fields(tt.args)
			ask := func(policies string) (int, string) {
				status, out, errs := clitest.Run(t, "", append([]string{fields[0], "-p", policies, "--module-cache", cache}, fields[1:]...)...)
				return status, strings.ReplaceAll(out+errs, `\"`, `"`)
			}
			if status, text := ask("quiet"); status != 0 {
				t.Errorf("a typed SDK refuses it: status %d\n%s", status, text)
			}
			status, text := ask("show")
			if status != 1 || !strings.Contains(text, tt.shows) || strings.Contains(text, tt.hides+`":`) || strings.Contains(text, "null") {
				t.Errorf("status %d, the module got\n%s", status, text)
			}
		})
	}
	if status, _, errs := clitest.Run(t, "", "review", "-p", "quiet", "odd.json"); status != 2 || !strings.Contains(errs, "request.options is not an object") {
		t.Errorf("options that are a list: status %d\n%s", status, errs)
	}
}
