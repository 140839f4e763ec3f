package wasm

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompilationCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	ctx := context.Background()
	run := func(t *testing.T) error {
		e, err := NewEngine(ctx, Config{CacheDir: dir})
		if err != nil {
			return err
		}
		defer e.Close(ctx)
		m, err := e.Compile(ctx, answering(accepts, nil).bytes(), CompileOptions{Name: "cached"})
		if err != nil {
			return err
		}
		defer m.Close(ctx)
		_, err = m.Evaluator(EvaluatorOptions{}).Validate(ctx, pod, nil)
		return err
	}
	if err := run(t); err != nil {
		t.Fatal(err)
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing is kept: %v", err)
	}
	if err := run(t); err != nil {
		t.Errorf("from the cache: %v", err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"half": string(whole[:len(whole)/2]), "empty": "", "rubbish": strings.Repeat("x", 1000), "cut": "WAZEVO"} {
		for _, file := range files {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := run(t); err != nil {
			t.Errorf("with a cache that is %s: %v", name, err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := run(t); err == nil || !strings.Contains(err.Error(), "must be writable only by its owner") {
		t.Errorf("a directory that all may write: %v", err)
	}
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name   string
		module assembly
		want   Kind
	}{
		{"waPC", answering(accepts, nil), KindWaPC},
		{"waPC with _start", assembly{function: []function{{export: exportStart}, {export: exportGuestCall, parameters: 2, results: 1, body: i32(1)}}}, KindWaPC},
		{"WASI", assembly{function: []function{{export: exportStart}}}, KindWASI},
		{"Rego", assembly{function: []function{{export: exportRego}, {export: "eval"}}}, KindRego},
		{"none", assembly{function: []function{{export: "run"}}}, KindUnknown},
	}
	for _, test := range tests {
		if got, err := Detect(test.module.bytes()); got != test.want || (err == nil) != (test.want != KindUnknown) {
			t.Errorf("%s: got %s, %v", test.name, got, err)
		}
	}
}

func TestEveryPrefixIsRefused(t *testing.T) {
	module := leaks()["a global"].bytes()
	e := newEngine(t, Limits{})
	for n := range module {
		m, err := e.Compile(context.Background(), module[:n], CompileOptions{})
		if err == nil {
			// All that is missing is the data, which may be left out.
			if n < len(module)-len(counts)-16 {
				t.Errorf("%d of %d bytes were accepted", n, len(module))
			}
			m.Close(context.Background())
		}
	}
}
