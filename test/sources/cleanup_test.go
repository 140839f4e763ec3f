// Package sources holds the sources of the repository to rules that the compiler and
// the linters do not know.
package sources

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestCleanupsHaveAContext looks for a cleanup of a test that uses the test's own
// context. That one has ended when cleanups run, so that nothing is cleaned up, and
// the next test meets what was left.
func TestCleanupsHaveAContext(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		cleanups, ended := endedContexts(file)
		seen += cleanups
		for _, at := range ended {
			t.Errorf("%s: the context of a test has ended when its cleanups run; context.WithoutCancel goes around it", set.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Errorf("only %d cleanups were found: this test looks at the wrong files", seen)
	}
}

func TestEndedContexts(t *testing.T) {
	for body, want := range map[string]int{
		`t.Cleanup(func() { stop(t.Context()) })`:                                    1,
		`b.Cleanup(func() { if x { run(b.Context(), t.Context()) } })`:               2,
		`t.Cleanup(func() { stop(context.WithoutCancel(t.Context())) })`:             0,
		`t.Cleanup(func() { ctx := context.WithoutCancel(t.Context()); stop(ctx) })`: 0,
		`t.Cleanup(func() { stop(context.Background()) }); stop(t.Context())`:        0,
		`t.Cleanup(stop)`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+body+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if cleanups, ended := endedContexts(file); cleanups != 1 || len(ended) != want {
			t.Errorf("%s: %d cleanups, %d contexts, want %d", body, cleanups, len(ended), want)
		}
	}
}

// endedContexts counts the cleanups in a file, and gives where one uses the context
// of its test.
func endedContexts(file *ast.File) (cleanups int, ended []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || method(call) != "Cleanup" || len(call.Args) != 1 {
			return true
		}
		cleanups++
		ast.Inspect(call.Args[0], func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			switch {
			case !ok:
				return true
			case method(call) == "WithoutCancel":
				return false
			case method(call) == "Context" && len(call.Args) == 0:
				ended = append(ended, call.Pos())
			}
			return true
		})
		return false
	})
	return cleanups, ended
}

func method(call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	return selector.Sel.Name
}
