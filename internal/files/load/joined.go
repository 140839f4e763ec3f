package load

import "strings"

// Joined lists paths in words.
func Joined(paths []string) string {
	named := make([]string, len(paths))
	for i, path := range paths {
		if named[i] = path; path == "-" {
			named[i] = "standard input"
		}
	}
	return strings.Join(named, ", ")
}
