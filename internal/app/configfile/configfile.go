// Package configfile reads the flags of a command from a file of a versioned kind, so that
// an installation can be kept, compared and reviewed as what it is: data.
package configfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/app/usage"
)

// APIVersion and Kind of the file. The group is not that of the kinds of a cluster: it is not
// an object of an API server.
const (
	APIVersion = "config.sallyport.io/v1alpha1"
	Kind       = "ServerConfiguration"
)

// Field is the name of the field that stands for a flag, as Kubernetes writes names:
// clientCAFile for client-ca-file.
func Field(flag string) string {
	parts := strings.Split(flag, "-")
	for i, part := range parts {
		switch {
		case i == 0:
		case slices.Contains([]string{"ca", "http", "url"}, part):
			parts[i] = strings.ToUpper(part)
		default:
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}

// Apply sets the flags that a file gives and the command line does not. Flags in without are
// not fields. The error is a usage error and says all that is wrong, by the paths of fields;
// nothing is set then.
func Apply(flags *pflag.FlagSet, name string, content []byte, without ...string) error {
	text, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return usage.Errorf("%s cannot be read: %v", name, err)
	}
	given := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		return usage.Errorf("%s is not an object of the kind %s: %v", name, Kind, err)
	}
	var problems field.ErrorList
	for key, want := range map[string]string{"apiVersion": APIVersion, "kind": Kind} {
		if given[key] != want {
			problems = append(problems, field.NotSupported(field.NewPath(key), fmt.Sprint(given[key]), []string{want}))
		}
		delete(given, key)
	}
	byField := map[string]*pflag.Flag{}
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(append(without, "help"), f.Name) {
			byField[Field(f.Name)] = f
		}
	})
	set := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		path := field.NewPath(key)
		flag := byField[key]
		if flag == nil {
			problems = append(problems, unknown(path, key, byField))
			continue
		}
		values, problem := read(path, flag, given[key])
		if problem != nil {
			problems = append(problems, problem)
			continue
		}
		set[flag.Name] = values
	}
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
		lines := make([]string, len(problems))
		for i, problem := range problems {
			lines[i] = name + ": " + problem.Error()
		}
		return usage.Errorf("%s", strings.Join(lines, "\n"))
	}
	for flag, values := range set {
		if flags.Changed(flag) {
			continue
		}
		if err := put(flags, flag, values); err != nil {
			return usage.Errorf("%s: %s: %v", name, Field(flag), err)
		}
	}
	return nil
}

// unknown is the error of a field that there is not, with the one that was likely meant.
func unknown(path *field.Path, key string, known map[string]*pflag.Flag) *field.Error {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if plain(name) == plain(key) {
			return field.Invalid(path, key, "there is no such field; did you mean "+name+"?")
		}
	}
	return field.Invalid(path, key, "there is no such field; those that there are are the flags, as --client-ca-file is clientCAFile")
}
