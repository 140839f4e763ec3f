// Package plugin has the command line speak of itself as it was called: as sallyport, or
// as a plugin of kubectl, which finds it by the name of its file.
package plugin

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// file is the name by which kubectl finds it, and name what its users type.
const (
	file = "kubectl-sallyport"
	name = "kubectl sallyport"
)

// Is reports whether a program was started as the plugin, by the name that it was started
// by.
func Is(arg0 string) bool {
	return strings.TrimSuffix(filepath.Base(arg0), ".exe") == file
}

// Rename has the help, examples and errors of a command line say kubectl sallyport where
// they say sallyport and one of its commands or a flag of it.
func Rename(root *cobra.Command) {
	var words []string
	for _, c := range root.Commands() {
		words = append(words, regexp.QuoteMeta(c.Name()))
	}
	called := regexp.MustCompile(`(^|[^-./\w])(?:kubectl )?` + root.Name() + `( (?:--|(?:` + strings.Join(words, "|") + `)\b))`)
	say := func(text string) string { return called.ReplaceAllString(text, "${1}"+name+"${2}") }
	if root.Annotations == nil {
		root.Annotations = map[string]string{}
	}
	root.Annotations[cobra.CommandDisplayNameAnnotation] = name
	each(root, func(c *cobra.Command) {
		c.Short, c.Long, c.Example = say(c.Short), say(c.Long), say(c.Example)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = say(f.Usage) })
	})
}

func each(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, below := range c.Commands() {
		each(below, visit)
	}
}
