package judge

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/app/version"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/files/output"
)

// Output are the flags that say how a judgement is written.
type Output struct {
	format   string
	color    string
	Verbose  bool
	warnings bool
}

// Add adds the flags.
func (f *Output) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.format, "output", "o", string(output.Text), "text, json, junit, sarif or report (OpenReports objects)")
	flags.StringVar(&f.color, "color", "auto", "colour text: auto (on a terminal), always or never")
	flags.BoolVarP(&f.Verbose, "verbose", "v", false, "show rules that passed and objects that were ignored, too")
	flags.BoolVar(&f.warnings, "warnings-as-errors", false, "exit with 1 if there are warnings")
}

// Writer checks the flags, before anything is judged, and returns what writes
// the judgement and turns it into the command's exit status.
func (f *Output) Writer(s command.Streams) (func(*output.Judgement) error, error) {
	format, err := output.ParseFormat(f.format)
	if err != nil {
		return nil, usage.Of(err)
	}
	color, err := UseColor(f.color, s.Out)
	if err != nil {
		return nil, err
	}
	options := output.Options{Color: color, Verbose: f.Verbose, Version: version.Read().Version}
	return func(j *output.Judgement) error {
		if err := output.Write(s.Out, format, j, options); err != nil {
			return err
		}
		return exitOf(j, f.warnings)
	}, nil
}

// UseColor says whether text for out is coloured. On auto it is on a terminal
// that can show it, unless the environment variable NO_COLOR is set.
func UseColor(mode string, out io.Writer) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		file, ok := out.(*os.File)
		return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd())), nil
	default:
		return false, usage.Errorf("--color is %q; auto, always or never is expected", mode)
	}
}
