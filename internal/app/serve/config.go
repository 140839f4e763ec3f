package serve

import (
	"os"

	"github.com/sallyport-io/sallyport/internal/app/configfile"
	"github.com/sallyport-io/sallyport/internal/app/usage"
)

// configFlag names the file that gives further flags.
const configFlag = "config"

// readConfig takes over the flags that the file of --config gives.
func (f *Flags) readConfig() error {
	if f.config == "" {
		return nil
	}
	content, err := os.ReadFile(f.config)
	if err != nil {
		return usage.Errorf("--%s cannot be read: %v", configFlag, err)
	}
	return configfile.Apply(f.all, f.config, content, configFlag)
}
