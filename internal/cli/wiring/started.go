package wiring

import (
	"fmt"
	"strings"
)

// What an API server is started by.
const (
	distributionPlain   = "plain"
	distributionKubeadm = "kubeadm"
	distributionKind    = "kind"
	distributionK3s     = "k3s"
)

var distributions = []string{distributionPlain, distributionKubeadm, distributionKind, distributionK3s}

// started is what the API server is started by, with the flag that names the first of the
// files.
func (f *flags) started() file {
	flag, value := "authorization-config", f.in("authorization-config.yaml")
	if f.admission {
		flag, value = "admission-control-config-file", f.in("admission-config.yaml")
	}
	switch f.distribution {
	case distributionKubeadm:
		return file{"kubeadm, from v1.31 on", []string{"Add this to the ClusterConfiguration, and write the static pod again on each control plane node:", "kubeadm init phase control-plane apiserver --config FILE", "Not tried by Sallyport's tests."}, f.kubeadm(flag, value, "")}
	case distributionKind:
		return file{"kind", []string{"The configuration of the cluster; the files are in " + "./sallyport" + " of the machine that kind runs on.", "Not tried by Sallyport's tests."}, f.kind(flag, value)}
	case distributionK3s:
		return file{"/etc/rancher/k3s/config.yaml", []string{"k3s of April 2025 or later: earlier ones start the API server with a flag that this one excludes.", "Not tried by Sallyport's tests."}, fmt.Sprintf("kube-apiserver-arg:\n- %s=%s\n", flag, value)}
	}
	says := []string{"The flag of kube-apiserver:"}
	if f.authorizer {
		says = []string{"The flag of kube-apiserver, in place of --authorization-mode and --authorization-webhook-*:"}
	}
	return file{"kube-apiserver", says, fmt.Sprintf("# --%s=%s\n", flag, value)}
}

// kubeadm is the part of a ClusterConfiguration, indented.
func (f *flags) kubeadm(flag, value, indent string) string {
	text := fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
apiServer:
  extraArgs:
  - name: %s
    value: %s
  extraVolumes:
  - name: sallyport
    hostPath: %s
    mountPath: %s
    readOnly: true
    pathType: Directory
`, flag, value, f.directory, f.directory)
	return indent + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent) + "\n"
}

func (f *flags) kind(flag, value string) string {
	return fmt.Sprintf(`apiVersion: kind.x-k8s.io/v1alpha4
kind: Cluster
nodes:
- role: control-plane
  extraMounts:
  - hostPath: ./sallyport
    containerPath: %s
    readOnly: true
  kubeadmConfigPatches:
  - |
%s`, f.directory, f.kubeadm(flag, value, "    "))
}
