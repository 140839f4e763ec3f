// Command render prints what a Helm chart comes to, as Helm would apply it: one stream of
// YAML, in the order in which Helm installs, or uninstalls, what is in it. It is a module
// of its own, so that Sallyport does not depend on Helm.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
)

type options struct {
	chart, name, namespace string
	values                 []string
	uninstall, notes       bool
}

func main() {
	var o options
	flag.StringVar(&o.name, "name", "sallyport", "name of the release")
	flag.StringVar(&o.namespace, "namespace", "sallyport-system", "namespace of the release")
	flag.BoolVar(&o.uninstall, "uninstall", false, "in the order in which it is uninstalled")
	flag.BoolVar(&o.notes, "notes", false, "print the notes, and nothing else")
	flag.Func("values", "file of values (repeatable; the last one wins)", func(file string) error {
		o.values = append(o.values, file)
		return nil
	})
	flag.Parse()
	o.chart = flag.Arg(0)
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

// merged is one table of values with another above it, as Helm merges files of values: a
// null stays, and takes the chart's own value away.
func merged(below, above map[string]any) map[string]any {
	all := maps.Clone(below)
	for key, value := range above {
		table, is := value.(map[string]any)
		if under, both := all[key].(map[string]any); is && both {
			all[key] = merged(under, table)
			continue
		}
		all[key] = value
	}
	return all
}

// run writes what the chart comes to. Nothing is written where it is refused.
func run(w io.Writer, o options) error {
	chart, err := loader.Load(o.chart)
	if err != nil {
		return fmt.Errorf("%s: %w", o.chart, err)
	}
	given := map[string]any{}
	for _, file := range o.values {
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		given = merged(given, values)
	}
	release := chartutil.ReleaseOptions{Name: o.name, Namespace: o.namespace, Revision: 1, IsInstall: true}
	// This holds the values to the schema.
	values, err := chartutil.ToRenderValues(chart, given, release, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	notes := ""
	for name, content := range files {
		switch base := path.Base(name); {
		case base == "NOTES.txt":
			notes = content
			delete(files, name)
		case strings.HasPrefix(base, "_"):
			delete(files, name)
		}
	}
	if o.notes {
		_, err := io.WriteString(w, notes)
		return err
	}
	order := releaseutil.InstallOrder
	if o.uninstall {
		order = releaseutil.UninstallOrder
	}
	hooks, manifests, err := releaseutil.SortManifests(files, chartutil.DefaultCapabilities.APIVersions, order)
	if err != nil {
		return err
	}
	if len(hooks) > 0 {
		return fmt.Errorf("%s is a hook; hooks are not printed", hooks[0].Path)
	}
	for _, manifest := range manifests {
		if _, err := fmt.Fprintf(w, "---\n# Source: %s\n%s\n", manifest.Name, manifest.Content); err != nil {
			return err
		}
	}
	return nil
}
