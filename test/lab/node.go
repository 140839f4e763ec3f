package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeletCallers writes the CA that the kubelet trusts, and returns the
// certificate that the API server calls it with.
func (l *Lab) kubeletCallers() (pair, error) {
	ca, err := newAuthority("callers of kubelets")
	if err != nil {
		return pair{}, err
	}
	if err := os.WriteFile(l.kubeletCallerCA(), ca.pem, 0o600); err != nil {
		return pair{}, err
	}
	return ca.client(filepath.Join(l.Dir, "kubelet-client"), "kube-apiserver-kubelet-client", "system:masters")
}

func (l *Lab) kubeletCallerCA() string { return filepath.Join(l.Dir, "kubelet-client-ca.crt") }

// startKubelet starts the stand-in for a kubelet and waits until its node is
// ready.
func (l *Lab) startKubelet(ctx context.Context) error {
	node, err := l.systemKubeconfig("system:node:"+NodeName, "system:nodes")
	if err != nil {
		return err
	}
	scheduler, err := l.systemKubeconfig("system:kube-scheduler")
	if err != nil {
		return err
	}
	args := []string{
		"--kubeconfig", node, "--schedule", scheduler, "--node-name", NodeName,
		"--client-ca-file", l.kubeletCallerCA(), "--root-dir", filepath.Join(l.Dir, "pods"),
	}
	if !l.options.SafeCommands {
		args = append(args, "--commands", "any")
	}
	if len(l.options.Programs) > 0 {
		args = append(args, l.programFlags()...)
	}
	if l.options.NodeAddress != "" {
		args = append(args, "--address", l.options.NodeAddress)
	}
	kubelet, err := l.launch("kubelet", args...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return kubelet.waitUntil(ctx, func(ctx context.Context) error {
		object, err := l.Client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range object.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("the node is not ready")
	})
}

// startControllers starts kube-controller-manager and waits until it works.
func (l *Lab) startControllers(ctx context.Context) error {
	user, groups, own := "system:kube-controller-manager", []string(nil), l.options.Controllers == OwnAccounts
	if !own {
		groups = []string{"system:masters"}
	}
	kubeconfig, err := l.systemKubeconfig(user, groups...)
	if err != nil {
		return err
	}
	ca := filepath.Join(l.Dir, "apiserver-ca.crt")
	if err := os.WriteFile(ca, l.Config.CAData, 0o600); err != nil {
		return err
	}
	controllers, err := l.launch("kube-controller-manager",
		"--kubeconfig="+kubeconfig, fmt.Sprintf("--use-service-account-credentials=%t", own),
		"--service-account-private-key-file="+filepath.Join(l.Dir, "apiserver", "sa-signer.key"),
		"--root-ca-file="+ca, "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0",
	)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return controllers.waitUntil(ctx, func(ctx context.Context) error {
		_, err := l.Client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}
