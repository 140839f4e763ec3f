package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// guard is one condition, or one operand of one, that can be taken out.
type guard struct {
	// key names the guard in a way that outlives changes elsewhere in the file:
	// file, function and source text, with a number where these stand there twice.
	key, file string
	line      int
	// from and to are the offsets of the condition in the file.
	from, to int
	// neutral is what the condition becomes when the guard is taken out.
	neutral bool
}

// find lists the guards of a package, in the order of files and lines.
func find(a area) ([]guard, error) {
	files, err := filepath.Glob(filepath.Join(a.dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var guards []guard
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		found, err := findIn(file)
		if err != nil {
			return nil, err
		}
		guards = append(guards, found...)
	}
	return guards, nil
}

func findIn(file string) ([]guard, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{set: set, file: file, seen: map[string]int{}}
	for _, decl := range parsed.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			f.function = fn.Name.Name
			ast.Inspect(fn.Body, f.visit)
		}
	}
	return f.guards, nil
}

type finder struct {
	set            *token.FileSet
	file, function string
	seen           map[string]int
	guards         []guard
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		if endsEarly(n.Body.List) {
			f.add(n.Cond, "if", false)
		}
		f.operands(n.Cond)
	case *ast.SwitchStmt:
		if n.Tag != nil {
			return true
		}
		for _, clause := range n.Body.List {
			clause := clause.(*ast.CaseClause)
			for _, condition := range clause.List {
				if endsEarly(clause.Body) {
					f.add(condition, "case", false)
				}
				f.operands(condition)
			}
		}
	case *ast.ReturnStmt:
		for _, value := range n.Results {
			f.operands(value)
		}
	}
	return true
}

// operands adds each operand of && and ||, at every depth.
func (f *finder) operands(e ast.Expr) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		f.operands(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			f.operands(e.X)
		}
	case *ast.BinaryExpr:
		if e.Op != token.LAND && e.Op != token.LOR {
			return
		}
		for _, side := range []ast.Expr{e.X, e.Y} {
			if inner, ok := side.(*ast.BinaryExpr); !ok || inner.Op != e.Op {
				f.add(side, e.Op.String(), e.Op == token.LAND)
			}
			f.operands(side)
		}
	}
}

func (f *finder) add(e ast.Expr, role string, neutral bool) {
	var text bytes.Buffer
	if err := printer.Fprint(&text, f.set, e); err != nil {
		panic(err) // the parser has read it
	}
	key := fmt.Sprintf("%s %s: %s %s", f.file, f.function, role, strings.Join(strings.Fields(text.String()), " "))
	if f.seen[key]++; f.seen[key] > 1 {
		key += fmt.Sprintf(" #%d", f.seen[key])
	}
	f.guards = append(f.guards, guard{
		key: key, file: f.file, line: f.set.Position(e.Pos()).Line,
		from: f.set.Position(e.Pos()).Offset, to: f.set.Position(e.End()).Offset, neutral: neutral,
	})
}

// endsEarly reports whether statements end by leaving what they stand in.
func endsEarly(body []ast.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	switch last := body[len(body)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return last.Tok == token.CONTINUE || last.Tok == token.BREAK
	}
	return false
}
