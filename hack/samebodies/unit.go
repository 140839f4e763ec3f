package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
)

// kind is what a unit is.
type kind string

const (
	function    kind = "func"
	declaration kind = "declaration"
)

// unit is a function, or what a package declares beside functions.
type unit struct {
	file, name string
	kind       kind
	// form is all that counts of it.
	form string
}

// parse reads the units of a file.
func parse(name string, text []byte) ([]unit, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	of := importsOf(file)
	var all []unit
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			all = append(all, unit{name, nameOf(d), function, of.form(d)})
		case *ast.GenDecl:
			for i, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					all = append(all, unit{name, spec.Name.Name, declaration, of.form(spec)})
				case *ast.ValueSpec:
					// What a constant without a value comes to hangs on where it stands.
					all = append(all, unit{name, spec.Names[0].Name, declaration, fmt.Sprint(d.Tok, len(spec.Values) == 0 && d.Tok == token.CONST, indexIn(d, i)) + of.form(spec)})
				}
			}
		}
	}
	return all, nil
}

// indexIn is where a constant stands in its group; zero for a variable, which can stand
// anywhere.
func indexIn(d *ast.GenDecl, i int) int {
	if d.Tok != token.CONST {
		return 0
	}
	return i
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// differ lists the units of before without a counterpart after, and the reverse.
func differ(before, after []unit) (gone, added []unit) {
	left := map[string][]unit{}
	for _, u := range after {
		left[u.form] = append(left[u.form], u)
	}
	for _, u := range before {
		same := left[u.form]
		if len(same) == 0 {
			gone = append(gone, u)
			continue
		}
		left[u.form] = same[1:]
	}
	for _, u := range after {
		if same := left[u.form]; len(same) > 0 && same[len(same)-1] == u {
			added = append(added, u)
			left[u.form] = same[:len(same)-1]
		}
	}
	return gone, added
}
