package standard

import (
	"slices"
	"strconv"
)

// Sysctls must be ones that cannot reach beyond the pod.
//
// Fields:
//
//	spec.securityContext.sysctls[*].name
//
// Allowed: the names below, each since the version that it stands with.
var sysctls = sysctlControls(sysctlRevisions...)

var sysctlRevisions = []sysctlRevision{
	{0, []string{
		"kernel.shm_rmid_forced",
		"net.ipv4.ip_local_port_range",
		"net.ipv4.tcp_syncookies",
		"net.ipv4.ping_group_range",
		"net.ipv4.ip_unprivileged_port_start",
	}},
	{27, []string{
		"net.ipv4.ip_local_reserved_ports",
	}},
	{29, []string{
		"net.ipv4.tcp_keepalive_time",
		"net.ipv4.tcp_fin_timeout",
		"net.ipv4.tcp_keepalive_intvl",
		"net.ipv4.tcp_keepalive_probes",
	}},
	{32, []string{
		"net.ipv4.tcp_rmem",
		"net.ipv4.tcp_wmem",
	}},
	{37, []string{
		"net.ipv4.tcp_slow_start_after_idle",
		"net.ipv4.tcp_notsent_lowat",
	}},
}

// sysctlRevision is what a minor version came to allow.
type sysctlRevision struct {
	since int
	names []string
}

// sysctlControls makes a control for each revision, which allows what the ones
// before it do as well.
func sysctlControls(revisions ...sysctlRevision) []control {
	var controls []control
	var allowed []string
	for _, revision := range revisions {
		allowed = slices.Concat(allowed, revision.names)
		safe := allowed
		controls = append(controls, control{
			id:    "sysctls",
			since: revision.since,
			name:  "Sysctls",
			pod:   func(s *scan) { judgeSysctls(s, safe) },
		})
	}
	return controls
}

func judgeSysctls(s *scan, safe []string) {
	if s.spec.SecurityContext == nil {
		return
	}
	for i, sysctl := range s.spec.SecurityContext.Sysctls {
		if !slices.Contains(safe, sysctl.Name) {
			s.field("spec.securityContext.sysctls["+strconv.Itoa(i)+"].name", sysctl.Name, "is not among the safe sysctls of this version")
		}
	}
}

// SafeSysctl reports whether a sysctl is one that the newest version allows at the
// baseline level: it belongs only to the pod and cannot harm the node.
func SafeSysctl(name string) bool {
	return slices.ContainsFunc(sysctlRevisions, func(r sysctlRevision) bool { return slices.Contains(r.names, name) })
}
