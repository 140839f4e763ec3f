package exception

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// exceptionsFlags are the flags of exceptions.
type exceptionsFlags struct {
	command.AsUser
	policies []string
	all      bool
	expiring string
	output   string
	trusted  option.Exceptions
	// byStatus is set where not all could be read that decides, so that what the
	// status says counts.
	byStatus bool
}

// List makes the command exceptions.
func List(s command.Streams) *cobra.Command {
	f := &exceptionsFlags{}
	cmd := &cobra.Command{
		Use: "exceptions", Short: "List who is excused from what, why, and until when", Args: command.None,
		Long: `Exceptions lists exceptions and requests for them, with what they excuse, who
asked, who approved, why, and until when: those of a cluster, or with -p those of
files.`,
		Example: `  sallyport exceptions -A
  sallyport exceptions -p policies/ --expiring 30d`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.AsUser.Add(cmd)
	f.trusted.Add(cmd)
	flags := cmd.Flags()
	command.AddPolicies(cmd, &f.policies)
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "of every namespace")
	flags.StringVar(&f.expiring, "expiring", "", "only what ends within this time, such as 7d")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

// listed is one line of the list.
type listed struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     string `json:"state"`
	// Why it has no effect, where it has none.
	Why      string   `json:"why,omitempty"`
	Policies []string `json:"policies"`
	// Excuses are the same in parts, with the kinds that were approved, where that
	// was only for some.
	Excuses []excused `json:"excuses"`
	// Approved is what the status of an exception says: whether somebody approved it
	// who may, or the right to write it was enough.
	Approved  *bool  `json:"approved,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Requester string `json:"requester,omitempty"`
	Approver  string `json:"approver,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
	LastUsed  string `json:"lastUsedAt,omitempty"`
	Uses      int64  `json:"uses,omitempty"`
	until     time.Time
	told      told
	// kinds that were approved, for each entry.
	kinds [][]string
}

// excused is an entry of the list.
type excused struct {
	Policy string   `json:"policyName"`
	Kinds  []string `json:"policyKinds,omitempty"`
	Rules  []string `json:"ruleNames,omitempty"`
}

// told is what the status of an object says of it.
type told struct {
	state      string
	approver   string
	until      *metav1.Time
	generation int64
}

func (f *exceptionsFlags) run(ctx context.Context, s command.Streams) error {
	if f.output != "text" && f.output != "json" {
		return usage.Errorf("there is no output format %q; there are text and json", f.output)
	}
	now := s.Now()
	var within time.Duration
	if f.expiring != "" {
		var err error
		if within, err = exception.ParseDuration(f.expiring); err != nil {
			return usage.Errorf("--expiring: %v", err)
		}
	}
	sources, err := f.sources(ctx, s)
	if err != nil {
		return err
	}
	options := f.trusted.Options(time.Time{})
	if len(f.policies) > 0 {
		options.Began = now
	}
	set, _ := exception.Compile(*sources, options)
	list := listOf(sources, set, now, f.byStatus)
	if within > 0 {
		list = slices.DeleteFunc(list, func(l listed) bool { return l.until.IsZero() || !l.until.After(now) || l.until.After(now.Add(within)) })
	}
	if f.output == "json" {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"exceptions": list})
	}
	return writeList(s.Out, list)
}

// sources reads what there is, from files or from the cluster.
func (f *exceptionsFlags) sources(ctx context.Context, s command.Streams) (*exception.Sources, error) {
	if len(f.policies) > 0 {
		loaded := load.Policies(f.policies, s.In)
		if len(loaded.Problems) > 0 {
			return nil, loaded.Problems
		}
		return &loaded.Sources.Exceptions, nil
	}
	c, namespace, err := f.Open(s)
	if err != nil {
		return nil, err
	}
	in := []client.ListOption{client.InNamespace(namespace)}
	if f.all {
		in = nil
	}
	var exceptions v1alpha1.PolicyExceptionList
	var wide v1alpha1.ClusterPolicyExceptionList
	var requests v1alpha1.PolicyExceptionRequestList
	var responses v1alpha1.PolicyExceptionResponseList
	var rules v1alpha1.ExceptionPolicyList
	for _, one := range []struct {
		list    client.ObjectList
		options []client.ListOption
		// without is what is done for whoever may not list it.
		without string
	}{
		{&exceptions, in, ""}, {&requests, in, ""},
		{&wide, nil, "ClusterPolicyExceptions are left out"},
		{&responses, nil, "what became of requests is what their status says"},
		{&rules, nil, "what ExceptionPolicies allow is what the status of exceptions says"},
	} {
		err := c.List(ctx, one.list, one.options...)
		if apierrors.IsForbidden(err) && one.without != "" {
			fmt.Fprintf(s.Err, "%s: you may not list them all\n", one.without)
			f.byStatus = true
			continue
		}
		if err != nil {
			return nil, command.Plainly("exceptions cannot be listed", err)
		}
	}
	return &exception.Sources{
		Exceptions: sourced(exceptions.Items), ClusterExceptions: sourced(wide.Items), Requests: sourced(requests.Items),
		Responses: sourced(responses.Items), ExceptionPolicies: sourced(rules.Items),
	}, nil
}

