package configfile

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// read reads the value of a field as those of its flag: one, or for a list each of them.
func read(path *field.Path, flag *pflag.Flag, value any) ([]string, *field.Error) {
	if _, isList := flag.Value.(pflag.SliceValue); isList {
		list, ok := value.([]any)
		if !ok {
			return nil, field.TypeInvalid(path, value, "a list of texts is expected")
		}
		values := make([]string, len(list))
		for i, one := range list {
			if values[i], ok = one.(string); !ok {
				return nil, field.TypeInvalid(path.Index(i), one, "a text is expected")
			}
		}
		return values, nil
	}
	switch flag.Value.Type() {
	case "bool":
		if b, ok := value.(bool); ok {
			return []string{strconv.FormatBool(b)}, nil
		}
		return nil, field.TypeInvalid(path, value, "true or false is expected")
	case "int":
		if n, ok := value.(json.Number); ok {
			if _, err := strconv.Atoi(n.String()); err == nil {
				return []string{n.String()}, nil
			}
		}
		return nil, field.TypeInvalid(path, value, "a whole number is expected")
	}
	text, ok := value.(string)
	if !ok {
		expected := "a text is expected"
		if flag.Value.Type() == "duration" {
			expected = "a length of time is expected, as a text such as 30s"
		}
		return nil, field.TypeInvalid(path, value, expected)
	}
	if flag.Value.Type() == "duration" {
		if _, err := time.ParseDuration(text); err != nil {
			return nil, field.Invalid(path, text, "a length of time is expected, such as 30s or 1h30m")
		}
	}
	return []string{text}, nil
}

// put sets a flag to the values.
func put(flags *pflag.FlagSet, name string, values []string) error {
	list, isList := flags.Lookup(name).Value.(pflag.SliceValue)
	if !isList {
		return flags.Set(name, values[0])
	}
	if err := list.Replace(values); err != nil {
		return fmt.Errorf("%q cannot be taken: %w", values, err)
	}
	// What asks whether the flag was given goes by this.
	flags.Lookup(name).Changed = true
	return nil
}
