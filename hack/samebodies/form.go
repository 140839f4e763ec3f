package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"reflect"
	"slices"
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
	w := &writer{of: of, numbers: map[string]int{}, plain: other}
	w.node(reflect.ValueOf(node))
	return w.out.String()
}

// writer writes a tree. Names are numbered in the order in which they come, so that what
// counts is which of them are the same.
type writer struct {
	of      imports
	numbers map[string]int
	// plain is the role of names where they stand by themselves.
	plain role
	out   strings.Builder
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
			w.name(w.plain, n.Name)
		}
	case *ast.FuncDecl:
		w.function(n)
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			w.out.WriteString("text ")
		} else {
			w.out.WriteString(n.Value + " ")
		}
	case *ast.CallExpr:
		return w.call(n)
	case *ast.Field:
		for _, name := range n.Names {
			w.name(other, name.Name)
		}
		w.typ(n.Type)
	case *ast.StructType:
		w.members("StructType(", field, n.Fields)
	case *ast.InterfaceType:
		w.members("InterfaceType(", called, n.Methods)
	case *ast.CompositeLit:
		w.literal(n)
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		if !ok || w.of[x.Name] == "" {
			w.out.WriteString("SelectorExpr(")
			w.node(reflect.ValueOf(n.X))
			w.name(field, n.Sel.Name)
			w.out.WriteString(")")
			return true
		}
		if from := w.of[x.Name]; !strings.HasPrefix(from, ourModule) {
			w.out.WriteString(from + "." + n.Sel.Name + " ")
		} else {
			w.name(w.plain, n.Sel.Name)
		}
	default:
		return false
	}
	return true
}

// function writes a function. A method is the same as a function whose first parameter is
// its receiver.
func (w *writer) function(n *ast.FuncDecl) {
	signature := *n.Type
	if n.Recv != nil {
		parameters := ast.FieldList{List: slices.Concat(n.Recv.List, n.Type.Params.List)}
		signature.Params = &parameters
	}
	w.out.WriteString("FuncDecl(")
	w.name(called, n.Name.Name)
	w.node(reflect.ValueOf(&signature))
	w.node(reflect.ValueOf(n.Body))
	w.out.WriteString(")")
}

// call writes a call of something of ours, of a method as of a function. It returns false
// for what is not ours by its looks.
func (w *writer) call(n *ast.CallExpr) bool {
	var name string
	var arguments []ast.Expr
	switch f := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		if types.Universe.Lookup(f.Name) != nil {
			return false
		}
		name, arguments = f.Name, n.Args
	case *ast.SelectorExpr:
		name, arguments = f.Sel.Name, n.Args
		x, ok := f.X.(*ast.Ident)
		switch from := ""; {
		case ok && w.of[x.Name] != "":
			if from = w.of[x.Name]; !strings.HasPrefix(from, ourModule) {
				return false
			}
		default:
			arguments = append([]ast.Expr{f.X}, n.Args...)
		}
	default:
		return false
	}
	w.out.WriteString("Call(")
	w.name(called, name)
	for i, a := range arguments {
		// Where a method takes a pointer, its address is taken of itself.
		if address, ok := a.(*ast.UnaryExpr); ok && i == 0 && address.Op == token.AND {
			a = address.X
		}
		w.node(reflect.ValueOf(a))
	}
	fmt.Fprint(&w.out, n.Ellipsis.IsValid(), ")")
	return true
}

// members writes the fields of a struct or the methods of an interface.
func (w *writer) members(kind string, as role, list *ast.FieldList) {
	w.out.WriteString(kind)
	for _, member := range list.List {
		for _, name := range member.Names {
			w.name(as, name.Name)
		}
		w.typ(member.Type)
		if member.Tag != nil {
			w.node(reflect.ValueOf(member.Tag))
		}
	}
	w.out.WriteString(")")
}

// typ writes a type.
func (w *writer) typ(t ast.Expr) {
	defer func(before role) { w.plain = before }(w.plain)
	w.plain = typed
	w.node(reflect.ValueOf(t))
}

// literal writes a literal. Fields are the same with their names as without them, as they
// stand in their order where they have none.
func (w *writer) literal(n *ast.CompositeLit) {
	_, isMap := n.Type.(*ast.MapType)
	w.out.WriteString("CompositeLit(")
	if n.Type != nil {
		w.typ(n.Type)
	}
	for _, element := range n.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok && !isMap {
			if _, ok := pair.Key.(*ast.Ident); ok {
				element = pair.Value
			}
		}
		w.node(reflect.ValueOf(element))
	}
	w.out.WriteString(")")
}

// role is what a name stands for. Names are told apart within their role: a field may come
// to be called as a package is.
type role byte

const (
	other  role = 'n'
	field  role = 'f'
	called role = 'c'
	typed  role = 't'
)

// name writes a name by its number. A field or a function that is exported is the same as
// one that is not.
func (w *writer) name(as role, name string) {
	if as == field || as == called {
		first := []rune(name)
		first[0] = unicode.ToLower(first[0])
		name = string(first)
	}
	key := string(rune(as)) + name
	number, ok := w.numbers[key]
	if !ok {
		number = len(w.numbers)
		w.numbers[key] = number
	}
	fmt.Fprintf(&w.out, "%c%d ", as, number)
}
