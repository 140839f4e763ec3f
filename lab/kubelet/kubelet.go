// Package kubelet stands in for a node where no containers can run. It
// registers a Node, marks the pods that are bound to it as running and serves
// the paths of a kubelet that the API server calls for exec, attach,
// port-forward and logs, with the streaming code of real container runtimes.
package kubelet

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sallyport-io/sallyport/lab/program"
)

// options are the flags of the program.
type options struct {
	kubeconfig string
	schedule   string
	node       string
	address    string
	port       int
	clientCA   string
	root       string
	commands   string
	logs       string
	programs   map[string]string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("kubelet", flag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` to reach the API server with, as the node")
	flags.StringVar(&o.schedule, "schedule", "", "bind every pod that has no node to this one, as the user in this kubeconfig `file`")
	flags.StringVar(&o.node, "node-name", "lab-node", "`name` of the node")
	flags.StringVar(&o.address, "address", "127.0.0.1", "`IP` to listen on, and the node's and its pods' address")
	flags.IntVar(&o.port, "port", 0, "`port` to listen on; 0 takes a free one")
	flags.StringVar(&o.clientCA, "client-ca-file", "", "`file` with the CA that callers' certificates are signed by")
	flags.StringVar(&o.root, "root-dir", "", "`directory` for the pods' own directories")
	flags.StringVar(&o.commands, "commands", "safe", "what exec may run: `safe` (a fixed list that is built in, no process is started) or any (a process of this machine)")
	flags.StringVar(&o.logs, "log-dir", "", "`directory` for what programs in pods write; below --root-dir when empty")
	o.programs = map[string]string{}
	flags.Func("program", "`REPOSITORY=FILE`: containers of this image, whatever its tag or digest, run this program (repeatable)", func(value string) error {
		image, file, ok := strings.Cut(value, "=")
		if !ok || image == "" || file == "" {
			return fmt.Errorf("want REPOSITORY=FILE")
		}
		o.programs[image] = file
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for name, value := range map[string]string{"kubeconfig": o.kubeconfig, "client-ca-file": o.clientCA, "root-dir": o.root} {
		if value == "" {
			return o, fmt.Errorf("--%s is needed", name)
		}
	}
	if o.commands != "safe" && o.commands != "any" {
		return o, fmt.Errorf("--commands is %q, want safe or any", o.commands)
	}
	if net.ParseIP(o.address) == nil {
		return o, fmt.Errorf("--address is %q, want an IP address", o.address)
	}
	return o, nil
}

// Main runs the program with the given arguments until it is interrupted, and
// returns its exit status.
func Main(args []string) int {
	o, err := parse(args)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		return 1
	}
	return 0
}

// run serves the node until ctx ends. Watches end before it returns, so that
// the API server can be stopped at once afterwards.
func run(ctx context.Context, o options) (err error) {
	client, server, err := clientFor(o.kubeconfig)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(o.address, strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port

	boxes := newSandboxes(o.root, o.commands)
	defer boxes.close()
	pods, err := newPods(client, boxes, o.node, o.address)
	if err != nil {
		return err
	}
	pods.programs, err = program.New(program.Options{
		Images: o.programs, Client: client, APIServer: server, Root: o.root,
		Logs: cmp.Or(o.logs, filepath.Join(o.root, "logs")), Changed: pods.loop.look,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pods.programs.Close()) }()
	service, err := newServer(o.clientCA, pods, boxes)
	if err != nil {
		return err
	}

	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- service.ServeTLS(listener, "", "") }()
	defer service.Close()

	n := node{client: client, name: o.node, address: o.address, port: port}
	if err := n.register(ctx); err != nil {
		return err
	}
	group.Go(func() { n.heartbeat(ctx) })
	group.Go(func() { pods.loop.run(ctx) })
	if o.schedule != "" {
		binder, _, err := clientFor(o.schedule)
		if err != nil {
			return err
		}
		binding, err := newBinder(binder, o.node)
		if err != nil {
			return err
		}
		group.Go(func() { binding.run(ctx) })
	}
	log.Printf("node %s serves on %s", o.node, listener.Addr())

	select {
	case <-ctx.Done():
		return nil
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	}
}

// clientFor returns a client by a kubeconfig, and the HOST:PORT that it leads to.
func clientFor(file string) (client *kubernetes.Clientset, server string, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	leads, err := url.Parse(config.Host)
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	config.UserAgent = "sallyport-lab-kubelet"
	config.QPS = -1
	client, err = kubernetes.NewForConfig(config)
	return client, leads.Host, err
}
