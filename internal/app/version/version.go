// Package version says which program this is.
package version

import (
	"runtime"
	"runtime/debug"
)

// What releases and the Makefile have the linker set; empty in other builds.
var (
	version  = ""
	revision = ""
	time     = ""
)

// Details says which program this is.
type Details struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read takes what the linker set, and for the rest what Go notes about the build.
func Read() Details {
	info := Details{Version: version, Revision: revision, Time: time, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		info.complete(build)
	}
	if info.Version == "" {
		info.Version = "development"
	}
	return info
}

// complete takes from the build what is not there yet.
func (d *Details) complete(build *debug.BuildInfo) {
	settings := map[string]string{}
	for _, s := range build.Settings {
		settings[s.Key] = s.Value
	}
	if noted := settings["vcs.revision"]; d.Revision == "" && noted != "" {
		if d.Revision = noted; settings["vcs.modified"] == "true" {
			d.Revision += "-modified"
		}
		d.Time = settings["vcs.time"]
	}
	if d.Version == "" && build.Main.Version != "(devel)" {
		d.Version = build.Main.Version
	}
}

// String is the one line of it that people read.
func (d Details) String() string {
	line := "sallyport " + d.Version
	if d.Revision != "" {
		line += " (" + d.Revision + ")"
	}
	return line + " " + d.Go + " " + d.Platform
}
