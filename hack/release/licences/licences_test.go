package licences

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/hack/release/files"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

func TestRecognise(t *testing.T) {
	const (
		mit    = "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this software and associated documentation files (the \"Software\"), to deal"
		bsd2   = "Redistribution and use in source and binary forms, with or without\n// modification, are permitted provided that"
		bsd3   = bsd2 + " * Neither the name of Google Inc. nor the names of its\ncontributors may be used to endorse or promote products derived from\nthis software without specific prior written permission."
		apache = "   Apache License\n  Version 2.0, January 2004\n http://www.apache.org/licenses/"
		mpl    = "Mozilla Public License Version 2.0\n====\n1. Definitions\n means the GNU General Public License, Version 2.0"
	)
	for _, c := range []struct{ name, text, want, says string }{
		{"MIT", mit, "MIT", ""},
		{"two clauses", bsd2, "BSD-2-Clause", ""},
		{"three clauses", bsd3, "BSD-3-Clause", ""},
		{"Apache", apache, "Apache-2.0", ""},
		{"two licences", apache + mit, "Apache-2.0 AND MIT", ""},
		{"Mozilla names others", mpl, "MPL-2.0", ""},
		{"GPL", "GNU GENERAL PUBLIC LICENSE\n Version 3", "", "gnu general public license"},
		{"AGPL beside MIT", mit + "GNU Affero General Public License", "", "gnu affero general public license"},
		{"BUSL", "Business Source License 1.1", "", "business source license"},
		{"nothing known", "All rights reserved.", "", "not a licence that is known"},
		{"empty", "", "", "not a licence that is known"},
	} {
		ids, err := Recognise([]byte(c.text))
		if got := Expression(ids...); got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v, want %q, %q", c.name, got, err, c.want, c.says)
		}
	}
}

// TestCollect finds texts in the folders of packages that are linked in and above them,
// and in no other.
func TestCollect(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE": "Apache License Version 2.0, January 2004", "NOTICE.txt": "made by", "licence.go": "package m", "LICENSE.docs": "Creative Commons Attribution-ShareAlike",
		"a/b/COPYING": "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted",
		"a/other.txt": "", "unused/LICENSE": "GNU General Public License",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &source{path: "example.com/m", version: "v1.0.0", dir: dir, folders: map[string]bool{filepath.Join(dir, "a", "b"): true}}
	m, err := s.collect()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range m.Texts {
		names = append(names, f.Path)
	}
	if want := []string{"LICENSE", "NOTICE.txt", "a/b/COPYING"}; !slices.Equal(names, want) || !slices.Equal(m.Licences, []string{"Apache-2.0", "ISC"}) {
		t.Errorf("%q under %q, want %q", names, m.Licences, want)
	}
	s.folders[filepath.Join(dir, "unused")] = true
	if _, err := s.collect(); err == nil || !strings.Contains(err.Error(), "example.com/m@v1.0.0: unused/LICENSE: it names the") {
		t.Errorf("a folder under another licence: %v", err)
	}
	if _, err := (&source{path: "example.com/n", version: "v1.0.0", dir: t.TempDir()}).collect(); err == nil {
		t.Error("a module has no licence, and it is not told")
	}
}

// TestEverythingLinkedIn has a licence that is known, on the platforms that differ in
// what is linked in.
func TestEverythingLinkedIn(t *testing.T) {
	for _, p := range []product.Platform{{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}} {
		modules, err := Collect(t.Context(), "../../..", p, product.Package)
		if err != nil {
			t.Fatal(err)
		}
		if len(modules) < 100 || !slices.ContainsFunc(modules, func(m Module) bool { return m.Path == Standard }) {
			t.Errorf("%s: there are %d modules", p, len(modules))
		}
	}
}

func TestFiles(t *testing.T) {
	got := Files("licences", []Module{
		{Path: "example.com/a", Version: "v1.0.0", Licences: []string{"Apache-2.0", "MIT"}, Texts: []files.File{{Path: "x/LICENSE", Data: []byte("text")}}},
		{Path: "example.com/b", Version: "v2.0.0", Licences: []string{"MIT"}},
	})
	if len(got) != 2 || got[0].Path != "licences/example.com/a@v1.0.0/x/LICENSE" || got[1].Path != "licences/index.txt" {
		t.Fatalf("they are %v", got)
	}
	if want := "example.com/a@v1.0.0  Apache-2.0 AND MIT\nexample.com/b@v2.0.0  MIT\n"; string(got[1].Data) != want {
		t.Errorf("the list is %q, want %q", got[1].Data, want)
	}
}
