package load

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// errorAt makes an error that knows the path of the field at fault.
func errorAt(path, format string, args ...any) error {
	return &apijson.Error{Path: path, Detail: fmt.Sprintf(format, args...)}
}

// step is one element of a field path: a name, or an index.
type step struct {
	name  string
	index int
}

// steps takes a field path apart. What stands in brackets is an index if it is a
// number, and a name if it is not.
func steps(path string) []step {
	var out []step
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			inside, rest, ok := cutBracket(path)
			if !ok {
				return append(out, step{name: path, index: -1})
			}
			if n, err := strconv.Atoi(inside); err == nil {
				out = append(out, step{name: inside, index: n})
			} else {
				out = append(out, step{name: inside, index: -1})
			}
			path = rest
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			out = append(out, step{name: path[:end], index: -1})
			path = path[end:]
		}
	}
	return out
}

// cutBracket splits "[inside]rest". Quotes around the inside are taken off.
func cutBracket(path string) (inside, rest string, ok bool) {
	if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil && strings.HasPrefix(path[1+len(quoted):], "]") {
		inside, err = strconv.Unquote(quoted)
		return inside, path[len(quoted)+2:], err == nil
	}
	end := strings.IndexByte(path, ']')
	if end < 0 {
		return "", "", false
	}
	return path[1:end], path[end+1:], true
}
