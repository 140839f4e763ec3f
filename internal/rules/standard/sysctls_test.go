package standard

import (
	"fmt"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func TestSysctls(t *testing.T) {
	t.Parallel()
	one := func(name string) string {
		return fmt.Sprintf(`{spec: {securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: "0"}, {name: %q, value: "1"}]}}}`, name)
	}
	unsafe := func(name string) []decision.Finding {
		return []decision.Finding{{Path: "spec.securityContext.sysctls[1].name", Value: name, Detail: "is not among the safe sysctls of this version"}}
	}
	tests := []controlTest{
		{name: "none", pod: `{spec: {securityContext: {sysctls: []}}}`},
		{name: "no security context", pod: `{spec: {}}`},
		{name: "unsafe", pod: one("kernel.msgmax"), want: unsafe("kernel.msgmax")},
		{name: "another spelling", pod: one("net/ipv4/tcp_syncookies"), want: unsafe("net/ipv4/tcp_syncookies")},
	}
	for _, came := range []struct {
		name         string
		since, until int
	}{
		{"net.ipv4.ip_unprivileged_port_start", 0, -1},
		{"net.ipv4.ip_local_reserved_ports", 27, 26},
		{"net.ipv4.tcp_keepalive_time", 29, 28},
		{"net.ipv4.tcp_rmem", 32, 31},
		{"net.ipv4.tcp_notsent_lowat", 37, 36},
	} {
		tests = append(tests, controlTest{name: "since " + came.name, version: fmt.Sprintf("v1.%d", came.since), pod: one(came.name)})
		if came.until >= 0 {
			tests = append(tests, controlTest{name: "before " + came.name, version: fmt.Sprintf("v1.%d", came.until), pod: one(came.name), want: unsafe(came.name)})
		}
	}
	testControl(t, "baseline", "sysctls", "Sysctls", tests)
}
