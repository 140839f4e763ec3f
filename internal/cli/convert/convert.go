package convert

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/convert"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// convertFlags are the flags of convert.
type convertFlags struct {
	output    string
	keepGoing bool
	verbose   bool
}

// Command makes the command convert.
func Command(s command.Streams) *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert PATH... [-o FILE]",
		Short: "Write policies and exceptions of other systems as ours",
		Long: `Convert reads policies and exceptions as check and serve do, and writes them as
objects of sallyport.io/v1alpha1: one YAML document each, in the order in which
they were read, without comments. What is ours already is written as it is, and
objects that are not policies are left out.

If something cannot be read as ours, or could not do what it says, nothing is
written: all that stands in the way is told of, and the exit status is 2. With
--keep-going the rest is written, and the exit status is 2 all the same.`,
		Example: `  sallyport convert kyverno/ -o policies.yaml
  kubectl get clusterpolicies.kyverno.io -o yaml | sallyport convert -`,
		Args: command.AtLeast("PATH"),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "-", "the file to write, which is replaced if it is there; - is standard output")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "write what can be converted, even if something cannot be")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "say which fields were left out, and why")
	return cmd
}

func (f *convertFlags) run(s command.Streams, paths []string) error {
	c := conversion{options: exception.Options{Began: s.Now()}}
	for document, problems := range load.Manifests(paths, s.In) {
		c.problems = append(c.problems, problems...)
		if document != nil {
			c.document(document)
		}
	}
	c.tryOut()
	if len(c.problems) > 0 && !f.keepGoing {
		return fmt.Errorf("%w\nNothing was written; --keep-going writes what can be converted", c.problems)
	}
	c.print(s.Err, f.verbose)
	switch {
	case len(c.converted) > 0:
	case len(c.problems) > 0:
		return command.Exit(command.Wrong)
	default:
		return fmt.Errorf("no policy was found in %s; there is nothing to convert", load.Joined(paths))
	}
	if err := f.write(s, c.converted); err != nil {
		return err
	}
	if len(c.problems) > 0 {
		return command.Exit(command.Wrong)
	}
	return nil
}

// write writes all objects at once, so that a file is not left half written by
// one that cannot be.
func (f *convertFlags) write(s command.Streams, all []converted) error {
	var text bytes.Buffer
	for i := range all {
		if i > 0 {
			text.WriteString("---\n")
		}
		document, err := convert.YAML(all[i].object)
		if err != nil {
			return fmt.Errorf("%s: %w", all[i].document.Origin(), err)
		}
		text.WriteString(document)
	}
	if f.output == "-" {
		_, err := s.Out.Write(text.Bytes())
		return err
	}
	if err := os.WriteFile(f.output, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.output, err)
	}
	return nil
}

// converted is an object with the document that it was read from.
type converted struct {
	document *load.Document
	object   *convert.Object
}

// conversion is what all paths together come to.
type conversion struct {
	options   exception.Options
	converted []converted
	problems  stored.Problems
	warnings  stored.Problems
	ignored   []load.Ignored
}

func (c *conversion) document(d *load.Document) {
	object, problems := d.AsOurs()
	switch {
	case len(problems) > 0:
		c.problems = append(c.problems, problems...)
	case object != nil:
		c.converted = append(c.converted, converted{d, object})
	default:
		c.ignored = append(c.ignored, load.Ignored{Origin: d.Origin(), Object: d.GVK.Kind + " " + d.Name, Reason: "is not a policy, and is not written"})
	}
}

// tryOut compiles what was converted, and takes out what could not do what it
// says. Which namespaces may hold exceptions for others is not for a file to say;
// what hangs on that is warned about.
func (c *conversion) tryOut() {
	trusting := c.options
	trusting.TrustedNamespaces = []string{"*"}
	_, problems := policy.Compile(c.sources(), pod.Default(), trusting)
	problems = slices.DeleteFunc(problems, c.isLater)
	c.problems = append(c.problems, problems...)
	c.without(problems)

	sources := c.sources()
	_, untrusted := policy.Compile(sources, pod.Default(), c.options)
	for _, p := range untrusted {
		if !c.isLater(p) {
			p.Detail += "; or name its namespace in --trusted-exception-namespaces of check and serve"
		}
		c.warnings = append(c.warnings, p)
	}
	set, _ := policy.Compile(sources, pod.Default(), trusting)
	c.warnings = append(c.warnings, set.Warnings()...)
}

// isLater reports whether a problem is that of a response whose request may
// stand elsewhere.
func (c *conversion) isLater(p stored.Problem) bool {
	return p.Kind == exception.KindResponse && p.Path == "spec.name"
}

// sources decodes what was converted, and takes out what cannot be decoded.
func (c *conversion) sources() policy.Sources {
	var sources policy.Sources
	var wrong stored.Problems
	for _, one := range c.converted {
		wrong = append(wrong, sources.Add(one.object.GVK, one.object.Raw, one.document.Origin())...)
	}
	c.problems = append(c.problems, wrong...)
	c.without(wrong)
	return sources
}

// without takes out the objects that the problems are about.
func (c *conversion) without(problems stored.Problems) {
	c.converted = slices.DeleteFunc(c.converted, func(one converted) bool {
		return slices.ContainsFunc(problems, func(p stored.Problem) bool { return p.Origin == one.document.Origin() })
	})
}

// print says what is wrong, what may do less than it looks, and what was left out.
func (c *conversion) print(out io.Writer, verbose bool) {
	for i := range c.problems {
		fmt.Fprintln(out, decision.Clean(c.problems[i].Error()))
	}
	for i := range c.warnings {
		fmt.Fprintln(out, "warning: "+decision.Clean(c.warnings[i].Error()))
	}
	for i := range c.ignored {
		fmt.Fprintln(out, decision.Clean(c.ignored[i].String()))
	}
	for i := range c.converted {
		one := &c.converted[i]
		for _, dropped := range one.object.Dropped {
			p := stored.Problem{
				Origin: one.document.Origin(), Kind: one.document.GVK.Kind, Namespace: one.document.Namespace, Name: one.document.Name,
				Path: dropped.Path, Detail: "was left out: " + dropped.Why,
			}
			switch {
			case dropped.Differs:
				p.Detail = dropped.Why
				fmt.Fprintln(out, "warning: "+decision.Clean(p.Error()))
			case verbose:
				fmt.Fprintln(out, decision.Clean(p.Error()))
			}
		}
	}
}
