package cli

import (
	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/serve"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

func newServe(s command.Streams) *cobra.Command {
	f := &serve.Flags{}
	cmd := &cobra.Command{
		Use:   "serve [--from DIR]",
		Short: "Run the webhook server",
		Long: `Run the webhook server that an API server asks at both doors:

  POST /validate   AdmissionReview: pods, what makes pods, and CONNECT
  POST /authorize  SubjectAccessReview: exec, attach, port-forward and the rest

Policies come from files (--from), or from the API server, where they are custom
resources; pods are read live from the API server that --kubeconfig names, or
that the service account of a pod leads to. With only --from, the pods, the
namespaces and the RBAC objects of the cluster come from the files as well.

Changes of the files are picked up. A change that cannot be used is refused, and
the last good policies stay in force: the log, a metric and /readyz say so.

Callers show a client certificate (--client-ca-file) or a bearer token
(--auth-token-file). With neither, only a loopback address can be bound.`,
		Example: `  sallyport serve --from policies/ --addr 127.0.0.1:8443 --write-ca ca.crt
  sallyport serve --kubeconfig admin.conf --from policies/ --auth-token-file tokens`,
		Args: command.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.Complete(s.Err)
			if err != nil {
				return err
			}
			return p.Run(cmd.Context())
		},
	}
	f.Add(cmd)
	return cmd
}
