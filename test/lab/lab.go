// Package lab starts a real Kubernetes control plane for tests: etcd,
// kube-apiserver, where asked for kube-controller-manager, and a stand-in for a
// kubelet that serves exec, attach, port-forward and logs. Everything runs on
// free ports below a temporary directory, so that any number of labs can run
// beside each other, and ends with the process that started it.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Admin is the user that is a member of system:masters in every lab.
const Admin = "admin"

// NodeName is the node that the kubelet of a lab registers.
const NodeName = "lab-node"

// startTimeout bounds the start of each program on a machine that is busy.
const startTimeout = 90 * time.Second

// Controllers says whether kube-controller-manager runs, and as whom.
type Controllers int

const (
	// NoControllers leaves it out.
	NoControllers Controllers = iota
	// OneAccount lets all controllers work as a member of system:masters, which is
	// quickest.
	OneAccount
	// OwnAccounts gives each controller a service account of its own, as clusters
	// have it.
	OwnAccounts
)

// Options say what a lab consists of. The zero value is an API server that knows
// Node and RBAC, and nothing else.
type Options struct {
	// Authorization is the AuthorizationConfiguration to start with, in YAML. Empty:
	// Node and RBAC. SetAuthorization changes it later.
	Authorization string
	// AdmissionPlugins are enabled beyond those that the API server enables by
	// default and NodeRestriction.
	AdmissionPlugins []string
	// PodSecurity is a PodSecurityConfiguration in YAML, for the plugin PodSecurity.
	PodSecurity string
	// Users can be named in Kubeconfig and Kubectl, beside Admin.
	Users []User
	// FeatureGates of the API server.
	FeatureGates map[string]bool
	// APIServerFlags are set last and win over what the lab sets; names come without
	// dashes.
	APIServerFlags map[string][]string
	// CRDs are files and directories with CustomResourceDefinitions to install.
	CRDs []string
	// Audit keeps an audit log with the metadata of every request; see AuditLog.
	Audit bool
	// Used, where it is given, learns from an audit log which rights its users make use of.
	Used *Used
	// Controllers says whether and how kube-controller-manager runs. With it, pods
	// get a service account's token like anywhere else.
	Controllers Controllers
	// Kubelet registers a node and runs pods on it; pods without a node are bound to
	// it.
	Kubelet bool
	// SafeCommands lets exec run nothing but commands that are built into the
	// kubelet. Otherwise it runs programs of this machine, in the pod's directory.
	SafeCommands bool
	// Programs are programs of this machine by the repository of an image: a pod's
	// containers of that image run the program, and have what the pod gives them, an
	// address of its own included. Webhooks are reached by their Services then. It needs
	// Kubelet and Controllers; Start returns [ErrPrograms] where this machine does not
	// let it.
	Programs map[string]string
	// NodeAddress is where the kubelet listens, 127.0.0.1 when empty. The API server
	// proxies to no loopback address: proxy requests that are to get through need
	// another address of this machine.
	NodeAddress string
	// Cluster is the name that this lab's API server asks a Sallyport for, at the end
	// of the paths. Empty: it asks for the Sallyport's own.
	Cluster string
	// Caller is the common name of the certificate that the API server shows to
	// webhooks, kube-apiserver when empty.
	Caller string
	// Log gets a line for each step. Nil: nothing is written.
	Log io.Writer
}

// Lab is a control plane that runs.
type Lab struct {
	// Dir holds everything that the lab writes. It is gone after Stop.
	Dir string
	// Config and Client reach the API server as Admin.
	Config *rest.Config
	Client kubernetes.Interface

	options  Options
	binaries string
	env      *envtest.Environment
	callers  *authority
	caller   pair

	// ctx ends when the lab is being stopped, and what was started for it with it.
	ctx    context.Context
	cancel context.CancelFunc

	mu          sync.Mutex
	processes   []*process
	kubeconfigs map[string]string
	remove      func() error

	// signing guards the authority behind certificate users.
	signing sync.Mutex
}

var quiet = sync.OnceFunc(func() { ctrllog.SetLogger(logr.Discard()) })

// Start starts a lab, and returns when every part of it can be used. Where that
// fails, what had been started is ended again.
func Start(ctx context.Context, options Options) (_ *Lab, err error) {
	quiet()
	if err := canRunPrograms(options); err != nil {
		return nil, err
	}
	l := &Lab{options: options, kubeconfigs: map[string]string{}}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if l.binaries, err = Binaries(ctx); err != nil {
		return nil, err
	}
	if l.Dir, l.remove, err = newDirectory(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Stop())
		}
	}()
	for _, dir := range []string{"logs", "users", "homes"} {
		if err := os.Mkdir(filepath.Join(l.Dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	steps := []struct {
		name string
		wish bool
		run  func(context.Context) error
	}{
		{"etcd and kube-apiserver", true, l.startControlPlane},
		{"kube-controller-manager", options.Controllers != NoControllers, l.startControllers},
		{"kubelet", options.Kubelet, l.startKubelet},
	}
	for _, step := range steps {
		if !step.wish {
			continue
		}
		began := time.Now()
		if err := step.run(ctx); err != nil {
			return nil, fmt.Errorf("start %s: %w", step.name, err)
		}
		l.say("started %s in %.1f s", step.name, time.Since(began).Seconds())
	}
	return l, nil
}

// Stop ends everything that the lab started and removes its directory. What
// watches the API server ends first, the API server next and etcd last: in any
// other order they wait for each other.
func (l *Lab) Stop() error {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed []error
	for i := len(l.processes) - 1; i >= 0; i-- {
		if err := l.processes[i].stop(); err != nil {
			failed = append(failed, err)
		}
	}
	l.processes = nil
	if l.env != nil {
		// One that was paused does not hear that it is to end.
		_ = l.ResumeEtcd()
		_ = l.ResumeAPIServer()
		if err := l.env.Stop(); err != nil {
			failed = append(failed, err)
		}
		l.env = nil
	}
	if l.remove != nil && l.options.Used != nil {
		// There is none where no API server came up.
		if err := l.options.Used.Read(l.AuditLog()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	if l.remove != nil {
		if err := l.remove(); err != nil {
			failed = append(failed, err)
		}
		l.remove = nil
	}
	return errors.Join(failed...)
}

// launch starts one of the lab's programs, which Stop will end.
func (l *Lab) launch(program string, args ...string) (*process, error) {
	p, err := startProcess(l.LogFile(program), filepath.Join(l.binaries, program), args, nil)
	if err == nil {
		l.keep(p)
	}
	return p, err
}

// keep lets Stop end a process.
func (l *Lab) keep(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes = append(l.processes, p)
}

// LogFile returns the file that a program of the lab logs to, such as
// kube-apiserver.
func (l *Lab) LogFile(program string) string {
	return filepath.Join(l.Dir, "logs", program+".log")
}

// CallerCertificate returns the files of the certificate that the API server shows to
// webhooks, and of its key.
func (l *Lab) CallerCertificate() (certFile, keyFile string) {
	return l.caller.certFile, l.caller.keyFile
}

// AuditLog returns the file with the audit log, one event a line.
func (l *Lab) AuditLog() string { return filepath.Join(l.Dir, "logs", "audit.log") }

func (l *Lab) say(format string, args ...any) {
	if l.options.Log != nil {
		fmt.Fprintf(l.options.Log, "lab: "+format+"\n", args...)
	}
}
