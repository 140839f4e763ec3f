package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strings"
)

// changedFunctions lists the tests of a file that are new or changed. Where
// something else in the file changed, such as a table that tests go through, it
// lists all of them.
func changedFunctions(before, after string) ([]string, error) {
	old, err := declarations(before)
	if err != nil {
		return nil, err
	}
	now, err := declarations(after)
	if err != nil {
		return nil, err
	}
	var all, changed []string
	others := false
	for name, text := range now {
		test := strings.HasPrefix(name, "Test")
		if test && name != "TestMain" {
			all = append(all, name)
		}
		if old[name] == text {
			continue
		}
		if test {
			changed = append(changed, name)
		} else {
			others = true
		}
	}
	if others && len(changed) == 0 {
		changed = all
	}
	slices.Sort(changed)
	return changed, nil
}

// declarations are the texts of what a file declares, by name, without comments.
func declarations(source string) (map[string]string, error) {
	found := map[string]string{}
	if source == "" {
		return found, nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		var text bytes.Buffer
		if err := printer.Fprint(&text, set, decl); err != nil {
			return nil, err
		}
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = "method " + text.String()[:strings.IndexByte(text.String(), '{')]
			}
			found[name] = text.String()
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				found["declaration "+text.String()] = text.String()
			}
		}
	}
	return found, nil
}
