package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/doctor"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// requestLimit bounds one request to the API server.
const requestLimit = 15 * time.Second

// flags are those of doctor.
type flags struct {
	live          option.Live
	namespace     string
	name          string
	account       string
	authorization string
	output        string
	before        bool
	repair        string
	yes           bool
	undo          string
}

// Command makes the command doctor.
func Command(s command.Streams) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at an installation, and find what keeps it from guarding", Args: command.None,
		Long: `Doctor looks at an installation: what is there, what the API server asks, which
ways into pods are covered, who may take it away. With --pre it looks at a cluster
before Sallyport is installed. It reads, asks what others may do, and makes one
object in a dry run; nothing is written. What you have no right to look at is said
to be unknown.

With --repair it says the way out where Sallyport itself keeps the cluster from
working, and takes it only with --yes: its own webhooks let in what cannot be
judged (--repair=ignore), or are deleted (--repair=delete). Nothing of others is
touched, and a file says how it was before.

It exits with 0 where no problem was found, 1 where there is one, and 2 where it
could not look, or may not at something that has to be known.`,
		Example: `  sallyport doctor
  sallyport doctor --pre
  sallyport doctor -o json
  sallyport doctor --repair
  sallyport doctor --repair=delete --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.live.Add(cmd, "the cluster, and who looks")
	set := cmd.Flags()
	set.StringVarP(&f.namespace, "namespace", "n", "sallyport-system", "namespace that Sallyport runs in")
	set.StringVar(&f.name, "webhook-configuration", "sallyport", "NAME of the webhook configurations, as of serve")
	set.StringVar(&f.account, "account", "", "user that Sallyport works as; system:serviceaccount:NAMESPACE:sallyport if not given")
	set.StringVar(&f.authorization, "authorization-config", "", "file that kube-apiserver was given by the flag of this name, to be looked at too")
	set.StringVarP(&f.output, "output", "o", "text", "text or json")
	set.BoolVar(&f.before, "pre", false, "look at a cluster before Sallyport is installed")
	set.StringVar(&f.repair, "repair", "", "say the way out: ignore has webhooks let in what cannot be judged, delete takes them away")
	set.Lookup("repair").NoOptDefVal = string(doctor.ToIgnore)
	set.BoolVar(&f.yes, "yes", false, "take the way out that --repair says")
	set.StringVar(&f.undo, "undo-file", "sallyport-before-repair.yaml", "file that is made with what --repair --yes changes, as it was before")
	cmd.MarkFlagsMutuallyExclusive("pre", "repair")
	return cmd
}

func (f *flags) check() error {
	switch {
	case f.output != "text" && f.output != "json":
		return usage.Errorf("there is no output format %q; there are text and json", f.output)
	case f.repair != "" && f.repair != string(doctor.ToIgnore) && f.repair != string(doctor.ToDelete):
		return usage.Errorf("--repair is %q; %s or %s is expected", f.repair, doctor.ToIgnore, doctor.ToDelete)
	case f.yes && f.repair == "":
		return usage.Errorf("--yes belongs to --repair")
	case f.namespace == "" || f.name == "":
		return usage.Errorf("--namespace and --webhook-configuration cannot be empty")
	}
	return nil
}

func (f *flags) run(ctx context.Context, s command.Streams) error {
	if err := f.check(); err != nil {
		return err
	}
	o, err := f.options(s)
	if err != nil {
		return err
	}
	if f.repair != "" {
		return f.wayOut(ctx, s, o)
	}
	look := doctor.Run
	if f.before {
		look = doctor.Before
	}
	report, err := look(ctx, *o)
	if err != nil {
		return command.Plainly("nothing could be looked at", err)
	}
	if err := f.write(s, report); err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	switch {
	case report.Summary.Problem > 0:
		return command.Exit(command.Denied)
	case report.Incomplete:
		return command.Exit(command.Wrong)
	}
	return nil
}

// options are what is looked at, as the user of the kubeconfig.
func (f *flags) options(s command.Streams) (*doctor.Options, error) {
	authorization, err := f.authorizationConfig()
	if err != nil {
		return nil, err
	}
	config, err := f.live.Config()
	if err != nil {
		return nil, err
	}
	config = pace.Webhooks.Of(config)
	config.Timeout = requestLimit
	config.WarningHandler = rest.NoWarnings{}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	has, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil, err
	}
	objects, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return &doctor.Options{
		API: api, Objects: objects, Discovery: has, Name: f.name, Namespace: f.namespace, Account: f.account,
		Authorization: authorization, Dial: doctor.DialTLS(s.Now), Clock: clockOf{streams: s},
	}, nil
}

// clockOf is the clock of the streams, which never waits.
type clockOf struct {
	clock.RealClock
	streams command.Streams
}

// Now is the time.
func (c clockOf) Now() time.Time { return c.streams.Now() }

func (f *flags) authorizationConfig() (*apiserverv1.AuthorizationConfiguration, error) {
	if f.authorization == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.authorization)
	if err != nil {
		return nil, fmt.Errorf("--authorization-config: %w", err)
	}
	config := &apiserverv1.AuthorizationConfiguration{}
	if err := yaml.UnmarshalStrict(text, config); err != nil {
		return nil, fmt.Errorf("--authorization-config: %s: %w", f.authorization, err)
	}
	if config.Kind != "AuthorizationConfiguration" {
		return nil, fmt.Errorf("--authorization-config: %s: kind: found %q, AuthorizationConfiguration is expected", f.authorization, config.Kind)
	}
	return config, nil
}

func (f *flags) write(s command.Streams, report *doctor.Report) error {
	if f.output == "json" {
		return writeJSON(s, report)
	}
	return writeText(s.Out, report)
}

func writeJSON(s command.Streams, what any) error {
	encoder := json.NewEncoder(s.Out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(what)
}
