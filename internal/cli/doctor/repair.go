package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/controller/doctor"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// repaired is the way out for scripts.
type repaired struct {
	*doctor.Repair
	// Done are the objects that were changed, and UndoFile has them as they were.
	Done     []string `json:"done"`
	UndoFile string   `json:"undoFile,omitempty"`
}

// wayOut says what can be done, and does it with --yes.
func (f *flags) wayOut(ctx context.Context, s command.Streams, o *doctor.Options) error {
	plan, err := doctor.Plan(ctx, *o, doctor.Repairing(f.repair))
	if err != nil {
		return command.Plainly("no way out could be found", err)
	}
	says := &repaired{Repair: plan, Done: []string{}}
	text := f.output == "text"
	if text {
		if err := writePlan(s.Out, plan, f.yes); err != nil {
			return err
		}
	}
	var failed error
	switch {
	case len(plan.Steps) == 0 || !f.yes:
	case plan.Answers:
		failed = errors.New("nothing was changed: Sallyport answers what the API server asks, so that it is not what keeps the cluster from working; what it refuses, a policy says")
	default:
		failed = f.do(ctx, s, says, text)
	}
	if !text {
		if err := writeJSON(s, says); err != nil {
			return err
		}
	}
	return failed
}

// do keeps what is there in a file, and then takes the way out.
func (f *flags) do(ctx context.Context, s command.Streams, says *repaired, text bool) error {
	undo, err := says.Undo()
	if err != nil {
		return err
	}
	if err := keep(f.undo, undo); err != nil {
		return fmt.Errorf("nothing was changed, as what is there cannot be kept: %w", err)
	}
	says.UndoFile = f.undo
	err = says.Do(ctx, func(step *doctor.Step) {
		says.Done = append(says.Done, step.Object)
		if text {
			fmt.Fprintf(s.Out, "done: %s\n", decision.Clean(step.Object))
		}
	})
	if text {
		fmt.Fprintf(s.Out, "\nTo put it back: kubectl apply --server-side --force-conflicts -f %s\n", decision.Clean(f.undo))
	}
	return err
}

// keep makes a file that is not there yet.
func keep(name string, text []byte) (err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already, and may be from the last time; name another with --undo-file", name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err = file.Write(text); err != nil {
		return err
	}
	return file.Sync()
}

// writePlan writes what would be done.
func writePlan(out io.Writer, plan *doctor.Repair, yes bool) error {
	var b strings.Builder
	if plan.Answers {
		b.WriteString("Sallyport answers what the API server asks: there is nothing to repair.\n\n")
	}
	for i := range plan.Steps {
		b.WriteString(plan.Steps[i].Object + "\n")
		for _, line := range plan.Steps[i].Does {
			b.WriteString("  " + line + "\n")
		}
	}
	for _, left := range plan.Left {
		b.WriteString("left alone: " + left + "\n")
	}
	switch {
	case len(plan.Steps) == 0:
		b.WriteString("No webhook configuration of Sallyport's is to be changed. An authorizer is changed in its file only: docs/doctor.md says how.\n")
	case !yes:
		b.WriteString("\nNothing was changed. To do it, give --yes. While it is so, nothing guards the cluster.\n")
	default:
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
