package judge

import (
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/files/output"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// exitOf is the exit status of a judgement, as an error; nil for 0.
func exitOf(j *output.Judgement, warningsAsErrors bool) error {
	switch j.Decision.Verdict {
	case decision.VerdictError:
		return command.Exit(command.Wrong)
	case decision.Deny:
		return command.Exit(command.Denied)
	case decision.AllowWarning:
		if warningsAsErrors {
			return command.Exit(command.Denied)
		}
	}
	return nil
}
