package regobuiltin

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// mostWork bounds what a function makes of its arguments, in bytes, as far as
	// that can be told from them.
	mostWork = 16 << 20
	// mostItems bounds lists that a function makes of numbers and networks.
	mostItems = 1 << 16
)

// guards look at the arguments of functions whose answers may be far larger than
// what they are given. size is that of all arguments together, as text. Arguments
// of other types than the function takes are left to the function.
var guards = map[string]func(operands []*ast.Term, size int) error{
	"sprintf":                   guardFormat,
	"json.marshal_with_options": guardIndent,
	"bits.lsh":                  guardShift,
	"numbers.range":             guardRange,
	"numbers.range_step":        guardRange,
	"net.cidr_expand":           guardExpand,
	"net.cidr_contains_matches": guardPairs,
	"concat":                    func(o []*ast.Term, size int) error { return work(count(o[1]), len(text(o[0]))) },
	"replace":                   func(o []*ast.Term, size int) error { return work(len(text(o[0]))+1, len(text(o[2]))+1) },
	"strings.replace_n":         func(o []*ast.Term, size int) error { return work(len(text(o[1]))+1, longest(o[0])+1) },
	"regex.replace":             guardRegexReplace,
	"json.patch":                guardPatch,
	"units.parse":               guardExponent,
	"units.parse_bytes":         guardExponent,
	"regex.find_all_string_submatch_n": func(o []*ast.Term, size int) error {
		return work(len(text(o[1]))+1, strings.Count(text(o[0]), "(")+1)
	},
}

func work(times, each int) error {
	if int64(times)*int64(each) > mostWork {
		return fmt.Errorf("its answer could have more than %d bytes", mostWork)
	}
	return nil
}

func text(t *ast.Term) string {
	s, _ := t.Value.(ast.String)
	return string(s)
}

// number reads a number that is written without a fraction and an exponent, and
// with few digits: how large another one is, is not told by how long it is.
func number(t *ast.Term) (int64, error) {
	n, ok := t.Value.(ast.Number)
	if !ok {
		return 0, nil
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || i > 1<<53 || i < -1<<53 {
		return 0, fmt.Errorf("the number %.40s is not accepted", string(n))
	}
	return i, nil
}

// count is how many entries a collection has, and 1 for everything else.
func count(t *ast.Term) int {
	switch v := t.Value.(type) {
	case *ast.Array:
		return v.Len()
	case ast.Set:
		return v.Len()
	case ast.Object:
		return v.Len()
	}
	return 1
}

// longest is the length of the longest text among the values of an object.
func longest(t *ast.Term) int {
	most := 0
	if o, ok := t.Value.(ast.Object); ok {
		o.Foreach(func(_, value *ast.Term) { most = max(most, len(text(value))) })
	}
	return most
}

// guardFormat adds up what each verb of a format can come to. The largest argument
// is at most as long as all are together, and quoting makes ten bytes of one.
func guardFormat(operands []*ast.Term, size int) error {
	const widest = 1000
	format, each := text(operands[0]), 10*size+widest
	total := len(format)
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		total += each
		width := 0
		for i++; i < len(format) && strings.IndexByte("+-# 0123456789.[]*", format[i]) >= 0; i++ {
			switch c := format[i]; {
			case c == '*':
				return fmt.Errorf("a width that is an argument, as in %%*d, is not accepted")
			case c < '0' || c > '9':
				width = 0
			default:
				if width = 10*width + int(c-'0'); width > widest {
					return fmt.Errorf("a width of more than %d is not accepted", widest)
				}
			}
		}
	}
	return work(total, 1)
}

// guardPatch: each copy of the patch may make the whole twice as large.
func guardPatch(operands []*ast.Term, size int) error {
	list, ok := operands[1].Value.(*ast.Array)
	if !ok {
		return nil
	}
	copies := 0
	list.Foreach(func(operation *ast.Term) {
		if o, ok := operation.Value.(ast.Object); ok {
			if op := o.Get(ast.StringTerm("op")); op != nil && text(op) == "copy" {
				copies++
			}
		}
	})
	return work(1<<min(copies, 30), size)
}

var largeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4,}`)

func guardExponent(operands []*ast.Term, _ int) error {
	if found := largeExponent.FindString(text(operands[0])); found != "" {
		return fmt.Errorf("the exponent %.20s is larger than is accepted", found)
	}
	return nil
}

func guardIndent(operands []*ast.Term, _ int) error {
	if n := longest(operands[1]); n > 32 {
		return fmt.Errorf("a prefix or indentation of %d bytes is more than the 32 that are accepted", n)
	}
	return nil
}

func guardShift(operands []*ast.Term, _ int) error {
	n, err := number(operands[1])
	if err == nil && n > 4096 {
		err = fmt.Errorf("a shift by %d bits is more than the 4096 that are accepted", n)
	}
	return err
}

func guardRange(operands []*ast.Term, _ int) error {
	values := [3]int64{2: 1}
	for i, operand := range operands {
		var err error
		if values[i], err = number(operand); err != nil {
			return err
		}
	}
	width := max(values[0]-values[1], values[1]-values[0])
	if n := width / max(1, values[2]); n > mostItems {
		return fmt.Errorf("a range of %d numbers is more than the %d that are accepted", n, mostItems)
	}
	return nil
}

func guardExpand(operands []*ast.Term, _ int) error {
	prefix, err := netip.ParsePrefix(text(operands[0]))
	if err == nil && prefix.Addr().BitLen()-prefix.Bits() > 16 {
		return fmt.Errorf("the network %s has more than the %d addresses that are accepted", prefix, mostItems)
	}
	return nil
}

func guardPairs(operands []*ast.Term, _ int) error {
	if pairs := int64(count(operands[0])) * int64(count(operands[1])); pairs > mostItems {
		return fmt.Errorf("%d pairs are more than the %d that are accepted", pairs, mostItems)
	}
	return nil
}

// guardRegexReplace: the replacement stands for each match, and what it refers to
// is part of the match, so that all matches together are the text once.
func guardRegexReplace(operands []*ast.Term, _ int) error {
	base, value := len(text(operands[0])), text(operands[2])
	return work(base+1, len(value)+1+strings.Count(value, "$"))
}
