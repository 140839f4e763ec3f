package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// ourModule is where the packages are whose names do not count.
const ourModule = "github.com/sallyport-io/sallyport/"

// imports are those of a file, by the names that they have there.
type imports map[string]string

func importsOf(file *ast.File) imports {
	of := imports{}
	for _, spec := range file.Imports {
		from, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(from)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		of[name] = from
	}
	return of
}

// form writes down all that counts of a node.
func (of imports) form(node ast.Node) string {
	w := &writer{of: of, numbers: map[string]int{}}
	w.node(reflect.ValueOf(node))
	return w.out.String()
}

// writer writes a tree. Names are numbered in the order in which they come, so that what
// counts is which of them are the same.
type writer struct {
	of      imports
	numbers map[string]int
	out     strings.Builder
}

// unwritten are the fields of nodes that say where something stands, and what is said
// about it.
var unwritten = map[string]bool{"Doc": true, "Comment": true, "Comments": true, "Obj": true, "Scope": true, "Unresolved": true, "Incomplete": true}

var (
	typeOfPos  = reflect.TypeFor[token.Pos]()
	typeOfTok  = reflect.TypeFor[token.Token]()
	typeOfNode = reflect.TypeFor[ast.Node]()
)

// present are the positions that say whether something is there.
var present = map[string]bool{"Ellipsis": true, "Arrow": true, "Assign": true}

func (w *writer) node(v reflect.Value) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			w.out.WriteString("-")
			return
		}
		if v.Kind() == reflect.Pointer && w.special(v) {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice:
		w.out.WriteString("[")
		for i := range v.Len() {
			w.node(v.Index(i))
		}
		w.out.WriteString("]")
	case reflect.Struct:
		w.fields(v)
	default:
		fmt.Fprint(&w.out, v.Interface(), " ")
	}
}

func (w *writer) fields(v reflect.Value) {
	w.out.WriteString(v.Type().Name() + "(")
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case unwritten[field.Name]:
		case field.Type == typeOfPos:
			if present[field.Name] {
				fmt.Fprint(&w.out, v.Field(i).Int() != 0, " ")
			}
		case field.Type == typeOfTok:
			fmt.Fprint(&w.out, v.Field(i).Interface(), " ")
		default:
			w.node(v.Field(i))
		}
	}
	w.out.WriteString(")")
}

// special writes the nodes of which not all counts, or that are written in two ways.
func (w *writer) special(v reflect.Value) bool {
	if !v.Type().Implements(typeOfNode) {
		return false
	}
	switch n := v.Interface().(type) {
	case *ast.Ident:
		if types.Universe.Lookup(n.Name) != nil || n.Name == "_" {
			w.out.WriteString(n.Name + " ")
		} else {
			w.name(n.Name)
		}
	case *ast.FuncDecl:
		w.out.WriteString("FuncDecl(")
		w.node(reflect.ValueOf(n.Recv))
		if n.Recv == nil {
			w.name(n.Name.Name)
		} else {
			w.member(n.Name.Name)
		}
		w.node(reflect.ValueOf(n.Type))
		w.node(reflect.ValueOf(n.Body))
		w.out.WriteString(")")
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			w.out.WriteString("text ")
		} else {
			w.out.WriteString(n.Value + " ")
		}
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		if !ok || w.of[x.Name] == "" {
			w.out.WriteString("SelectorExpr(")
			w.node(reflect.ValueOf(n.X))
			w.member(n.Sel.Name)
			w.out.WriteString(")")
			return true
		}
		if from := w.of[x.Name]; !strings.HasPrefix(from, ourModule) {
			w.out.WriteString(from + "." + n.Sel.Name + " ")
		} else {
			w.numbered(from+".", n.Sel.Name)
		}
	case *ast.StructType:
		w.members(n.Fields)
	case *ast.InterfaceType:
		w.members(n.Methods)
	case *ast.KeyValueExpr:
		// In nearly every literal of the product a bare name before a colon is a field.
		if key, ok := n.Key.(*ast.Ident); ok {
			w.member(key.Name)
		} else {
			w.node(reflect.ValueOf(n.Key))
		}
		w.out.WriteString(": ")
		w.node(reflect.ValueOf(n.Value))
	default:
		return false
	}
	return true
}

// members writes the fields of a struct, or the methods of an interface.
func (w *writer) members(list *ast.FieldList) {
	w.out.WriteString("members(")
	for _, field := range list.List {
		for _, name := range field.Names {
			w.member(name.Name)
		}
		w.node(reflect.ValueOf(field.Type))
		w.node(reflect.ValueOf(field.Tag))
	}
	w.out.WriteString(")")
}

// name writes a name that stands for itself.
func (w *writer) name(name string) { w.numbered("", name) }

// member writes the name of a field or a method: nothing else goes by it.
func (w *writer) member(name string) { w.numbered("of a type: ", name) }

// numbered writes a name by the number that it has among those of its sort. One that is
// exported is the same as one that is not.
func (w *writer) numbered(sort, name string) {
	first := []rune(name)
	first[0] = unicode.ToLower(first[0])
	number, ok := w.numbers[sort+string(first)]
	if !ok {
		number = len(w.numbers)
		w.numbers[sort+string(first)] = number
	}
	fmt.Fprintf(&w.out, "n%d ", number)
}
