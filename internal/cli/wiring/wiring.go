package wiring

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

// flags are the flags of wiring.
type flags struct {
	option.Live
	policies              []string
	authorizer, admission bool
	server, distribution  string
	directory             string
	cluster, sallyport    string
	start, exempt         []string
	failurePolicy         string
	timeout               time.Duration
	token                 bool
	scope, write          string
}

// What the authorizer is asked about.
const (
	scopePolicies   = "policies"
	scopePods       = "pods"
	scopeEverything = "everything"
)

// Command makes the command wiring.
func Command(s command.Streams) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use: "wiring", Short: "Write the files by which API servers ask Sallyport", Args: command.None,
		Long: `Wiring writes the files of an API server: those of the authorizer, so that
Sallyport is asked before Node and RBAC, or those by which it says at webhooks
who it is. The authorizer is asked only about what the policies of the cluster,
or of -p, are about, so that all else goes on while Sallyport is away.

Paths are those on the control plane's machines. What has to be there beside the
files is said in them.`,
		Example: `  sallyport wiring --authorizer --server https://10.0.0.7:8443 --for kubeadm
  sallyport wiring --authorizer --server https://10.0.0.7:8443 -p policies/
  sallyport wiring --admission --server https://sallyport.sallyport-system.svc --for kind`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.Live.Add(cmd, "the cluster whose policies are read")
	own := cmd.Flags()
	own.BoolVar(&f.authorizer, "authorizer", false, "the files of the authorizer")
	own.BoolVar(&f.admission, "admission", false, "the files by which the API server says at webhooks who it is")
	own.StringVar(&f.server, "server", "", "where API servers find Sallyport: https://HOST:PORT. An authorizer does not use Services; webhooks do: https://SERVICE.NAMESPACE.svc")
	own.StringVar(&f.distribution, "for", distributionPlain, "what the API server is started by: "+strings.Join(distributions, ", "))
	own.StringVar(&f.directory, "directory", "/etc/kubernetes/sallyport", "directory of the files on the control plane's machines")
	own.StringArrayVarP(&f.policies, "policies", "p", nil, "policies and escalations of files, and not of a cluster: a file, a directory, or - (repeatable)")
	own.StringVar(&f.scope, "scope", scopePolicies, "what the authorizer is asked about: policies, for what they need; pods, for what gets into a pod; everything")
	own.StringVar(&f.cluster, "cluster", "", "name by which a Sallyport that guards several clusters knows this one")
	own.StringVar(&f.sallyport, "sallyport-namespace", wiring.Namespace, "namespace that Sallyport runs in")
	own.StringSliceVar(&f.start, "start-namespaces", nil, "namespaces, beside kube-system, whose service accounts have to go on while Sallyport is away")
	own.StringArrayVar(&f.exempt, "exempt-user", nil, "a user about whom the authorizer is not asked, such as the one a Sallyport outside of the cluster reads it as (repeatable)")
	own.StringVar(&f.failurePolicy, "failure-policy", "Deny", "Deny, or NoOpinion while you observe: then RBAC decides where Sallyport is away")
	own.DurationVar(&f.timeout, "timeout", 3*time.Second, "longest time that an answer may take")
	own.StringVar(&f.write, "write", "", "write the files into this directory, which is made, in place of writing them out; those of that name are replaced")
	own.BoolVar(&f.token, "token", false, "the API server shows a bearer token (token in the directory) and not a certificate (client.crt, client.key)")
	return cmd
}

