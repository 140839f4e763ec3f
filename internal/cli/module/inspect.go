package module

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

func newPolicyInspect(s command.Streams) *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "inspect MODULE", Short: "Say what a module is, what it judges and what it asks to read",
		Long: `Inspect says of a module which protocol it speaks, which requests it is for,
whether it changes them, and what of the cluster it asks to read: what whoever
deploys it would have to grant. A module that cannot be a policy is told of, and
why, with the exit status 2.`,
		Example: "  sallyport policy inspect registry://ghcr.io/org/policy:v1",
		Args:    oneModule,
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" && format != "yaml" {
				return usage.Errorf("there is no output format %q; there are text, json and yaml", format)
			}
			read, err := readModule(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return inspect(cmd.Context(), s, args[0], read.Wasm, read.Digest, format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", format, "text, json, or yaml: only the metadata")
	return cmd
}

// inspected is what is said of a module.
type inspected struct {
	Module   string `json:"module"`
	Digest   string `json:"digest"`
	Bytes    int    `json:"bytes"`
	Protocol string `json:"protocol,omitempty"`
	// Entrypoints and Builtins are of a module that was compiled from Rego: the
	// rules that it answers for, of which the first is judged by, and the functions
	// that it asks its host for.
	Entrypoints []string `json:"entrypoints,omitempty"`
	Builtins    []string `json:"builtins,omitempty"`
	// ExecutionMode is how the metadata says that the module is run.
	ExecutionMode string          `json:"executionMode,omitempty"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
	// Context is what the module asks to read.
	Context []string `json:"contextAware"`
	// Calls are the calls beside reads that the module says it makes.
	Calls []string `json:"hostCapabilities,omitempty"`
	// Unread are fields of the metadata that mean nothing here.
	Unread   []string `json:"unknownFields,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

func inspect(ctx context.Context, s command.Streams, name string, raw []byte, digest, format string) error {
	said := inspected{Module: name, Digest: digest, Bytes: len(raw), Context: []string{}}
	kind, err := wasm.Detect(raw)
	if err != nil {
		said.Problems = append(said.Problems, err.Error())
	} else {
		said.Protocol = kind.String()
	}
	if kind == wasm.KindRego {
		if err := said.rego(ctx, raw); err != nil {
			said.Problems = append(said.Problems, err.Error())
		}
	}
	m, err := module.Read(raw)
	switch {
	case err != nil:
		said.Problems = append(said.Problems, err.Error())
	case m != nil:
		if err := m.Check(); err != nil {
			said.Problems = append(said.Problems, err.Error())
		} else if err := fits(kind, m.ExecutionMode); err != nil && kind != wasm.KindUnknown {
			said.Problems = append(said.Problems, err.Error())
		}
		said.ExecutionMode = m.ExecutionMode
		if said.Metadata, err = m.JSON(); err != nil {
			return fmt.Errorf("the metadata cannot be written down: %w", err)
		}
		said.Unread, said.Calls = m.Unread(), m.HostCapabilities
		for _, g := range m.Declared() {
			said.Context = append(said.Context, declared(g.Group, g.Version, g.Resource, g.Kind))
		}
	}
	if format == "yaml" {
		err = said.yaml(s)
	} else if format == "json" {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(said)
	} else {
		err = said.text(s, m)
	}
	if err != nil {
		return fmt.Errorf("the output cannot be written: %w", err)
	}
	if len(said.Problems) > 0 {
		return command.Exit(command.Wrong)
	}
	return nil
}

// yaml writes the metadata, as the tools of the ecosystem do. Problems are said on
// standard error.
func (i *inspected) yaml(s command.Streams) error {
	for _, problem := range i.Problems {
		fmt.Fprintln(s.Err, decision.Clean(problem))
	}
	if i.Metadata == nil {
		fmt.Fprintf(s.Err, "%s has no metadata\n", i.Module)
		return nil
	}
	text, err := yaml.JSONToYAML(i.Metadata)
	if err == nil {
		_, err = s.Out.Write(text)
	}
	return err
}

// rego asks a module that was compiled from Rego what it is, which takes running
// it, as far as that.
func (i *inspected) rego(ctx context.Context, raw []byte) error {
	engine, err := wasm.NewEngine(ctx, wasm.Config{})
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	info, err := engine.InspectRego(ctx, raw)
	if err != nil {
		return err
	}
	i.Protocol += " " + info.ABI
	i.Entrypoints, i.Builtins = info.Entrypoints, info.Builtins
	i.Problems = append(i.Problems, info.Missing...)
	return nil
}

// declared names a resource of the metadata.
func declared(group, version, resource, kind string) string {
	if group != "" {
		version = group + "/" + version
	}
	if resource == "" {
		resource = kind
	}
	return version + " " + resource
}

func (i *inspected) text(s command.Streams, m *module.Metadata) error {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%-16s%s\n", name, decision.Clean(value)) }
	line("Module", i.Module)
	line("Digest", i.Digest)
	line("Size", fmt.Sprintf("%d bytes", i.Bytes))
	if i.Protocol != "" {
		line("Protocol", i.Protocol)
	}
	if i.ExecutionMode != "" {
		line("Runs as", i.ExecutionMode)
	}
	for _, rule := range i.Entrypoints {
		line("Answers for", rule)
	}
	if len(i.Builtins) > 0 {
		line("Calls", strings.Join(i.Builtins, ", "))
	}
	switch {
	case m == nil:
		line("Metadata", "none; 'sallyport policy annotate' writes it")
	default:
		for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
			if short := strings.TrimPrefix(key, "io.kubewarden.policy."); short != key && short != "usage" && len(m.Annotations[key]) <= 200 {
				line(strings.ToUpper(short[:1])+short[1:], m.Annotations[key])
			}
		}
		line("Mutating", fmt.Sprint(m.Mutating))
		for _, r := range m.Rules {
			line("Judges", strings.Join(r.Operations, ", ")+" of "+strings.Join(r.Resources, ", ")+" in "+strings.Join(groupsOf(r.APIGroups), ", ")+"/"+strings.Join(r.APIVersions, ", "))
		}
	}
	if len(i.Context) == 0 {
		line("Asks to read", "nothing")
	}
	for _, resource := range i.Context {
		line("Asks to read", resource)
	}
	for _, call := range i.Calls {
		line("Asks to call", call)
	}
	for _, field := range i.Unread {
		line("Not known", field+" in the metadata; it means nothing here")
	}
	for _, problem := range i.Problems {
		line("Problem", problem)
	}
	_, err := s.Out.Write([]byte(b.String()))
	return err
}

func groupsOf(groups []string) []string {
	named := make([]string, len(groups))
	for i, group := range groups {
		if named[i] = group; group == "" {
			named[i] = "core"
		}
	}
	return named
}
