package breakglass

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// requestSessionFlags are the flags of request session.
type requestSessionFlags struct {
	sessionFlags
	cluster, reason, group string
	valid, idle, at        string
	exec                   string
	wait                   bool
	timeout                time.Duration
}

// Request makes the command request session.
func Request(s command.Streams) *cobra.Command {
	f := &requestSessionFlags{}
	cmd := &cobra.Command{
		Use: "session ESCALATION --cluster NAME", Short: "Ask for a breakglass session",
		Long: `Request session makes a BreakglassSession by an escalation, for the user of the
kubeconfig. It gives nothing until enough people have approved it.

With --wait it exits with 0 once the session is approved, and with 1 if it is
rejected, or not answered in time.`,
		Example: `  sallyport request session emergency-access --cluster prod-eu --reason "INC-1234: the queue is stuck"
  sallyport request session emergency-access --cluster prod-eu --reason INC-1234 --for 30m --wait --for-exec shop/web-0`,
		Args: command.Exactly("ESCALATION"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args[0]) },
	}
	f.sessionFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.cluster, "cluster", "", "the cluster to get into, by the name that Sallyport knows it by")
	flags.StringVar(&f.reason, "reason", "", "why; who approves reads it")
	flags.StringVar(&f.group, "group", "", "the group whose rights are asked for; the escalation's if not given")
	flags.StringVar(&f.valid, "for", "", "for how long, such as 30m; as long as the escalation gives if not given")
	flags.StringVar(&f.idle, "idle", "", "end it when it was not used for that long, such as 10m")
	flags.StringVar(&f.at, "at", "", "from when on, such as 2030-01-31T22:00:00Z; once it is approved if not given")
	flags.StringVar(&f.exec, "for-exec", "", "NAMESPACE/POD that is to be entered, for the command that is shown in the end")
	flags.BoolVar(&f.wait, "wait", false, "wait until it is answered")
	flags.DurationVar(&f.timeout, "timeout", 0, "longest time to wait, such as 10m; 0 waits until there is an answer")
	return cmd
}

func (f *requestSessionFlags) run(ctx context.Context, s command.Streams, escalation string) error {
	asked, err := f.session(escalation)
	if err != nil {
		return err
	}
	c, err := f.open(s)
	if err != nil {
		return err
	}
	me, err := whoAmI(ctx, c)
	if err != nil {
		return err
	}
	asked.Spec.User, asked.Spec.UserUID = me.Name, me.UID
	compiled, errs := breakglass.CompileSession(asked)
	if len(errs) > 0 {
		return fmt.Errorf("the session was not asked for: %w", errs.ToAggregate())
	}
	_, e, err := escalationOf(ctx, c, escalation)
	switch {
	case apierrors.IsForbidden(err):
		// The server checks what cannot be checked here.
		fmt.Fprintf(s.Err, "you may not read BreakglassEscalation %s, so who approves is not known here\n", decision.Clean(escalation))
	case err != nil:
		return command.Plainly("the escalation cannot be read", err)
	case e == nil:
		return missingEscalation(ctx, c, escalation)
	default:
		if err := breakglass.CheckAsk(compiled, e, me, s.Now()); err != nil {
			return fmt.Errorf("the session was not asked for: %w", err)
		}
	}
	if err := c.Create(ctx, asked); err != nil {
		return command.Plainly("the session was not asked for", err)
	}
	fmt.Fprintf(s.Out, "BreakglassSession %s is asked for; an approver answers it with: sallyport approve session %s\n", asked.Name, asked.Name)
	if e != nil {
		fmt.Fprintln(s.Out, "It needs "+decision.Clean(needs(e)))
	}
	if !f.wait {
		return nil
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	w := &sessionWait{Streams: s, client: c, name: asked.Name, escalation: e, command: f.command()}
	err = w.run(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(s.Err, "BreakglassSession %s has no answer after %s, and still stands; to take it back: sallyport withdraw session %s\n", asked.Name, f.timeout, asked.Name)
		return command.Exit(command.Denied)
	}
	return err
}

// needs says whose approval a session needs.
func needs(e *breakglass.Escalation) string {
	people := strings.Join(e.Approvers(), ", ")
	if e.Required() == 1 {
		return "one approval, of: " + people
	}
	return fmt.Sprintf("%d approvals by different people, of: %s", e.Required(), people)
}

// session makes what the flags ask for, still without who asks.
func (f *requestSessionFlags) session(escalation string) (*v1alpha1.BreakglassSession, error) {
	switch {
	case f.cluster == "":
		return nil, usage.Errorf("--cluster is missing; name the cluster to get into")
	case f.timeout < 0 || f.timeout > 0 && !f.wait:
		return nil, usage.Errorf("--timeout says how long to wait; give --wait, and a time above zero")
	}
	if problems := validation.IsDNS1123Subdomain(escalation); len(problems) > 0 {
		return nil, usage.Errorf("%q is not the name of a BreakglassEscalation: %s", escalation, problems[0])
	}
	asked := &v1alpha1.BreakglassSession{ObjectMeta: metav1.ObjectMeta{GenerateName: escalation + "-"}}
	asked.Spec = v1alpha1.BreakglassSessionSpec{
		Cluster: f.cluster, EscalationRef: escalation, GrantedGroup: f.group, RequestReason: f.reason, MaxValidFor: f.valid, IdleTimeout: f.idle,
	}
	for _, d := range []struct{ flag, text string }{{"--for", f.valid}, {"--idle", f.idle}} {
		if d.text == "" {
			continue
		}
		if _, err := exception.ParseDuration(d.text); err != nil {
			return nil, usage.Errorf("%s: %v", d.flag, err)
		}
	}
	if f.at != "" {
		at, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			return nil, usage.Errorf("--at is %q; a time such as 2030-01-31T22:00:00Z is expected", f.at)
		}
		asked.Spec.ScheduledStartTime = &metav1.Time{Time: at}
	}
	if f.exec != "" {
		namespace, name, ok := strings.Cut(f.exec, "/")
		if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, usage.Errorf("--for-exec is %q; NAMESPACE/POD is expected", f.exec)
		}
	}
	return asked, nil
}

// command is how to go in once that is approved.
func (f *requestSessionFlags) command() string {
	namespace, name, ok := strings.Cut(f.exec, "/")
	if !ok {
		namespace, name = "NAMESPACE", "POD"
	}
	return fmt.Sprintf("kubectl exec -it -n %s %s -- sh", namespace, name)
}
