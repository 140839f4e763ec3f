package breakglass

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// progressEvery is how often a wait says how much time is left.
const progressEvery = 30 * time.Second

// sessionWait waits until a session is answered.
type sessionWait struct {
	command.Streams
	client client.WithWatch
	name   string
	// escalation is nil where it could not be read.
	escalation *breakglass.Escalation
	// command is how to go in.
	command string

	seen *breakglass.Session
	told string
}

func (w *sessionWait) run(ctx context.Context) error {
	fmt.Fprintln(w.Err, "waiting for an answer; Ctrl-C ends the waiting, and not the session")
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		events, err := w.client.Watch(ctx, &v1alpha1.BreakglassSessionList{}, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", w.name)})
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return command.Plainly("the session cannot be watched", err)
		}
		done, err := w.follow(ctx, events, ticker.C)
		events.Stop()
		if done {
			return err
		}
	}
	return ctx.Err()
}

// follow reads events until one of them answers, or the watch or ctx ends.
func (w *sessionWait) follow(ctx context.Context, events watch.Interface, ticks <-chan time.Time) (done bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-ticks:
			if w.seen == nil {
				continue
			}
			if done, err := w.poll(); done {
				return true, err
			}
		case event, open := <-events.ResultChan():
			if !open {
				return false, nil
			}
			object, ok := event.Object.(*v1alpha1.BreakglassSession)
			if !ok || object.Name != w.name {
				continue
			}
			if event.Type == watch.Deleted {
				return true, fmt.Errorf("BreakglassSession %s was deleted", w.name)
			}
			compiled, errs := breakglass.CompileSession(object)
			if len(errs) > 0 {
				return true, wrongly(breakglass.KindSession, w.name, errs)
			}
			w.seen = compiled
			if done, err := w.poll(); done {
				return true, err
			}
		}
	}
}

// poll tells how the session stands, and whether that is an answer.
func (w *sessionWait) poll() (done bool, err error) {
	status, object := &w.seen.Object().Status, w.seen.Object()
	if w.escalation != nil {
		status = w.seen.Now(w.escalation, w.Now())
	}
	switch status.State {
	case v1alpha1.SessionApproved:
		fmt.Fprintf(w.Out, "Approved%s. Go into cluster %s with: %s\n", decision.Clean(who(status)+until(status)), decision.Clean(object.Spec.Cluster), w.command)
		return true, nil
	case v1alpha1.SessionWaiting:
		fmt.Fprintf(w.Out, "Approved%s. From %s on, go into cluster %s with: %s\n", decision.Clean(who(status)+until(status)),
			object.Spec.ScheduledStartTime.UTC().Format(time.RFC3339), decision.Clean(object.Spec.Cluster), w.command)
		return true, nil
	}
	if breakglass.Final(status.State) {
		fmt.Fprintln(w.Out, decision.Clean(lastStep(status)))
		return true, command.Exit(command.Denied)
	}
	if text := w.progress(status); text != w.told {
		w.told = text
		fmt.Fprintln(w.Err, decision.Clean(text))
	}
	return false, nil
}

// progress says what is still missing.
func (w *sessionWait) progress(status *v1alpha1.BreakglassSessionStatus) string {
	text := "Pending"
	if w.escalation == nil {
		return fmt.Sprintf("%s: %d approvals so far", text, len(status.Approvals))
	}
	text += fmt.Sprintf(": %d of %d approvals", len(status.Approvals), w.escalation.Required())
	if by := w.seen.AnswerBy(w.escalation); !by.IsZero() {
		text += fmt.Sprintf("; %s left, until %s", by.Sub(w.Now()).Round(time.Second), by.UTC().Format(time.RFC3339))
	}
	return text
}

// who names those who approved.
func who(status *v1alpha1.BreakglassSessionStatus) string {
	text := ""
	for i := range status.Approvals {
		if text == "" {
			text = " by "
		} else {
			text += ", "
		}
		text += status.Approvals[i].By
	}
	return text
}

func until(status *v1alpha1.BreakglassSessionStatus) string {
	if status.ExpiresAt == nil {
		return ""
	}
	return ", until " + status.ExpiresAt.UTC().Format(time.RFC3339)
}

// lastStep says what a session came to, by whom and why.
func lastStep(status *v1alpha1.BreakglassSessionStatus) string {
	text := string(status.State)
	if len(status.History) == 0 {
		return text
	}
	last := &status.History[len(status.History)-1]
	if last.State != status.State {
		return text
	}
	if last.By != "" {
		text += " by " + last.By
	}
	if last.Reason != "" {
		text += ": " + last.Reason
	}
	return text
}
