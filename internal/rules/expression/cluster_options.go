package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// The options of a read.
var readOptionNames = []string{"cache", "fieldSelector", "fields", "labelSelector"}

func unknownOption(name string) error {
	return fmt.Errorf("option %q is not known; there are %s", cut(name), strings.Join(readOptionNames, ", "))
}

// readOptions reads a map of options into a read.
func readOptions(read *hostcall.Read, given ref.Val) error {
	options, ok := given.(traits.Mapper)
	if !ok {
		return fmt.Errorf("its last argument is %s, and a map of options belongs there", given.Type().TypeName())
	}
	for it := options.Iterator(); it.HasNext() == types.True; {
		key, ok := it.Next().(types.String)
		if !ok {
			return fmt.Errorf("options have names; there are %s", strings.Join(readOptionNames, ", "))
		}
		value, ok := options.Find(key)
		if !ok {
			return fmt.Errorf("option %q cannot be read", string(key))
		}
		if err := readOption(read, string(key), value); err != nil {
			return err
		}
	}
	return nil
}

func readOption(read *hostcall.Read, name string, value ref.Val) error {
	wrong := func(want string) error {
		return fmt.Errorf("option %s is %s, and has to be %s", name, value.Type().TypeName(), want)
	}
	text, isText := value.(types.String)
	switch name {
	case "labelSelector":
		read.LabelSelector = string(text)
	case "fieldSelector":
		read.FieldSelector = string(text)
	case "cache":
		return readCache(read, value, wrong)
	case "fields":
		return readFields(read, value, wrong)
	default:
		return unknownOption(name)
	}
	switch {
	case !isText:
		return wrong("string")
	case text == "":
		return fmt.Errorf("option %s is empty; leave it out to select everything", name)
	}
	return nil
}

// The values of one map have one type in CEL, so that cache and fields can be
// texts as well.
func readCache(read *hostcall.Read, value ref.Val, wrong func(string) error) error {
	switch value {
	case types.True, types.String("true"):
	case types.False, types.String("false"):
		read.DisableCache = true
	default:
		return wrong("true or false")
	}
	return nil
}

func readFields(read *hostcall.Read, value ref.Val, wrong func(string) error) error {
	switch given := value.(type) {
	case types.String:
		for field := range strings.SplitSeq(string(given), ",") {
			read.FieldMasks = append(read.FieldMasks, strings.TrimSpace(field))
		}
	case traits.Lister:
		for it := given.Iterator(); it.HasNext() == types.True; {
			field, ok := it.Next().(types.String)
			if !ok {
				return wrong("list(string), or a string with commas")
			}
			read.FieldMasks = append(read.FieldMasks, string(field))
		}
	default:
		return wrong("list(string), or a string with commas")
	}
	if len(read.FieldMasks) == 0 || slices.Contains(read.FieldMasks, "") {
		return fmt.Errorf("option fields is empty, or a field in it is; name the fields, or leave it out for all")
	}
	return nil
}

// checkReads refuses what an expression reads and may not, as far as that stands
// in it: kinds that were not granted, and options that there are not.
func (in *environment) checkReads(checked *cel.Ast) error {
	if in.granted == nil {
		return nil
	}
	tree := checked.NativeRep()
	var problem error
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if problem != nil || e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		name := call.FunctionName()
		if !call.IsMemberFunction() || name != getFunction && name != listFunction || !tree.GetType(call.Target().ID()).IsExactType(clusterType) {
			return
		}
		problem = in.checkRead(name, call.Args())
	}))
	return problem
}

func (in *environment) checkRead(function string, args []ast.Expr) error {
	if len(args) < 2 {
		return nil
	}
	apiVersion, ok := literalText(args[0])
	kind, also := literalText(args[1])
	if ok && also {
		if refusal := in.granted(apiVersion, kind); refusal != "" {
			return fmt.Errorf("%s.%s may not read %s of %s: %s", clusterName, function, cut(kind), cut(apiVersion), refusal)
		}
	}
	last := args[len(args)-1]
	if last.Kind() != ast.MapKind {
		return nil
	}
	for _, entry := range last.AsMap().Entries() {
		if name, ok := literalText(entry.AsMapEntry().Key()); ok && !slices.Contains(readOptionNames, name) {
			return fmt.Errorf("%s.%s: %w", clusterName, function, unknownOption(name))
		}
	}
	return nil
}

// literalText is the text of a string that stands in the expression itself.
func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}
