package version

import (
	"runtime/debug"
	"testing"
)

func TestComplete(t *testing.T) {
	noted := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-30T00:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		name        string
		set         Details
		main        string
		settings    []debug.BuildSetting
		wantText    string
		wantVersion string
	}{
		{"a release", Details{Version: "v1.0.0", Revision: "def", Time: "then"}, "v0.9.0", noted, "sallyport v1.0.0 (def) go1 os/arch", "v1.0.0"},
		{"go install", Details{}, "v0.9.0", nil, "sallyport v0.9.0 go1 os/arch", "v0.9.0"},
		{"a work tree", Details{}, "(devel)", noted, "sallyport  (abc-modified) go1 os/arch", ""},
		{"nothing is known", Details{}, "(devel)", nil, "sallyport  go1 os/arch", ""},
	} {
		info := c.set
		info.Go, info.Platform = "go1", "os/arch"
		info.complete(&debug.BuildInfo{Main: debug.Module{Version: c.main}, Settings: c.settings})
		if info.String() != c.wantText || info.Version != c.wantVersion {
			t.Errorf("%s: %q, version %q", c.name, info.String(), info.Version)
		}
	}
}

func TestReadAlwaysHasAVersion(t *testing.T) {
	if Read().Version == "" {
		t.Error("there is no version")
	}
}