func sourced[T any](items []T) []source.Of[*T] {
	list := make([]source.Of[*T], len(items))
	for i := range items {
		list[i].Object = &items[i]
	}
	return list
}

// listOf makes the list, in the order of kinds and names.
func listOf(sources *exception.Sources, set *exception.Set, now time.Time, byStatus bool) []listed {
	list := []listed{}
	add := func(kind string, meta *metav1.ObjectMeta, excepted []v1alpha1.ExceptedRules, l listed) {
		l.Kind, l.Namespace, l.Name = kind, meta.Namespace, meta.Name
		state := set.State(kind, meta.Namespace, meta.Name)
		for i := range excepted {
			one := excused{Policy: excepted[i].PolicyName, Rules: excepted[i].RuleNames}
			if kind := excepted[i].PolicyKind; kind != "" {
				one.Kinds = []string{kind}
			} else if i < len(l.kinds) {
				one.Kinds = l.kinds[i]
			}
			l.Excuses = append(l.Excuses, one)
			text := excepted[i].PolicyName
			if len(excepted[i].RuleNames) > 0 {
				text += ":" + strings.Join(excepted[i].RuleNames, ",")
			}
			l.Policies = append(l.Policies, text)
		}
		for _, p := range state.Periods {
			switch {
			case p.Holds(now):
				l.State = string(v1alpha1.ExceptionActive)
			case l.State == "" && p.Expired(now):
				l.State = string(v1alpha1.ExceptionExpired)
			case l.State == "":
				l.State = string(v1alpha1.ExceptionPending)
			}
			if p.Until.After(l.until) {
				l.until, l.ExpiresAt = p.Until, p.Until.UTC().Format(time.RFC3339)
			}
		}
		if l.State == "" {
			l.State = string(v1alpha1.ExceptionNoEffect)
			if kind == exception.KindRequest {
				l.State = string(v1alpha1.RequestPending)
			}
		}
		// What the server says of trust counts: its flags are not known here.
		told := l.told.generation == meta.Generation && l.told.state != "" &&
			(byStatus || kind != exception.KindRequest && state.Problem != nil && l.told.state != string(v1alpha1.ExceptionNoEffect))
		if told {
			l.State, l.Approver = l.told.state, cmp.Or(l.Approver, l.told.approver)
			if until := l.told.until; until != nil {
				l.until, l.ExpiresAt = until.Time, until.UTC().Format(time.RFC3339)
				if l.State != string(v1alpha1.RequestDenied) && !now.Before(until.Time) {
					l.State = string(v1alpha1.ExceptionExpired)
				}
			}
		}
		switch {
		case told:
		case state.Problem != nil:
			l.State, l.Why = string(v1alpha1.ExceptionNoEffect), state.Problem.Error()
		case len(state.Periods) == 0:
			l.Why = state.Unanswered
		}
		list = append(list, l)
	}
	toldOf := func(s *v1alpha1.PolicyExceptionStatus) told {
		return told{state: string(s.State), until: s.ExpiresAt, generation: s.ObservedGeneration}
	}
	used := func(l listed, uses int64, last *metav1.Time) listed {
		l.Uses = uses
		if last != nil {
			l.LastUsed = last.UTC().Format(time.RFC3339)
		}
		return l
	}
	given := func(kind string, meta *metav1.ObjectMeta, spec *v1alpha1.PolicyExceptionSpec, status *v1alpha1.PolicyExceptionStatus) {
		l := listed{Reason: spec.Reason, Requester: meta.Annotations[v1alpha1.AnnotationCreatedBy], told: toldOf(status)}
		l.approvedAs(meta, status)
		add(kind, meta, spec.Exceptions, used(l, status.Uses, status.LastUsedAt))
	}
	for _, e := range sources.Exceptions {
		given(exception.KindException, &e.Object.ObjectMeta, &e.Object.Spec, &e.Object.Status)
	}
	for _, e := range sources.ClusterExceptions {
		given(exception.KindClusterException, &e.Object.ObjectMeta, &e.Object.Spec, &e.Object.Status)
	}
	answers := answersOf(sources)
	for _, q := range sources.Requests {
		o := q.Object
		l := used(listed{Reason: o.Spec.Reason, Requester: strings.Join(o.Spec.Requesters, ", "), told: told{string(o.Status.State), o.Status.Approver, o.Status.ExpiresAt, o.Status.ObservedGeneration}}, o.Status.Uses, o.Status.LastUsedAt)
		if a := answers[o.Namespace+"/"+o.Name]; a != nil {
			l.Approver, l.kinds = a.Spec.Approver, kindsApproved(o, a)
			if a.Spec.Status == v1alpha1.ResponseDenied {
				l.State, l.Reason = string(v1alpha1.RequestDenied), cmp.Or(a.Spec.Reason, l.Reason)
			}
		}
		add(exception.KindRequest, &o.ObjectMeta, exception.ExceptedBy(o), l)
	}
	slices.SortStableFunc(list, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// approvedAs takes from an exception who approved it, as far as its status says that
// this counts.
func (l *listed) approvedAs(meta *metav1.ObjectMeta, status *v1alpha1.PolicyExceptionStatus) {
	condition := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionApproved)
	if condition == nil || condition.ObservedGeneration != meta.Generation {
		return
	}
	approved := condition.Status == metav1.ConditionTrue
	l.Approved = &approved
	record, err := exception.ReadApproval(meta)
	if err != nil || record == nil || !approved {
		return
	}
	l.kinds = record.Kinds
	if slices.ContainsFunc(record.Kinds, func(kinds []string) bool { return len(kinds) > 0 }) {
		l.Approver = record.By
	}
}

// kindsApproved lists the kinds of policies that an answer approves, for each entry
// of the request.
func kindsApproved(q *v1alpha1.PolicyExceptionRequest, a *v1alpha1.PolicyExceptionResponse) [][]string {
	kinds := make([][]string, len(q.Spec.Exceptions))
	for i := range q.Spec.Exceptions {
		for j := range a.Spec.Exceptions {
			x := &a.Spec.Exceptions[j]
			if x.PolicyName == q.Spec.Exceptions[i].PolicyName && x.PolicyKind != "" && !slices.Contains(kinds[i], x.PolicyKind) {
				kinds[i] = append(kinds[i], x.PolicyKind)
			}
		}
	}
	return kinds
}

// answersOf has the response to each request as it is now, a denial before an
// approval.
func answersOf(sources *exception.Sources) map[string]*v1alpha1.PolicyExceptionResponse {
	answers := map[string]*v1alpha1.PolicyExceptionResponse{}
	for _, a := range sources.Responses {
		for _, q := range sources.Requests {
			if q.Object.Name != a.Object.Spec.Name || a.Object.Spec.Namespace != "" && a.Object.Spec.Namespace != q.Object.Namespace {
				continue
			}
			if g := a.Object.Spec.RequestGeneration; g != 0 && g != q.Object.Generation {
				continue
			}
			key := q.Object.Namespace + "/" + q.Object.Name
			if answers[key] == nil || a.Object.Spec.Status == v1alpha1.ResponseDenied {
				answers[key] = a.Object
			}
		}
	}
	return answers
}

// writeList writes for people.
func writeList(out io.Writer, list []listed) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "there are no exceptions")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tNAME\tSTATE\tPOLICIES\tUNTIL\tREQUESTER\tAPPROVER\tLAST USED\tREASON")
	for i := range list {
		l := &list[i]
		name := l.Name
		if l.Namespace != "" {
			name = l.Namespace + "/" + l.Name
		}
		row := []string{l.Kind, name, l.State, strings.Join(l.Policies, " "), cmp.Or(l.ExpiresAt, "-"), cmp.Or(l.Requester, "-"), cmp.Or(l.Approver, "-"), cmp.Or(l.LastUsed, "-"), cmp.Or(l.Reason, "-")}
		if l.Approved != nil && !*l.Approved && l.Why == "" {
			row[len(row)-1] += " (no one approved it)"
		}
		if l.Why != "" {
			row[len(row)-1] += " (" + l.Why + ")"
		}
		for j := range row {
			row[j] = decision.Clean(row[j])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}
