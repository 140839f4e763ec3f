package risk

// runtimeSockets are where container runtimes listen. Whoever reaches one starts
// a privileged container on the node.
var runtimeSockets = []string{
	"/run/docker.sock",
	"/run/docker/containerd/containerd.sock", // docker's own containerd
	"/run/containerd/containerd.sock",
	"/run/containerd/containerd.sock.ttrpc",
	"/run/containerd/debug.sock",
	"/run/containerd/s",                    // the shims' sockets
	"/run/host-containerd/containerd.sock", // Bottlerocket
	"/run/crio/crio.sock",
	"/run/cri-dockerd.sock",
	"/run/dockershim.sock",
	"/run/frakti.sock",
	"/run/podman/podman.sock",
	"/run/k3s/containerd/containerd.sock", // k3s and RKE2
	"/run/k0s/containerd.sock",
	"/run/buildkit/buildkitd.sock",
	"/run/nri/nri.sock", // changes containers as they are made
	"/run/balena.sock",
	"/run/balena-engine.sock",
	"/var/snap/microk8s/common/run/containerd.sock",
	"/var/snap/docker/common/run/docker.sock",
	"/var/lib/lxd/unix.socket",
	"/var/snap/lxd/common/lxd/unix.socket",
	"/pipe/docker_engine", // Windows
	"/pipe/containerd-containerd",
}

// runtimeSocketDirs hold sockets under names that cannot be listed.
var runtimeSocketDirs = []string{
	"/run/containerd/s",
	"/run/vc", // Kata: the sockets of its virtual machines
}

// nodePlaces give the node away to whoever can read them.
var nodePlaces = []string{
	"/etc",  // accounts, keys, static pods, the cluster's certificates
	"/proc", // the memory and the settings of the kernel and of every process
	"/sys",  // devices, cgroups and kernel settings
	"/dev",  // disks and memory as devices
	"/boot", // the kernel and what starts it
	"/root", // keys and shells of those who log in
	"/home",
	"/var/home",
	"/var/roothome",
	"/var/lib/kubelet",    // every pod's tokens and secrets, and the node's key
	"/var/lib/kubernetes", // the cluster's keys on some distributions
	"/var/lib/minikube",
	"/var/lib/etcd",   // the whole cluster's state
	"/var/lib/docker", // every container's files
	"/var/lib/containerd",
	"/var/lib/containers",
	"/var/lib/crio",
	"/var/lib/rancher", // k3s and RKE2: state, keys and containers
	"/var/lib/k0s",
	"/var/lib/cloud",  // the node's user data
	"/var/snap",       // microk8s, docker and lxd
	"/var/log",        // every pod's log; a link placed in it is followed by the kubelet
	"/run/containerd", // every container's root file system
	"/run/k3s",
	"/run/systemd", // commands to the first process
	"/run/dbus",
	"/run/credentials",
	"/sysroot", // the whole disk where the root is an image
	"/ostree",
	"/mnt/stateful_partition",
	"/system", // Talos' state
	"/windows",
	"/users",
	"/programdata",
}

// programPlaces are run by the node's root, or by its kernel: whoever can write
// them is root on the node.
var programPlaces = []string{
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/usr",
	"/opt/cni", // network plugins
	"/opt/bin",
	"/var/spool/cron",  // jobs
	"/var/lib/dpkg",    // scripts that the package manager runs
	"/var/lib/systemd", // what is started again
	"/var/lib/cni",
	"/program files",
}
