package module

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/app/usage"
)

// settingsFlags are the settings of a module.
type settingsFlags struct {
	settings, settingsPath string

	given func(flag string) bool
}

func (f *settingsFlags) add(cmd *cobra.Command) {
	f.given = cmd.Flags().Changed
	cmd.Flags().StringVar(&f.settings, "settings-json", "", "settings, as JSON")
	cmd.Flags().StringVarP(&f.settingsPath, "settings-path", "s", "", "settings: a file with YAML or JSON, or the JSON itself")
}

// read reads the settings as JSON; none are an empty map.
func (f *settingsFlags) read() (json.RawMessage, error) {
	text := []byte(f.settings)
	inline := bytes.HasPrefix(bytes.TrimSpace([]byte(f.settingsPath)), []byte("{"))
	switch {
	case f.given("settings-json") && f.given("settings-path"):
		return nil, usage.Errorf("settings stand in a file or on the command line; give one of --settings-json and --settings-path")
	case inline:
		text = []byte(f.settingsPath)
	case f.settingsPath != "":
		var err error
		if text, err = os.ReadFile(f.settingsPath); err != nil {
			return nil, fmt.Errorf("the settings cannot be read: %w", err)
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return json.RawMessage("{}"), nil
	}
	if json.Valid(text) {
		return text, nil
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the settings are neither JSON nor YAML: %w", err)
	}
	return raw, nil
}
