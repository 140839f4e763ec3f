package standard

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestHostNamespaces(t *testing.T) {
	t.Parallel()
	testControl(t, "baseline", "hostNamespaces", "Host Namespaces", []controlTest{
		{name: "not set", pod: `{spec: {containers: [{name: a}]}}`},
		{name: "a user namespace excuses nothing", pod: `{spec: {hostUsers: false, hostPID: true}}`, want: []decision.Finding{
			{Path: "spec.hostPID", Value: "true", Detail: "must be false or not set"},
		}},
		{name: "all", version: "v1.0", pod: `{spec: {hostNetwork: true, hostPID: true, hostIPC: true}}`, want: []decision.Finding{
			{Path: "spec.hostNetwork", Value: "true", Detail: "must be false or not set"},
			{Path: "spec.hostPID", Value: "true", Detail: "must be false or not set"},
			{Path: "spec.hostIPC", Value: "true", Detail: "must be false or not set"},
		}},
	})
}
