package doctor

import (
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/controller/doctor"
)

// What is held by tests that run whole commands too.
var (
	Summary   = summary
	WritePlan = writePlan
	Keep      = keep
)

// WriteReport writes a report in a format.
func WriteReport(s command.Streams, format string, report *doctor.Report) error {
	return (&flags{output: format}).write(s, report)
}
