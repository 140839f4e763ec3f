package sbom

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/licences"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

var (
	released = facts.Facts{Version: "v1.2.3", Revision: "abc", Time: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	program  = &product.Program{
		Platform: product.Platform{OS: "linux", Arch: "amd64"}, Data: []byte("program"),
		Build: &buildinfo.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "github.com/sallyport-io/sallyport"}, Deps: []*debug.Module{
			{Path: "github.com/Upper/m", Version: "v1.0.0+incompatible", Sum: "h1:x"},
		}},
	}
	linked = []licences.Module{
		{Path: "github.com/Upper/m", Version: "v1.0.0+incompatible", Licences: []string{"Apache-2.0", "MIT"}},
		{Path: licences.Standard, Version: "go1.26.8", Licences: []string{"BSD-3-Clause"}},
	}
	beside = []licences.Module{{Path: "example.com/roots", Version: "v0.1.0", Licences: []string{"BSD-3-Clause"}}}
)

func TestMake(t *testing.T) {
	made, err := Make(released, program, linked, beside)
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(made, &d); err != nil {
		t.Fatal(err)
	}
	var names, purls []string
	ids := map[string]bool{d.SPDXID: true}
	for _, p := range d.Packages {
		names = append(names, p.Name+" "+p.VersionInfo+" "+p.LicenseDeclared)
		purls = append(purls, p.ExternalRefs[0].Locator)
		if !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(p.SPDXID) || ids[p.SPDXID] {
			t.Errorf("%s is not an identifier, or there twice", p.SPDXID)
		}
		ids[p.SPDXID] = true
	}
	if want := []string{"sallyport v1.2.3 Apache-2.0", "github.com/Upper/m v1.0.0+incompatible Apache-2.0 AND MIT", "stdlib go1.26.8 BSD-3-Clause", "example.com/roots v0.1.0 BSD-3-Clause"}; !slices.Equal(names, want) {
		t.Errorf("it has %q, want %q", names, want)
	}
	if want := []string{"pkg:golang/github.com/sallyport-io/sallyport@v1.2.3", "pkg:golang/github.com/upper/m@v1.0.0%2Bincompatible", "pkg:golang/stdlib@1.26.8", "pkg:golang/example.com/roots@v0.1.0"}; !slices.Equal(purls, want) {
		t.Errorf("they are found as %q, want %q", purls, want)
	}
	if d.Packages[0].Checksums[0].Value != "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8" {
		t.Errorf("the checksum is %v", d.Packages[0].Checksums)
	}
	related := map[string]int{}
	for _, r := range d.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("%v names what is not there", r)
		}
		related[r.Related]++
	}
	if len(related) != len(d.Packages) {
		t.Errorf("of %d packages %d are related to something", len(d.Packages), len(related))
	}
	if d.SPDXVersion != "SPDX-2.3" || d.CreationInfo.Created != "2026-11-30T00:00:00Z" {
		t.Errorf("it is %s of %s", d.SPDXVersion, d.CreationInfo.Created)
	}
}

func TestNamespaces(t *testing.T) {
	of := func(f facts.Facts, beside []licences.Module) string {
		made, err := Make(f, program, linked, beside)
		again, alsoErr := Make(f, program, linked, beside)
		if err != nil || alsoErr != nil || !bytes.Equal(made, again) {
			t.Fatalf("two documents differ: %v %v", err, alsoErr)
		}
		var d document
		if err := json.Unmarshal(made, &d); err != nil {
			t.Fatal(err)
		}
		return d.DocumentNamespace
	}
	if of(released, beside) == of(released, nil) {
		t.Error("two documents that differ have one namespace")
	}
}

func TestMakeRefuses(t *testing.T) {
	other := slices.Clone(linked)
	other[0].Version = "v9.0.0"
	for name, given := range map[string][]licences.Module{"a module is missing": linked[1:], "another version": other, "no standard library": linked[:1]} {
		if _, err := Make(released, program, given, nil); err == nil || !strings.Contains(err.Error(), "the licence is known of version") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
