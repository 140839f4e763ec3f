package risk

import (
	"fmt"
	"slices"
	"text/template/parse"
)

// kindOf finds the kind of an expression in a reason, and refuses expressions
// that cannot be evaluated: unknown fields, comparisons of unlike things and
// whatever is more than a reason needs.
func kindOf(n parse.Node) (kind, error) {
	switch n := n.(type) {
	case *parse.PipeNode:
		if len(n.Decl) > 0 || len(n.Cmds) != 1 {
			break
		}
		return kindOf(n.Cmds[0])
	case *parse.CommandNode:
		if function, ok := n.Args[0].(*parse.IdentifierNode); ok {
			return kindOfCall(function.Ident, n.Args[1:])
		}
		if len(n.Args) != 1 {
			break
		}
		return kindOf(n.Args[0])
	case *parse.FieldNode:
		if len(n.Ident) != 1 {
			break
		}
		if k, ok := reasonFields[n.Ident[0]]; ok {
			return k, nil
		}
		names := sortedKeys(reasonFields)
		return 0, fmt.Errorf("{{.%s}} is none of the fields {{.%s}}%s", n.Ident[0], joinFields(names), didYouMean(n.Ident[0], names))
	case *parse.StringNode:
		return textKind, nil
	case *parse.BoolNode:
		return boolKind, nil
	case *parse.NumberNode:
		if n.IsInt {
			return numberKind, nil
		}
	}
	return 0, fmt.Errorf("{{%s}} cannot be used; a reason holds {{.field}}, and {{if}} with comparisons", shorten(n.String()))
}

// joinFields lists fields as they are written in a template.
func joinFields(names []string) string {
	text := names[0]
	for _, name := range names[1:] {
		text += "}}, {{." + name
	}
	return text
}

// kindOfCall checks a call of one of the functions that compare.
func kindOfCall(function string, args []parse.Node) (kind, error) {
	kinds := make([]kind, len(args))
	for i, arg := range args {
		k, err := kindOf(arg)
		if err != nil {
			return 0, err
		}
		kinds[i] = k
	}
	alike := !slices.ContainsFunc(kinds, func(k kind) bool { return k != kinds[0] })
	switch n := len(kinds); function {
	case "not":
		if n == 1 {
			return boolKind, nil
		}
	case "and", "or":
		if n >= 1 && alike {
			return kinds[0], nil
		}
	case "eq":
		if n >= 2 && alike {
			return boolKind, nil
		}
	case "ne":
		if n == 2 && alike {
			return boolKind, nil
		}
	case "lt", "le", "gt", "ge":
		if n == 2 && alike && kinds[0] != boolKind {
			return boolKind, nil
		}
	default:
		return 0, fmt.Errorf("the function %s cannot be used; eq, ne, lt, le, gt, ge, and, or and not can", function)
	}
	return 0, fmt.Errorf("the function %s does not take these arguments: it compares {{.score}} with numbers, and the other fields with texts in quotes", function)
}
