package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// peopleFlags are those of the commands that work as the user of a kubeconfig.
type peopleFlags struct {
	liveFlags
	namespace string
}

func (f *peopleFlags) add(cmd *cobra.Command) {
	f.liveFlags.add(cmd, "the cluster, and who asks")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace; that of the kubeconfig's context if not given")
}

// open gives a client that works as the user of the kubeconfig, and the
// namespace to work in.
func (f *peopleFlags) open(s Streams) (client.WithWatch, string, error) {
	if s.Cluster != nil {
		return s.Cluster, cmp.Or(f.namespace, "default"), nil
	}
	loader := f.loader()
	config, err := loader.ClientConfig()
	namespace := ""
	if err == nil {
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, "", fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	config.WarningHandler = rest.NewWarningWriter(s.Err, rest.WarningWriterOptions{Deduplicate: true})
	scheme, err := newScheme()
	if err != nil {
		return nil, "", err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return c, cmp.Or(f.namespace, namespace), nil
}

// target reads [exception] [NAMESPACE/]NAME.
func (f *peopleFlags) target(args []string, namespace string) (ns, name string, err error) {
	if len(args) > 0 && args[0] == "exception" {
		args = args[1:]
	}
	if len(args) != 1 {
		return "", "", usagef("[NAMESPACE/]NAME of the PolicyExceptionRequest is expected")
	}
	ns, name, qualified := strings.Cut(args[0], "/")
	if !qualified {
		ns, name = namespace, args[0]
	}
	if ns == "" || name == "" || strings.Contains(name, "/") {
		return "", "", usagef("%q is not [NAMESPACE/]NAME", args[0])
	}
	return ns, name, nil
}

// plainly words an error of the API server without what says nothing to a
// person.
func plainly(what string, err error) error {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, "denied the request: "); ok {
		text = rest
	}
	return fmt.Errorf("%s: %s", what, text)
}
