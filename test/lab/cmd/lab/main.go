// Command lab starts a real Kubernetes control plane with Sallyport at both of
// its doors, users and pods to try it with, and ends all of it on Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/examples"
	"github.com/sallyport-io/sallyport/test/lab"
)

func main() {
	binary := flag.String("sallyport", "", "`file` with the Sallyport to run; it is built from the checkout when this is empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, stop, *binary)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// run has the lab up until ctx ends. From then on a second interrupt ends this
// process at once.
func run(ctx context.Context, stop func(), binary string) (err error) {
	l, err := lab.Start(ctx, lab.Options{
		Controllers: lab.OneAccount, Kubelet: true, SafeCommands: true, Users: users, Log: os.Stdout,
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() {
		stop()
		fmt.Println("\nlab: stopping")
		err = errors.Join(err, l.Stop())
		if err == nil {
			fmt.Println("lab: everything has ended")
		}
	}()
	s, err := furnish(ctx, l, binary)
	if err != nil {
		return interrupted(ctx, err)
	}
	if err := explain(ctx, l); err != nil {
		return interrupted(ctx, err)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.Done():
		return fmt.Errorf("the program sallyport has ended:\n%s", s.Log())
	}
}

// interrupted forgives what went wrong because the lab was being stopped.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// furnish puts users, pods and Sallyport into the lab. The pods come first: the
// front door would not let all of them in.
func furnish(ctx context.Context, l *lab.Lab, binary string) (*lab.Sallyport, error) {
	for _, namespace := range []string{"shop", "ops"} {
		if err := l.CreateNamespace(ctx, namespace, nil); err != nil {
			return nil, err
		}
	}
	pods, err := fs.ReadFile(examples.Files, "demo/cluster/pods.yaml")
	if err != nil {
		return nil, err
	}
	for _, manifest := range []string{bindings, string(pods)} {
		if err := l.Apply(ctx, manifest); err != nil {
			return nil, err
		}
	}
	if binary == "" {
		if binary, err = build(ctx, l); err != nil {
			return nil, err
		}
	}
	if err := writePolicies(policies(l)); err != nil {
		return nil, err
	}
	s, err := l.StartSallyport(ctx, lab.SallyportOptions{
		Binary: binary, Args: []string{"--from", policies(l), "--cluster-name", "lab", "--audit-log", audit(l)},
	})
	if err != nil {
		return nil, err
	}
	if err := l.WireAccess(ctx, s, wiring.Authorizer{}); err != nil {
		return nil, err
	}
	fmt.Println("lab: Sallyport stands at the side door: the API server asks it before RBAC")
	if err := l.WireAdmission(ctx, s, nil); err != nil {
		return nil, err
	}
	fmt.Println("lab: Sallyport stands at the front door: the API server asks it at admission")
	return s, nil
}

func build(ctx context.Context, l *lab.Lab) (string, error) {
	fmt.Println("lab: building Sallyport")
	product, err := lab.BuildProduct(ctx, filepath.Join(l.Dir, "bin"))
	return product.Binary, err
}

// policies is where the lab's policies stand, to be changed while it runs.
func policies(l *lab.Lab) string { return filepath.Join(l.Dir, "policies") }

// audit is the file that every decision which is not a plain allow goes to.
func audit(l *lab.Lab) string { return filepath.Join(l.Dir, "logs", "sallyport-audit.jsonl") }

func writePolicies(dir string) error {
	files, err := fs.Sub(examples.Files, "demo/policies")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}
