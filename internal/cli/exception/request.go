package exception

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/output"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// requestFlags are the flags of request exception.
type requestFlags struct {
	command.AsUser
	file                     string
	policy, policyKind       string
	rules, kinds, resources  []string
	reason, duration, expiry string
	dryRun, wait             bool
	timeout                  time.Duration
}

// Request makes the command request exception.
func Request(s command.Streams) *cobra.Command {
	f := &requestFlags{}
	cmd := &cobra.Command{
		Use: "exception [NAME] (-f FILE | --policy POLICY --kind KIND)", Short: "Ask for an exception to a rule",
		Long: `Request exception makes a PolicyExceptionRequest: from a file, as check
--suggest-exception prints it, or from flags.`,
		Example: `  sallyport check -p policies/ --suggest-exception pod.yaml
  sallyport request exception -f request.yaml --wait
  sallyport request exception tag -n dev --policy disallow-latest-tag --rule validate-image-tag --kind Deployment --resource test --reason "the new registry" --duration 30d`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args) },
	}
	f.AsUser.Add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "filename", "f", "", "a PolicyExceptionRequest: a file, or -")
	flags.StringVar(&f.policy, "policy", "", "the policy to be excused from")
	flags.StringVar(&f.policyKind, "policy-kind", "", "its kind, such as ClusterPolicy")
	flags.StringArrayVar(&f.rules, "rule", nil, "a rule of the policy, with * and ?; every rule if none is given (repeatable)")
	flags.StringArrayVar(&f.kinds, "kind", nil, "kind of the resources, such as Deployment or Pod/exec (repeatable)")
	flags.StringArrayVar(&f.resources, "resource", nil, "name of the resources, with * and ? (repeatable)")
	flags.StringVar(&f.reason, "reason", "", "why")
	flags.StringVar(&f.duration, "duration", "", "for how long, such as 30d")
	flags.StringVar(&f.expiry, "expires-at", "", "until when, such as 2030-01-31T00:00:00Z")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the request, and ask nobody")
	flags.BoolVar(&f.wait, "wait", false, "wait until it is answered; exit with 1 if it is denied")
	flags.DurationVar(&f.timeout, "timeout", 0, "longest time to wait, such as 10m; 0 waits until there is an answer")
	return cmd
}

func (f *requestFlags) run(ctx context.Context, s command.Streams, args []string) error {
	if f.timeout < 0 || f.timeout > 0 && !f.wait {
		return usage.Errorf("--timeout says how long to wait; give --wait, and a time above zero")
	}
	asked, err := f.request(s, args)
	if err != nil {
		return err
	}
	if f.dryRun {
		text, err := output.YAML(asked)
		if err != nil {
			return err
		}
		_, err = io.WriteString(s.Out, text)
		return err
	}
	c, namespace, err := f.Open(s)
	if err != nil {
		return err
	}
	if asked.Namespace == "" || f.Namespace != "" {
		asked.Namespace = namespace
	}
	if err := c.Create(ctx, asked); err != nil {
		return command.Plainly("the request was not accepted", err)
	}
	fmt.Fprintf(s.Out, "PolicyExceptionRequest %s/%s is there; who holds approve on the policies answers it, with: sallyport approve %s/%s\n", asked.Namespace, asked.Name, asked.Namespace, asked.Name)
	if !f.wait {
		return nil
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	err = waitForAnswer(ctx, s, c, asked)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("there is no answer after %s; the request still stands", f.timeout)
	}
	return err
}

// request reads or makes what is asked for.
func (f *requestFlags) request(s command.Streams, args []string) (*v1alpha1.PolicyExceptionRequest, error) {
	if len(args) > 1 {
		return nil, usage.Errorf("%q is one argument too many; one NAME is expected", args[1])
	}
	asked := &v1alpha1.PolicyExceptionRequest{}
	if f.file != "" {
		if f.policy != "" || f.policyKind != "" || len(f.kinds)+len(f.rules)+len(f.resources) > 0 {
			return nil, usage.Errorf("-f has it all; leave out --policy, --policy-kind, --rule, --kind and --resource")
		}
		raw, err := readAll(f.file, s.In)
		if err != nil {
			return nil, err
		}
		text, err := yaml.YAMLToJSON(raw)
		if err == nil {
			err = apijson.UnmarshalStrict(text, asked)
		}
		if err != nil {
			return nil, fmt.Errorf("%s holds no PolicyExceptionRequest: %w", f.file, err)
		}
		if asked.Kind != exception.KindRequest || asked.APIVersion != v1alpha1.GroupVersion.String() {
			return nil, fmt.Errorf("%s holds a %s of %s; a %s of %s is expected", f.file, asked.Kind, asked.APIVersion, exception.KindRequest, v1alpha1.GroupVersion)
		}
	} else if err := f.fromFlags(asked); err != nil {
		return nil, err
	}
	if err := f.limit(asked); err != nil {
		return nil, err
	}
	if len(args) == 1 {
		asked.Name = args[0]
	}
	if f.reason != "" {
		asked.Spec.Reason = f.reason
	}
	if strings.TrimSpace(asked.Spec.Reason) == "" || asked.Spec.Reason == policy.ReasonPlaceholder {
		return nil, usage.Errorf("the request says not why; who decides wants to know: write it in spec.reason, or give --reason")
	}
	if asked.Name == "" {
		return nil, usage.Errorf("the request has no name; give one")
	}
	return asked, nil
}

