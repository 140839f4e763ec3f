package check

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/observe/garbage"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Options are the flags of check.
type Options struct {
	policies   []string
	user       judge.User
	output     judge.Output
	exceptions option.Exceptions
	modules    option.Modules
	Operation  string
	old        string
	Namespace  string
	cluster    string
	strict     bool
	expire     string
	suggest    bool
	complete   judge.Completion
}

// Command makes the command check.
func Command(s command.Streams) *cobra.Command {
	var f Options
	cmd := &cobra.Command{
		Use:   "check -p POLICIES PATH...",
		Short: "Judge manifests at the front door, as CI does",
		Long: `Check judges every object in the files, directories and standard input (-) that
are named, as admission would. Built-in kinds are judged as the API server would
hand them on: null counts as absent, and its defaults are filled in. What its
admission plugins add is not, such as tolerations; --server has it done by the API
server itself, in a dry run.

Policies among the objects are held to the same strictness as when they are
loaded. A Namespace among the objects counts for the others, unless -p holds one
of the same name.`,
		Example: `  sallyport check -p policies/ manifests/
  kustomize build . | sallyport check -p policies/ -
  sallyport check -p policies/ --operation UPDATE --old before.yaml after.yaml`,
		Args: command.AtLeast("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	command.AddPolicies(cmd, &f.policies)
	f.user.Add(cmd, "rules about who asks do not apply")
	f.output.Add(cmd)
	f.exceptions.Add(cmd)
	f.modules.Add(cmd)
	f.complete.Add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.Operation, "operation", string(request.Create), "CREATE, UPDATE or DELETE")
	flags.StringVar(&f.old, "old", "", "the objects as they were before an UPDATE: a file or a directory")
	flags.StringVarP(&f.Namespace, "namespace", "n", "default", "namespace of objects that name none")
	flags.BoolVar(&f.strict, "strict", false, "refuse policies, exceptions and webhook configurations that may do less than they look, such as an exception to a rule that is not there, or a webhook's rule that no request meets")
	flags.StringVar(&f.expire, "would-expire", "", "warn of what is excused now and no more after this time, such as 30d")
	flags.BoolVar(&f.suggest, "suggest-exception", false, "print, for each rule that refuses something, the PolicyExceptionRequest that would ask for an exception")
	flags.StringVar(&f.cluster, judge.ClusterFlag[2:], "", "name of the cluster that the objects are for")
	return cmd
}

func (f *Options) run(cmd *cobra.Command, s command.Streams, paths []string) error {
	write, err := f.output.Writer(s)
	if err != nil {
		return err
	}
	user, err := f.user.User()
	if err != nil {
		return err
	}
	if err := f.checkOperation(); err != nil {
		return err
	}
	if slices.Contains(f.policies, "-") && slices.Contains(paths, "-") {
		return usage.Errorf("standard input is named both for policies and for what is judged; it can be read once")
	}
	completed, err := f.complete.Completer(s.Err)
	if err != nil {
		return err
	}
	policies, err := judge.Load(f.policies, s, f.exceptions.Options(s.Now()))
	if err != nil {
		return err
	}
	if policies.Images, err = f.modules.Registries(); err != nil {
		return err
	}
	host := policies.Host(s)
	letGo, err := policies.RunModules(cmd.Context(), s, &f.modules, host)
	if err != nil {
		return err
	}
	defer letGo()
	if err := policies.Warn(s.Err, f.strict); err != nil {
		return err
	}
	later, err := f.later(s.Now())
	if err != nil {
		return err
	}
	policies.PrintUncovered(s.Err, f.cluster)
	stdin, err := rewindable(paths, s.In)
	if err != nil {
		return err
	}
	c := &Checker{
		Flags: f, user: user, Policies: policies, Now: s.Now(), host: host, Completed: completed,
		Collector: judge.Collector{Later: later, Suggest: f.suggest},
		Cluster:   &ManifestNamespaces{Files: policies.Cluster, paths: paths, stdin: stdin, namespace: f.Namespace},
	}
	completed.Pods = policies.Set.Pods()
	if completed.Table != nil {
		c.looksAtAdded = pluginFields(policies.Sources)
	}
	defer garbage.Pace(time.Now)()
	if c.old, err = loadOld(cmd.Context(), f.old, f.Namespace, completed); err != nil {
		return err
	}
	for document, problems := range load.Manifests(paths, stdin()) {
		for i := range problems {
			c.fail(s.Err, &problems[i], decision.Resource{Kind: problems[i].Kind, Namespace: problems[i].Namespace, Name: problems[i].Name})
		}
		if document != nil {
			c.Document(cmd.Context(), s.Err, document)
		}
	}
	if c.Resources == 0 && !c.Problems {
		return fmt.Errorf("there is nothing to check in %s", load.Joined(paths))
	}
	if f.output.Verbose {
		policies.PrintIgnored(s.Err)
	}
	return write(c.Judgement(""))
}

// later is the time of --would-expire; zero where it is not given.
func (f *Options) later(now time.Time) (time.Time, error) {
	if f.expire == "" {
		return time.Time{}, nil
	}
	after, err := exception.ParseDuration(f.expire)
	if err != nil {
		return time.Time{}, usage.Errorf("--would-expire: %v", err)
	}
	return now.Add(after), nil
}

func (f *Options) checkOperation() error {
	switch request.Operation(f.Operation) {
	case request.Create, request.Delete:
		if f.old != "" {
			return usage.Errorf("--old belongs to --operation UPDATE, and the operation is %s", f.Operation)
		}
	case request.Update:
		if f.old == "" {
			return usage.Errorf("--operation UPDATE needs --old, the objects as they were before")
		}
	default:
		return usage.Errorf("--operation is %q; CREATE, UPDATE or DELETE is expected", f.Operation)
	}
	return nil
}

// fail tells of input that cannot be read, at once and in the judgement.
func (c *Checker) fail(stderr io.Writer, p *stored.Problem, resource decision.Resource) {
	fmt.Fprintln(stderr, decision.Clean(p.Error()))
	c.Problem(p, resource)
}

// rewindable returns a function that gives standard input from its start each
// time, if one of the paths is standard input.
func rewindable(paths []string, in io.Reader) (func() io.Reader, error) {
	if !slices.Contains(paths, "-") || in == nil {
		return func() io.Reader { return in }, nil
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("standard input cannot be read: %w", err)
	}
	return func() io.Reader { return bytes.NewReader(data) }, nil
}
