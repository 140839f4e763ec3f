package serve

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	controllerruntime "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sallyport-io/sallyport/internal/app/usage"
)

// logFlags say what is logged, and how.
type logFlags struct {
	level, format string
}

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	cmd.Flags().StringVar(&f.format, "log-format", "text", "text or json")
}

// logger makes the logger that the flags describe.
func (f *logFlags) logger(out io.Writer) (*slog.Logger, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[f.level]
	if !ok {
		return nil, usage.Errorf("--log-level is %q; debug, info, warn or error is expected", f.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	default:
		return nil, usage.Errorf("--log-format is %q; text or json is expected", f.format)
	}
}

// logLibraries makes the libraries of Kubernetes log through the same logger.
func logLibraries(log *slog.Logger) {
	klog.SetSlogLogger(log)
	controllerruntime.SetLogger(logr.FromSlogHandler(log.Handler()))
}
