package apijson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Child is the path of the field name of the object at path. A name that is not
// made only of letters, digits, "-" and "_" stands in brackets and quotes:
// metadata.labels["example.com/team"].
func Child(path, name string) string {
	if !isPlainName(name) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// Element is the path of the element i of the list at path.
func Element(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

func isPlainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return name != ""
}

// Input is read again to find out where an error arose, and need not be valid
// for that beyond the point of the error.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// pathOf writes a JSON pointer into data as a path. A pointer alone does not say
// whether "0" is an element of a list or the name of a field.
func pathOf(data []byte, pointer jsontext.Pointer) string {
	dec := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	path := ""
	// Nobody reads a path of thousands of levels.
	const most = 64
	levels := 0
	for name := range pointer.Tokens() {
		if levels++; levels > most {
			return path + "..."
		}
		if enterElement(dec, name) {
			path += "[" + name + "]"
			continue
		}
		enterField(dec, name)
		path = Child(path, name)
	}
	return path
}

// enterElement goes to the element that index names, if the next value is a
// list.
func enterElement(dec *jsontext.Decoder, index string) bool {
	if dec.PeekKind() != '[' {
		return false
	}
	n, err := strconv.Atoi(index)
	if err != nil {
		return false
	}
	if _, err := dec.ReadToken(); err != nil {
		return true
	}
	for range n {
		if dec.SkipValue() != nil {
			break
		}
	}
	return true
}

// enterField goes to the value of the first field name, if the next value is an
// object that has it.
func enterField(dec *jsontext.Decoder, name string) {
	if dec.PeekKind() != '{' {
		return
	}
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil || token.String() == name {
			return
		}
		if dec.SkipValue() != nil {
			return
		}
	}
}