func (f *flags) check() error {
	switch {
	case f.authorizer == f.admission:
		return usage.Errorf("give one of --authorizer and --admission: which files are to be written")
	case f.server == "":
		return usage.Errorf("--server is missing: where API servers find Sallyport, as https://HOST:PORT")
	case !slices.Contains(distributions, f.distribution):
		return usage.Errorf("--for is %q; %s is expected", f.distribution, strings.Join(distributions, ", "))
	case !path.IsAbs(f.directory):
		return usage.Errorf("--directory is %q; the whole path of a directory is expected", f.directory)
	case !slices.Contains([]string{scopePolicies, scopePods, scopeEverything}, f.scope):
		return usage.Errorf("--scope is %q; %s, %s or %s is expected", f.scope, scopePolicies, scopePods, scopeEverything)
	case f.failurePolicy != "Deny" && f.failurePolicy != "NoOpinion":
		return usage.Errorf("--failure-policy is %q; Deny or NoOpinion is expected", f.failurePolicy)
	case f.timeout <= 0 || f.timeout > 30*time.Second:
		return usage.Errorf("--timeout is %s; a time above zero, and of 30s at most, is expected", f.timeout)
	case len(f.policies) > 0 && f.Given():
		return usage.Errorf("both -p and a cluster are named; policies are read from one of them")
	}
	for _, name := range append([]string{f.sallyport}, f.start...) {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return usage.Errorf("%q is not the name of a namespace: %s", name, problems[0])
		}
	}
	at, err := url.Parse(f.server)
	if err != nil || at.Scheme != "https" || at.Hostname() == "" || strings.Trim(at.Path, "/") != "" || at.RawQuery != "" || at.User != nil {
		return usage.Errorf("--server is %q; https://HOST:PORT is expected", f.server)
	}
	if f.authorizer && strings.HasSuffix(at.Hostname(), ".svc") {
		return usage.Errorf("--server is %q, a Service; an authorizer does not use Services: give the address of a load balancer, a node port or a node", f.server)
	}
	return nil
}

func (f *flags) run(ctx context.Context, s command.Streams) error {
	if err := f.check(); err != nil {
		return err
	}
	files, err := f.files(ctx, s)
	if err != nil {
		return err
	}
	if f.write != "" {
		if err := os.MkdirAll(f.write, 0o755); err != nil {
			return fmt.Errorf("the directory of --write cannot be made: %w", err)
		}
		for _, file := range files {
			name := filepath.Join(f.write, path.Base(file.name))
			if err := os.WriteFile(name, []byte(file.text()), 0o600); err != nil {
				return fmt.Errorf("a file of --write cannot be written: %w", err)
			}
			fmt.Fprintf(s.Err, "written: %s\n", name)
		}
		files = nil
	}
	for _, file := range append(files, f.started()) {
		fmt.Fprint(s.Out, "---\n"+file.text())
	}
	return nil
}

// files are those that the API server reads.
func (f *flags) files(ctx context.Context, s command.Streams) ([]file, error) {
	if f.admission {
		return f.admissionFiles()
	}
	options := wiring.Authorizer{
		KubeconfigFile: path.Join(f.directory, "authorization-kubeconfig.yaml"), FailurePolicy: f.failurePolicy, Timeout: f.timeout,
		Exempt: f.exempt, Namespace: f.sallyport, Start: f.start, Everything: f.scope == scopeEverything,
	}
	var says []string
	if f.scope == scopePolicies {
		var err error
		if says, err = f.narrow(ctx, s, &options); err != nil {
			return nil, err
		}
	}
	return f.authorizerFiles(options, says)
}

// narrow has the authorizer asked only about what policies need, and returns why it is
// asked about more than what gets into a pod.
func (f *flags) narrow(ctx context.Context, s command.Streams, options *wiring.Authorizer) (says []string, err error) {
	set, sources, err := f.read(ctx, s)
	if err != nil {
		return nil, err
	}
	least, err := options.Configuration()
	if err != nil {
		return nil, err
	}
	n, err := needed(set, sources, func(q wiring.Question) (bool, error) { return wiring.Asks(least.Authorizers[0].Webhook, q) })
	if err != nil {
		return nil, err
	}
	if len(n.everything) > 0 {
		options.Everything = true
		return append([]string{"It is asked about everything:"}, prefixed("- ", n.everything)...), nil
	}
	options.Further = n.further
	for i, r := range n.further {
		verbs := "every verb"
		if r.Verbs != nil {
			verbs = strings.Join(slices.Sorted(slices.Values(r.Verbs)), ", ")
		}
		says = append(says, fmt.Sprintf("- %s of %s, for %s", verbs, named(r), strings.Join(n.why[i], ", ")))
	}
	if len(says) > 0 {
		says = append([]string{"Beside what gets into a pod, it is asked about"}, says...)
	}
	return says, nil
}

// named is a resource with its subresource and group.
func named(r wiring.Resource) string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return name
}

func prefixed(with string, lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = with + line
	}
	return all
}
