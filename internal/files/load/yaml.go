package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	yaml "go.yaml.in/yaml/v2"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// yamlToJSON turns one YAML document into JSON, with the YAML 1.1 reading that
// kubectl gives it: anchors, merge keys and `on` or `yes` as booleans. A name
// that stands twice in a map is an error, one that overrides a merged name is
// not. Line numbers in errors count from line, which is where text begins. A
// document that holds nothing gives nil.
func yamlToJSON(text []byte, line int) ([]byte, error) {
	value, err := decodeYAML(text, true)
	if isDuplicateError(err) {
		duplicates := findDuplicates(text, line)
		if len(duplicates) > 0 {
			return nil, duplicates
		}
		if bytes.Contains(text, []byte("<<")) {
			value, err = decodeYAML(text, false)
		}
	}
	if err != nil {
		return nil, errors.New("not YAML: " + shiftLines(err.Error(), line-1))
	}
	if value == nil {
		return nil, nil
	}
	w := jsonWriter{out: make([]byte, 0, len(text))}
	if err := w.value(value, ""); err != nil {
		return nil, err
	}
	return w.out, nil
}

// decodeYAML decodes the one document of text.
func decodeYAML(text []byte, strict bool) (value any, err error) {
	// The parser stands for itself; should it panic over something that nobody
	// thought of, that is an error of this document.
	defer func() {
		if r := recover(); r != nil {
			value, err = nil, fmt.Errorf("cannot be parsed: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.SetStrict(strict)
	var more any
	if err := decoder.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("a document marker stands after a line break that is none in a text file; end lines with a line feed")
	}
	return value, nil
}

// isDuplicateError reports whether err speaks of names that stand twice, and of
// nothing else.
func isDuplicateError(err error) bool {
	var typeError *yaml.TypeError
	if !errors.As(err, &typeError) {
		return false
	}
	for _, e := range typeError.Errors {
		if !strings.Contains(e, "already set in map") {
			return false
		}
	}
	return len(typeError.Errors) > 0
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// shiftLines moves the line numbers in a message of the parser.
func shiftLines(message string, by int) string {
	message = strings.TrimPrefix(message, "yaml: ")
	message = strings.Join(strings.Fields(message), " ")
	return lineNumber.ReplaceAllStringFunc(message, func(s string) string {
		n, err := strconv.Atoi(s[len("line "):])
		if err != nil {
			return s
		}
		return "line " + strconv.Itoa(n+by)
	})
}

// jsonWriter writes decoded YAML as JSON, with a bound on the size: an alias
// costs the parser nothing and can stand for a megabyte.
type jsonWriter struct{ out []byte }

func (w *jsonWriter) value(v any, path string) error {
	if len(w.out) > maxExpanded {
		return fmt.Errorf("comes to more than %d MiB once its aliases are written out; use fewer aliases", maxExpanded>>20)
	}
	switch v := v.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case int:
		w.out = strconv.AppendInt(w.out, int64(v), 10)
	case int64:
		w.out = strconv.AppendInt(w.out, v, 10)
	case uint64:
		w.out = strconv.AppendUint(w.out, v, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errorAt(path, "holds the number %v, which JSON does not have", v)
		}
		number, err := json.Marshal(v)
		if err != nil {
			return errorAt(path, "holds a number that JSON does not have: %v", err)
		}
		w.out = append(w.out, number...)
	case string:
		w.string(v)
	case []any:
		return w.list(v, path)
	case map[any]any:
		return w.object(v, path)
	default:
		return errorAt(path, "holds a value that JSON does not have (%T)", v)
	}
	return nil
}

// string writes a string. What is not UTF-8, which only !!binary can bring in,
// is replaced as the Kubernetes clients replace it.
func (w *jsonWriter) string(s string) {
	w.out, _ = jsontext.AppendQuote(w.out, strings.ToValidUTF8(s, "\uFFFD"))
}

func (w *jsonWriter) list(items []any, path string) error {
	w.out = append(w.out, '[')
	for i, item := range items {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(item, apijson.Element(path, i)); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

// object writes a map. Keys that are numbers or booleans become strings, as in
// every Kubernetes client, and so may meet: {1: a, "1": b}.
func (w *jsonWriter) object(object map[any]any, path string) error {
	values := make(map[string]any, len(object))
	for key, value := range object {
		name, err := keyName(key)
		if err != nil {
			return errorAt(path, "%v", err)
		}
		if _, ok := values[name]; ok {
			return errorAt(apijson.Child(path, name), "stands more than once in the same object, as a string and as a number or boolean; keep one")
		}
		values[name] = value
	}
	w.out = append(w.out, '{')
	for i, name := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.string(name)
		w.out = append(w.out, ':')
		if err := w.value(values[name], apijson.Child(path, name)); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

func keyName(key any) (string, error) {
	switch key := key.(type) {
	case string:
		return strings.ToValidUTF8(key, "\uFFFD"), nil
	case int:
		return strconv.Itoa(key), nil
	case int64:
		return strconv.FormatInt(key, 10), nil
	case uint64:
		return strconv.FormatUint(key, 10), nil
	case bool:
		return strconv.FormatBool(key), nil
	case float64:
		return strconv.FormatFloat(key, 'g', -1, 32), nil
	default:
		return "", fmt.Errorf("a map has a key that is not a name (%v); put names in quotes", key)
	}
}
