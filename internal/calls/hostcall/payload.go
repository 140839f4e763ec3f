package hostcall

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// maxEntries bounds each list and map of a payload.
const maxEntries = 4096

// members are the names of an object that are read, and how.
type members map[string]func(*apijson.Decoder) error

// object reads an object. Names that are not known are passed over, as the hosts
// of the ecosystem do, unless one looks like a known name.
func object(d *apijson.Decoder, known members) error {
	return d.Object(func(name string) error {
		if read, ok := known[name]; ok {
			return read(d)
		}
		for right := range known {
			if fold(name) == fold(right) {
				return fmt.Errorf("field %q is not known; it is spelled %q", clip(name), right)
			}
		}
		return d.Skip()
	})
}

func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// text reads a string; null is an empty one.
func text(into *string) func(*apijson.Decoder) error {
	return func(d *apijson.Decoder) error { return d.Decode(into) }
}

// flag reads a boolean; null is false.
func flag(into *bool) func(*apijson.Decoder) error {
	return func(d *apijson.Decoder) error { return d.Decode(into) }
}

// list reads a list; null is an empty one.
func list(d *apijson.Decoder, element func() error) error {
	if d.Kind() == apijson.Null {
		return d.Skip()
	}
	return d.List(func(i int) error {
		if i >= maxEntries {
			return fmt.Errorf("a list has more than %d entries", maxEntries)
		}
		return element()
	})
}

func texts(into *[]string) func(*apijson.Decoder) error {
	return func(d *apijson.Decoder) error {
		return list(d, func() error {
			var s string
			if d.Kind() != apijson.String {
				return errors.New("a list of strings holds something else")
			}
			err := d.Decode(&s)
			*into = append(*into, s)
			return err
		})
	}
}

func pairs(into *map[string]string) func(*apijson.Decoder) error {
	return func(d *apijson.Decoder) error {
		if d.Kind() == apijson.Null {
			return d.Skip()
		}
		*into = map[string]string{}
		return d.Object(func(name string) error {
			if len(*into) >= maxEntries {
				return fmt.Errorf("a map has more than %d entries", maxEntries)
			}
			var s string
			err := d.Decode(&s)
			(*into)[name] = s
			return err
		})
	}
}

// octets reads bytes that were written as a list of numbers, as the ecosystem
// writes them.
func octets(into *[]byte) func(*apijson.Decoder) error {
	return func(d *apijson.Decoder) error {
		if d.Kind() == apijson.Null {
			return d.Skip()
		}
		return d.List(func(int) error {
			var n float64
			if d.Kind() != apijson.Number {
				return errors.New("bytes are a list of numbers")
			}
			if err := d.Decode(&n); err != nil {
				return err
			}
			if n < 0 || n > math.MaxUint8 || n != math.Trunc(n) {
				return fmt.Errorf("%v is not a byte", n)
			}
			*into = append(*into, byte(n))
			return nil
		})
	}
}

// once makes sure that of two names for the same thing only one is used.
func once(seen *bool, what string, read func(*apijson.Decoder) error) func(*apijson.Decoder) error {
	return func(d *apijson.Decoder) error {
		if *seen {
			return fmt.Errorf("%s stands twice, in two spellings", what)
		}
		*seen = true
		return read(d)
	}
}
