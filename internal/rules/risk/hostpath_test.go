package risk

import "testing"

func TestTraitsOfHostPaths(t *testing.T) {
	socket := hostPathTraits{socket: true}
	sensitive := hostPathTraits{sensitive: true}
	both := hostPathTraits{socket: true, sensitive: true}
	all := hostPathTraits{socket: true, sensitive: true, sensitiveWritable: true}
	programs := hostPathTraits{sensitiveWritable: true}
	for path, want := range map[string]hostPathTraits{
		"/":                                     all,
		"//":                                    all,
		"":                                      all,
		".":                                     all,
		"/var":                                  all,
		"/data/..":                              all,
		"/run":                                  both,
		"/run/":                                 both,
		"/var/run":                              both,
		"/var/run/..":                           all,
		"/var/run/../run":                       both,
		"var/run":                               both,
		"/var/run/docker.sock":                  socket,
		"/run/docker.sock":                      socket,
		"/run//docker.sock/":                    socket,
		"/var/./run/docker.sock":                socket,
		"/run/docker":                           socket,
		"/run/containerd":                       both,
		"/run/containerd/containerd.sock":       both,
		"/run/containerd/s/0123":                both,
		"/run/crio":                             socket,
		"/run/crio/crio.sock":                   socket,
		"/run/cri-dockerd.sock":                 socket,
		"/run/k3s/containerd/containerd.sock":   both,
		"/run/podman/podman.sock":               socket,
		"/run/user":                             socket,
		"/run/user/1000":                        socket,
		"/run/user/1000/podman":                 socket,
		"/run/user/1000/podman/podman.sock":     socket,
		"/run/user/1000/pulse":                  {},
		"/run/users":                            {},
		"/opt/containers/docker.sock":           socket,
		"/proc/1/root/run/docker.sock":          both,
		"/proc/1/root":                          both,
		"/proc/self/task/1/cwd/run":             both,
		"/proc":                                 sensitive,
		"/proc/sys/kernel":                      sensitive,
		"/sys/fs/cgroup":                        sensitive,
		"/etc":                                  sensitive,
		"/etc/kubernetes/pki":                   sensitive,
		"/etcetera":                             {},
		"/dev/sda":                              sensitive,
		"/root/.ssh":                            sensitive,
		"/home":                                 sensitive,
		"/var/lib":                              all,
		"/var/lib/kubelet/pods":                 sensitive,
		"/var/lib/docker":                       sensitive,
		"/var/lib/etcd":                         sensitive,
		"/var/log":                              sensitive,
		"/var/log/pods":                         sensitive,
		"/var/logs":                             {},
		"/usr/local/bin":                        programs,
		"/opt/cni/bin":                          programs,
		"/opt":                                  programs,
		"/opt/data":                             {},
		"/lib/modules":                          programs,
		"/data":                                 {},
		"/mnt/disks/ssd0":                       {},
		"/srv/etc":                              {},
		`C:\`:                                   all,
		`c:`:                                    all,
		`C:\ProgramData\docker`:                 sensitive,
		`C:/Windows/System32`:                   sensitive,
		`\\.\pipe\docker_engine`:                socket,
		`\\.\pipe\containerd-containerd`:        socket,
		`\\?\C:\Windows`:                        sensitive,
		`/etc\..\..`:                            all,
		`C:\data`:                               {},
		"/run/systemd/private":                  sensitive,
		"/run/dbus/system_bus_socket":           sensitive,
		"/var/snap/docker/common/run":           both,
		"/var/lib/containers/storage/overlay/x": sensitive,
	} {
		t.Run(path, func(t *testing.T) {
			if got := traitsOf(path); got != want {
				t.Errorf("traitsOf(%q) = %+v, want %+v", path, got, want)
			}
		})
	}
}
