package breakglass

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// sessionAnswerFlags are the flags of approve, deny, withdraw and revoke of a
// session.
type sessionAnswerFlags struct {
	sessionFlags
	to     v1alpha1.SessionState
	reason string
	yes    bool
	// asks is set where the command asks before it does what it is told.
	asks bool
}

// Approve makes the command approve session.
func Approve(s command.Streams) *cobra.Command {
	return newSessionAnswer(s, &sessionAnswerFlags{to: v1alpha1.SessionApproved, asks: true}, "approve",
		"Approve a breakglass session", `What is asked for is shown first, and the approval is of what was shown: if the
session changes meanwhile, it is refused.`)
}

// Deny makes the command deny session.
func Deny(s command.Streams) *cobra.Command {
	return newSessionAnswer(s, &sessionAnswerFlags{to: v1alpha1.SessionRejected, asks: true}, "deny",
		"Deny a breakglass session", "What was approved already is not denied, but revoked.")
}

// Withdraw makes the command withdraw, with session below it.
func Withdraw(s command.Streams) *cobra.Command {
	return sessionVerb("withdraw", "Take back a breakglass session", newSessionAnswer(s, &sessionAnswerFlags{to: v1alpha1.SessionWithdrawn}, "withdraw",
		"Take back a breakglass session", "Who asked for it can, at any time, and with it gives back what was approved."))
}

// Revoke makes the command revoke, with session below it.
func Revoke(s command.Streams) *cobra.Command {
	return sessionVerb("revoke", "End a breakglass session", newSessionAnswer(s, &sessionAnswerFlags{to: v1alpha1.SessionRevoked}, "revoke",
		"End a breakglass session", `An approver can, at any time. What is asked from then on is denied; a stream that
is open stays open until its pod is gone.`))
}

// sessionVerb makes a command that only sessions know.
func sessionVerb(verb, short string, session *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb, Short: short, Args: command.NoCommand, Long: short + ": " + verb + " session NAME.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(session)
	return cmd
}

func newSessionAnswer(s command.Streams, f *sessionAnswerFlags, verb, short, more string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "session NAME", Short: short, Long: short + ", as the user of the kubeconfig.\n\n" + more,
		Example: "  sallyport " + verb + " session emergency-access-x7k2p",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && f.asks {
				return usage.Errorf("NAME of the BreakglassSession is missing; a PolicyExceptionRequest that is called session is meant by: sallyport %s exception session", verb)
			}
			return command.Exactly("NAME")(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args[0]) },
	}
	f.sessionFlags.add(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why; it is kept with the session")
	if f.asks {
		cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before answering")
	}
	return cmd
}

func (f *sessionAnswerFlags) run(ctx context.Context, s command.Streams, name string) error {
	c, err := f.open(s)
	if err != nil {
		return err
	}
	me, err := whoAmI(ctx, c)
	if err != nil {
		return err
	}
	object, session, err := sessionOf(ctx, c, name)
	if err != nil {
		return err
	}
	terms, e, err := escalationOf(ctx, c, object.Spec.EscalationRef)
	if wrong := (*wrongEscalation)(nil); errors.As(err, &wrong) && f.to == v1alpha1.SessionWithdrawn {
		// Whoever asked can withdraw, whatever became of the escalation.
		err = nil
	}
	if err != nil {
		return command.Plainly("the escalation cannot be read", err)
	}
	step := breakglass.Step{To: f.to, By: me, Reason: f.reason}
	status, err := breakglass.Apply(session, e, step, s.Now())
	if err != nil {
		return err
	}
	if f.asks {
		v := &sessionView{object: object, session: session, terms: terms, escalation: e, after: status, me: me}
		if err := v.write(s.Out); err != nil {
			return err
		}
		if !f.yes {
			if err := command.Confirm(s, f.to); err != nil {
				return err
			}
			// It took a while to answer, and what it comes to counts from now.
			if status, err = breakglass.Apply(session, e, step, s.Now()); err != nil {
				return err
			}
		}
	}
	before := object.DeepCopy()
	object.Status = *status
	err = c.Status().Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("BreakglassSession %s has changed since it was read, and nothing was done; look at it, and answer again", name)
	case err != nil:
		return command.Plainly("it was not accepted", err)
	}
	f.print(s, name, status, e)
	return nil
}

// print says what came of it.
func (f *sessionAnswerFlags) print(s command.Streams, name string, status *v1alpha1.BreakglassSessionStatus, e *breakglass.Escalation) {
	switch {
	case f.to == v1alpha1.SessionApproved && !breakglass.Final(status.State) && status.ApprovedAt == nil:
		fmt.Fprintf(s.Out, "Approved; %d of %d approvals are there, so BreakglassSession %s gives nothing yet.\n", len(status.Approvals), e.Required(), name)
	case f.to == v1alpha1.SessionApproved:
		fmt.Fprintf(s.Out, "%s%s. To end it: sallyport revoke session %s\n", status.State, decision.Clean(until(status)), name)
	default:
		fmt.Fprintf(s.Out, "BreakglassSession %s is %s.\n", name, status.State)
	}
}
