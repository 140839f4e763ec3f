package contract

import (
	"testing"
)

// TestAccessCapabilities says that a capability counts once a name, however it
// is written and in however many containers it stands.
func TestAccessCapabilities(t *testing.T) {
	t.Parallel()
	const listed = "{capabilities: {SYS_ADMIN: 7, NET_ADMIN: 3}}"
	tests := []struct {
		name    string
		weights string
		pod     []change
		score   string
		factor  string
	}{
		{"as listed", listed, []change{first(adding("SYS_ADMIN"))}, "7", "capability:SYS_ADMIN"},
		{"with CAP_", listed, []change{first(adding("CAP_SYS_ADMIN"))}, "7", "capability:SYS_ADMIN"},
		{"in lower case", listed, []change{first(adding("sys_admin"))}, "7", "capability:SYS_ADMIN"},
		{"in lower case with cap_", listed, []change{first(adding("cap_sys_admin"))}, "7", "capability:SYS_ADMIN"},
		{"two of them", listed, []change{first(adding("SYS_ADMIN", "NET_ADMIN"))}, "10", "capability:NET_ADMIN"},
		{"the same written in three ways", listed, []change{first(adding("SYS_ADMIN", "CAP_SYS_ADMIN", "sys_admin"))}, "7", "capability:SYS_ADMIN"},
		{"the same in every container", listed, []change{first(adding("SYS_ADMIN")), sidecar(adding("SYS_ADMIN")), initial(adding("SYS_ADMIN")), ephemeral(adding("SYS_ADMIN"))}, "7", "capability:SYS_ADMIN"},
		{"two in two containers", listed, []change{first(adding("SYS_ADMIN")), sidecar(adding("NET_ADMIN"))}, "10", "capability:NET_ADMIN"},
		{"ALL stands for every listed one", listed, []change{first(adding("ALL"))}, "10", "capability:SYS_ADMIN"},
		{"all in lower case", listed, []change{first(adding("all"))}, "10", "capability:SYS_ADMIN"},
		{"ALL and one of them", listed, []change{first(adding("ALL", "SYS_ADMIN"))}, "10", "capability:SYS_ADMIN"},
		{"one that is not listed", listed, []change{first(adding("SYS_TIME"))}, "0", ""},
		{"none added", listed, nil, "0", ""},
		{"in an init container", listed, []change{initial(adding("SYS_ADMIN"))}, "7", "capability:SYS_ADMIN"},
		{"in an ephemeral container", listed, []change{ephemeral(adding("SYS_ADMIN"))}, "7", "capability:SYS_ADMIN"},
		{"listed with CAP_", "{capabilities: {CAP_SYS_ADMIN: 7}}", []change{first(adding("SYS_ADMIN"))}, "7", "capability:SYS_ADMIN"},
		{"listed in lower case", "{capabilities: {sys_admin: 7}}", []change{first(adding("SYS_ADMIN"))}, "7", "capability:SYS_ADMIN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantScore(t, tt.weights, newPod("shop", "web", tt.pod...), tt.score, tt.factor)
		})
	}
}
