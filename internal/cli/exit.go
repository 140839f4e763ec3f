package cli

import (
	"github.com/sallyport-io/sallyport/internal/files/output"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// exitOf is the exit status of a judgement, as an error; nil for 0.
func exitOf(j *output.Judgement, warningsAsErrors bool) error {
	switch j.Decision.Verdict {
	case decision.VerdictError:
		return exitError(exitWrong)
	case decision.Deny:
		return exitError(exitDenied)
	case decision.AllowWarning:
		if warningsAsErrors {
			return exitError(exitDenied)
		}
	}
	return nil
}
