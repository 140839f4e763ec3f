package serve

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/app/configfile"
)

// configured is serve by a file, and by flags.
func configured(t *testing.T, content string, args ...string) (*Flags, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, cmd := &Flags{}, &cobra.Command{}
	f.Add(cmd)
	if err := cmd.ParseFlags(append(args, "--config", file)); err != nil {
		t.Fatal(err)
	}
	_, err := f.Complete(io.Discard)
	return f, err
}

const configHead = "apiVersion: config.sallyport.io/v1alpha1\nkind: ServerConfiguration\n"

// TestConfig: the file says what flags would, flags stand above it, and what is wrong in it is
// said as it is of them.
func TestConfig(t *testing.T) {
	f, err := configured(t, configHead+"mode: observe\ndoors: [admission]\nmaxStaleness: 2m\nclusterName: prod\n", "--cluster-name", "test")
	if err != nil || !f.server.Observe || f.known.staleness.Minutes() != 2 || f.server.ClusterName != "test" {
		t.Errorf("%v: %+v", err, f)
	}
	for content, want := range map[string]string{
		configHead + "mode: audit":           `--mode is "audit"`,
		configHead + "modes: observe":        "modes: Invalid value",
		configHead + "config: other":         "config: Invalid value",
		configHead + "webhookTimeout: 3s":    "give --webhooks all too",
		"kind: ServerConfiguration\nmode: x": "apiVersion: Unsupported value",
	} {
		if _, err := configured(t, content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
	f, cmd := &Flags{}, &cobra.Command{}
	f.Add(cmd)
	if err := cmd.ParseFlags([]string{"--config", "/nonexistent"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Complete(io.Discard); err == nil || !strings.Contains(err.Error(), "--config cannot be read") {
		t.Errorf("%v", err)
	}
}

// TestDocumentedConfig: the file in the documentation is taken.
func TestDocumentedConfig(t *testing.T) {
	page, err := os.ReadFile("../../../docs/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "### A file in place of flags")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	content, _, found := strings.Cut(rest, "```")
	if f, err := configured(t, content); err != nil || !found || f.webhooks.mode != webhooksAll {
		t.Errorf("%v\n%s", err, content)
	}
}

// TestEveryFlagIsAField: the default of each flag can be written into a file, and read back.
func TestEveryFlagIsAField(t *testing.T) {
	f, cmd := &Flags{}, &cobra.Command{}
	f.Add(cmd)
	all := map[string]any{"apiVersion": configfile.APIVersion, "kind": configfile.Kind}
	fields := 0
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name == configFlag || flag.Name == "help" {
			return
		}
		fields++
		name := configfile.Field(flag.Name)
		if _, ok := all[name]; ok {
			t.Errorf("two flags are the field %s", name)
		}
		switch list, isList := flag.Value.(pflag.SliceValue); {
		case isList:
			all[name] = append([]string{}, list.GetSlice()...)
		case flag.Value.Type() == "bool":
			all[name] = flag.DefValue == "true"
		case flag.Value.Type() == "int":
			var n int
			if _, err := fmt.Sscan(flag.DefValue, &n); err != nil {
				t.Fatal(err)
			}
			all[name] = n
		default:
			all[name] = flag.DefValue
		}
	})
	content, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := configfile.Apply(cmd.Flags(), "c.yaml", content, configFlag); err != nil || fields < 60 {
		t.Errorf("%d fields: %v", fields, err)
	}
}
