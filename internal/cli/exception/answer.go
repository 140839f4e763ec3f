package exception

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/files/output"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// answerFlags are the flags of approve and deny.
type answerFlags struct {
	command.AsUser
	status v1alpha1.ResponseStatus
	reason string
	yes    bool
}

// Approve makes the command approve, for an exception.
func Approve(s command.Streams) *cobra.Command {
	return newAnswer(s, &answerFlags{status: v1alpha1.ResponseApproved}, "approve", "Approve a request for an exception")
}

// Deny makes the command deny, for an exception.
func Deny(s command.Streams) *cobra.Command {
	return newAnswer(s, &answerFlags{status: v1alpha1.ResponseDenied}, "deny", "Deny a request for an exception")
}

func newAnswer(s command.Streams, f *answerFlags, verb, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " [exception] [NAMESPACE/]NAME", Short: short,
		Long: short + `, as the user of the kubeconfig. The request is shown
first, with the policies that it means and their kinds, and the answer is to what
was shown: if the request changes meanwhile, the answer is refused. A breakglass session is answered by: ` + verb + ` session NAME.`,
		Example: "  sallyport " + verb + " dev/allow-tag-for-test --reason \"until the new registry is there\"",
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args) },
	}
	f.AsUser.Add(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why; who asked reads it")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before answering")
	return cmd
}

func (f *answerFlags) run(ctx context.Context, s command.Streams, args []string) error {
	if f.status == v1alpha1.ResponseDenied && f.reason == "" {
		return usage.Errorf("--reason is missing; who asked wants to know why")
	}
	c, namespace, err := f.Open(s)
	if err != nil {
		return err
	}
	ns, name, err := f.target(args, namespace)
	if err != nil {
		return err
	}
	asked := &v1alpha1.PolicyExceptionRequest{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, asked); err != nil {
		return command.Plainly("the request cannot be read", err)
	}
	if err := show(s.Out, asked); err != nil {
		return err
	}
	answer := &v1alpha1.PolicyExceptionResponse{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-%d", strings.ToLower(string(f.status)), asked.UID, asked.Generation)},
		Spec: v1alpha1.PolicyExceptionResponseSpec{
			ApprovalPolicy: "Manual", Name: name, Namespace: ns, Status: f.status, Reason: f.reason,
			RequestUID: asked.UID, RequestGeneration: asked.Generation,
		},
	}
	shown, err := f.meaning(ctx, s, c, asked, answer)
	if err != nil {
		return err
	}
	if !f.yes {
		if err := command.Confirm(s, f.status); err != nil {
			return err
		}
	}
	if err := c.Create(ctx, answer); err != nil {
		return command.Plainly("the answer was not accepted", err)
	}
	meant := excusedOf(asked, answer)
	fmt.Fprintf(s.Out, "%s: %s. To take it back: kubectl delete policyexceptionresponse %s\n", f.status, strings.Join(meant, ", "), answer.Name)
	if f.status == v1alpha1.ResponseApproved && !slices.Equal(shown, meant) {
		fmt.Fprintln(s.Err, "policies were made or taken away meanwhile: what was approved is what stands here, and not what was shown before")
	}
	return nil
}

// meaning shows from which policies of which kinds an answer would excuse. What
// names mean is known where the answer is judged, which is asked without answering;
// what would be refused is refused before anybody is asked whether it is meant.
func (f *answerFlags) meaning(ctx context.Context, s command.Streams, c client.Client, asked *v1alpha1.PolicyExceptionRequest, answer *v1alpha1.PolicyExceptionResponse) ([]string, error) {
	said := "It asks to be excused from:"
	trial := answer.DeepCopy()
	if f.status == v1alpha1.ResponseApproved {
		if err := c.Create(ctx, trial, client.DryRunAll); err != nil {
			return nil, command.Plainly("the answer would not be accepted", err)
		}
		said = "The approval would excuse from:"
	}
	meant := excusedOf(asked, trial)
	fmt.Fprintln(s.Out, said)
	for _, one := range meant {
		fmt.Fprintln(s.Out, "  "+one)
	}
	fmt.Fprintln(s.Out)
	return meant, nil
}

// excusedOf names the policies and rules that an approval is about, with the kinds
// that it holds for, or what the request names where nothing was approved.
func excusedOf(asked *v1alpha1.PolicyExceptionRequest, answer *v1alpha1.PolicyExceptionResponse) []string {
	list := answer.Spec.Exceptions
	if len(list) == 0 {
		list = asked.Spec.Exceptions
	}
	var texts []string
	for i := range list {
		kind := list[i].PolicyKind
		if kind == "" {
			kind = "policy of any kind"
		}
		rules := "every rule"
		if len(list[i].RuleNames) > 0 {
			rules = strings.Join(list[i].RuleNames, " ")
		}
		texts = append(texts, decision.Clean(fmt.Sprintf("%s %s (%s)", kind, list[i].PolicyName, rules)))
	}
	return texts
}

// show writes what a request asks for.
func show(out io.Writer, q *v1alpha1.PolicyExceptionRequest) error {
	spec := q.Spec.DeepCopy()
	spec.Requesters = nil
	text, err := output.YAML(map[string]any{"spec": spec})
	if err != nil {
		return err
	}
	by := "somebody"
	if len(q.Spec.Requesters) > 0 {
		by = strings.Join(q.Spec.Requesters, ", ")
	}
	fmt.Fprintf(out, "PolicyExceptionRequest %s/%s, asked for by %s (%s):\n\n", q.Namespace, q.Name, decision.Clean(by), stateOr(q.Status.State))
	for line := range strings.Lines(text) {
		fmt.Fprintln(out, "  "+decision.Clean(strings.TrimRight(line, "\n")))
	}
	fmt.Fprintln(out)
	if q.Status.Reach != "" && q.Status.ObservedGeneration == q.Generation {
		fmt.Fprintf(out, "It reaches: %s.\n\n", decision.Clean(q.Status.Reach))
	}
	return nil
}

func stateOr(state v1alpha1.RequestState) string {
	if state == "" {
		return string(v1alpha1.RequestPending)
	}
	return string(state)
}

// target reads [exception] [NAMESPACE/]NAME.
func (f *answerFlags) target(args []string, namespace string) (ns, name string, err error) {
	if len(args) > 0 && args[0] == "exception" {
		args = args[1:]
	}
	if len(args) != 1 {
		return "", "", usage.Errorf("[NAMESPACE/]NAME of the PolicyExceptionRequest is expected")
	}
	ns, name, qualified := strings.Cut(args[0], "/")
	if !qualified {
		ns, name = namespace, args[0]
	}
	if ns == "" || name == "" || strings.Contains(name, "/") {
		return "", "", usage.Errorf("%q is not [NAMESPACE/]NAME", args[0])
	}
	return ns, name, nil
}
