// Package version says which program this is.
package version

import (
	"runtime"
	"runtime/debug"
)

// version is set by the linker in releases:
// -X github.com/sallyport-io/sallyport/internal/app/version.version=v1.2.3
var version = ""

// Details says which program this is.
type Details struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read takes the version from the linker, else from what Go notes about
// the build.
func Read() Details {
	info := Details{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if ok {
		modified := false
		for _, setting := range build.Settings {
			switch setting.Key {
			case "vcs.revision":
				info.Revision = setting.Value
			case "vcs.time":
				info.Time = setting.Value
			case "vcs.modified":
				modified = setting.Value == "true"
			}
		}
		if info.Revision != "" && modified {
			info.Revision += "-modified"
		}
		if info.Version == "" && build.Main.Version != "(devel)" {
			info.Version = build.Main.Version
		}
	}
	if info.Version == "" {
		info.Version = "development"
	}
	return info
}
