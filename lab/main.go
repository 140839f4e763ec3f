// Command lab is a real Kubernetes control plane in one binary: etcd,
// kube-apiserver, kube-controller-manager and kubectl, each the upstream
// program unchanged, a stand-in for the kubelet, and one that says what the API
// server fills into objects.
//
// Which program runs is decided by the name that the binary was called by, so
// that symbolic links serve as the assets that envtest looks for, or by the
// first argument.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"github.com/sallyport-io/sallyport/lab/defaults"
	"github.com/sallyport-io/sallyport/lab/kubelet"
	"github.com/sallyport-io/sallyport/lab/program"
)

// containerProgram is started by the kubelet and becomes another program. It ends with
// the kubelet, and must not remove the directory of the lab, as it sees more of this
// machine below it than others do.
const containerProgram = "container"

var programs = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kubectl":                 kubectl,
	"defaults":                func() int { return defaults.Main(os.Args[1:]) },
	"kubelet":                 func() int { return kubelet.Main(os.Args[1:]) },
	containerProgram:          func() int { return program.Contain(os.Args[1:]) },
}

func main() {
	name := filepath.Base(os.Args[0])
	run, ok := programs[name]
	if !ok && len(os.Args) > 1 {
		if run, ok = programs[os.Args[1]]; ok {
			os.Args = os.Args[1:]
		}
	}
	if !ok {
		names := make([]string, 0, len(programs))
		for n := range programs {
			names = append(names, n)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "usage: %s PROGRAM [ARG ...], where PROGRAM is one of %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}
	if filepath.Base(os.Args[0]) == containerProgram {
		os.Exit(run())
	}
	if err := holdLifeline(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(run())
}

func kubectl() int {
	if err := cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}