func (f *requestFlags) fromFlags(asked *v1alpha1.PolicyExceptionRequest) error {
	if f.policy == "" || len(f.kinds) == 0 {
		return usage.Errorf("give -f FILE, or --policy and --kind")
	}
	if f.reason == "" {
		return usage.Errorf("--reason is missing; who decides wants to know why")
	}
	asked.APIVersion, asked.Kind = v1alpha1.GroupVersion.String(), exception.KindRequest
	asked.Name, asked.Namespace = f.policy, f.Namespace
	asked.Spec.Exceptions = []v1alpha1.RequestedException{{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: f.policy, PolicyKind: f.policyKind, RuleNames: f.rules}}}
	asked.Spec.Exclude = &v1alpha1.Match{Any: []v1alpha1.ResourceFilter{{Resources: &v1alpha1.ResourceDescription{Kinds: f.kinds, Names: f.resources}}}}
	return nil
}

// limit says for how long the exception is asked for, if the flags do.
func (f *requestFlags) limit(asked *v1alpha1.PolicyExceptionRequest) error {
	if f.duration == "" && f.expiry == "" {
		return nil
	}
	if f.duration != "" && f.expiry != "" {
		return usage.Errorf("--duration and --expires-at say the same in two ways; give one of them")
	}
	asked.Spec.Duration, asked.Spec.ExpiresAt = f.duration, nil
	if f.duration != "" {
		if _, err := exception.ParseDuration(f.duration); err != nil {
			return usage.Errorf("--duration: %v", err)
		}
		return nil
	}
	at, err := time.Parse(time.RFC3339, f.expiry)
	if err != nil {
		return usage.Errorf("--expires-at is %q; a time such as 2030-01-31T00:00:00Z is expected", f.expiry)
	}
	asked.Spec.ExpiresAt = &metav1.Time{Time: at}
	return nil
}

func readAll(path string, in io.Reader) ([]byte, error) {
	if path == "-" {
		if in == nil {
			return nil, usage.Errorf("there is no standard input")
		}
		return io.ReadAll(in)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	return raw, nil
}

// waitForAnswer watches the request until it is approved or denied.
func waitForAnswer(ctx context.Context, s command.Streams, c client.WithWatch, asked *v1alpha1.PolicyExceptionRequest) error {
	fmt.Fprintln(s.Err, "waiting for an answer; Ctrl-C ends the waiting, and not the request")
	for ctx.Err() == nil {
		events, err := c.Watch(ctx, &v1alpha1.PolicyExceptionRequestList{}, client.InNamespace(asked.Namespace), client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", asked.Name)})
		if err != nil {
			return command.Plainly("the request cannot be watched", err)
		}
		done, err := follow(ctx, s, events, asked)
		events.Stop()
		if done {
			return err
		}
	}
	return ctx.Err()
}

// follow reads events until one of them answers, or the watch or ctx ends.
func follow(ctx context.Context, s command.Streams, events watch.Interface, asked *v1alpha1.PolicyExceptionRequest) (done bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case event, open := <-events.ResultChan():
			if !open {
				return false, nil
			}
			q, ok := event.Object.(*v1alpha1.PolicyExceptionRequest)
			if !ok || q.Name != asked.Name {
				continue
			}
			if event.Type == watch.Deleted {
				return true, fmt.Errorf("PolicyExceptionRequest %s/%s was deleted", asked.Namespace, asked.Name)
			}
			if done, err := answered(s, q); done {
				return true, err
			}
		}
	}
}

// answered tells of an answer, if there is one.
func answered(s command.Streams, q *v1alpha1.PolicyExceptionRequest) (bool, error) {
	because := decision.Clean(q.Status.Reason)
	if q.Status.ObservedGeneration != q.Generation {
		return false, nil
	}
	switch q.Status.State {
	case v1alpha1.RequestApproved:
		until := ""
		if q.Status.ExpiresAt != nil {
			until = ", until " + q.Status.ExpiresAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(s.Out, "Approved by %s%s: %s\n", decision.Clean(q.Status.Approver), until, because)
		return true, nil
	case v1alpha1.RequestDenied, v1alpha1.RequestExpired:
		fmt.Fprintf(s.Out, "%s by %s: %s\n", q.Status.State, decision.Clean(q.Status.Approver), because)
		return true, command.Exit(command.Denied)
	}
	return false, nil
}
