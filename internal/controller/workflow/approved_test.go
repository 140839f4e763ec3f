package workflow

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// TestConditionApproved says of an exception whether someone approved it, for what, and
// how long it counts if no one did.
func TestConditionApproved(t *testing.T) {
	const (
		who   = ". Who may approve does so by writing any value into its annotation sallyport.io/approval"
		open  = "; it counts all the same, until an ExceptionPolicy says in unapprovedUntil how long" + who
		day   = `"2026-11-29T00:00:00Z"`
		later = `"2026-11-30T00:00:00Z"`
		past  = `"2026-11-28T12:00:00Z"`
	)
	rule := func(name, policies, more string) string {
		return "metadata: {name: " + name + "}\nspec: {policies: [" + policies + "], " + more + "}"
	}
	until := func(name, policies, at string) string { return rule(name, policies, "unapprovedUntil: "+at) }
	for name, c := range map[string]struct {
		entries string
		// kinds are those of the record of an approval by dave; nil for none.
		kinds [][]string
		rules []string
		// other is set for an exception that is not in force.
		other   bool
		problem error
		reason  string
		says    string
	}{
		"not in force":                  {"{policyName: p}", nil, nil, true, nil, "NoEffect", "the exception has no effect"},
		"not in force, for a reason":    {"{policyName: p}", nil, nil, true, errors.New("it is broken"), "NoEffect", "the exception has no effect: it is broken"},
		"no one":                        {"{policyName: p}", nil, nil, false, nil, "NoOneApproved", "no one approved it for ClusterPolicy p" + open},
		"no one, for what is not there": {"{policyName: x}", nil, nil, false, nil, "NoOneApproved", "no one approved it" + open},
		"until":                         {"{policyName: p}", nil, []string{until("x", "p", day)}, false, nil, "NoOneApproved", "no one approved it for ClusterPolicy p; it counts until 2026-11-29T00:00:00Z, as ExceptionPolicy x says" + who},
		"until now":                     {"{policyName: p}", nil, []string{until("x", "p", past)}, false, nil, "NoOneApproved", "no one approved it for ClusterPolicy p; it counted until 2026-11-28T12:00:00Z, as ExceptionPolicy x says" + who},
		"the first of two ends":         {"{policyName: p}, {policyName: local}", nil, []string{until("x", "p", day), until("z", "dev/local", later)}, false, nil, "NoOneApproved", "no one approved it for ClusterPolicy p, Policy dev/local; it counts until 2026-11-29T00:00:00Z, as ExceptionPolicy x says" + who},
		"the second of two ends":        {"{policyName: p}, {policyName: local}", nil, []string{until("x", "p", later), until("z", "dev/local", day)}, false, nil, "NoOneApproved", "no one approved it for ClusterPolicy p, Policy dev/local; it counts until 2026-11-29T00:00:00Z, as ExceptionPolicy z says" + who},
		"an end, and none":              {"{policyName: local}, {policyName: p}", nil, []string{until("z", "dev/local", day)}, false, nil, "NoOneApproved", "no one approved it for Policy dev/local, ClusterPolicy p; it counts until 2026-11-29T00:00:00Z, as ExceptionPolicy z says" + who},
		"by rbac":                       {"{policyName: p}", nil, []string{rule("x", "p", "policyKinds: [ClusterPolicy], writing: rbac")}, false, nil, "RightToWrite", "the right to write it is enough, as an ExceptionPolicy with writing rbac says"},
		"by rbac, with a record":        {"{policyName: p}", [][]string{{}}, []string{rule("x", "p", "policyKinds: [ClusterPolicy], writing: rbac")}, false, nil, "RightToWrite", "the right to write it is enough, as an ExceptionPolicy with writing rbac says"},
		"by a person":                   {"{policyName: p}", [][]string{{"ClusterPolicy"}}, nil, false, nil, "Approved", "approved by dave at 2026-11-28T12:00:00Z"},
		"for what is not there":         {"{policyName: x}", [][]string{{"ClusterPolicy"}}, nil, false, nil, "Approved", "approved by dave at 2026-11-28T12:00:00Z"},
		"for one of two kinds":          {"{policyName: '*'}", [][]string{{"ClusterPolicy"}}, []string{rule("x", "'*'", "allowAnyPolicy: true")}, false, nil, "Approved", "approved by dave at 2026-11-28T12:00:00Z; it does not excuse from Policy dev/local, IdentitySource id, IdentitySource validatedannotations, for which it was not approved"},
	} {
		t.Run(name, func(t *testing.T) {
			e := parse[v1alpha1.PolicyException](t, strings.Replace(exceptionText(exception.KindException, c.entries), "name: e,", "name: e, uid: ue,", 1))
			if c.kinds != nil {
				digest, err := exception.Digest(exception.KindException, e.Namespace, &e.Spec)
				if err != nil {
					t.Fatal(err)
				}
				record, err := (&exception.Approval{By: "dave", At: metav1.NewTime(noon), Spec: digest, Kinds: c.kinds}).String()
				if err != nil {
					t.Fatal(err)
				}
				e.Annotations = map[string]string{v1alpha1.AnnotationApproval: record}
			}
			sources := sourcesOfKinds(t, c.rules...)
			sources.Exceptions.Exceptions = []source.Of[*v1alpha1.PolicyException]{{Object: e}}
			set, problems := policy.Compile(sources, pod.Default(), exception.Options{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			all := &everything{set: set.Exceptions(), now: noon, passes: map[types.UID]*exception.Exception{}}
			for _, p := range set.Exceptions().Exceptions() {
				all.passes[p.UID()] = p
			}
			uid := e.UID
			if c.other {
				uid = "another"
			}
			got := all.approval(set, uid, c.problem)
			status := metav1.ConditionFalse
			if c.reason == reasonApproved || c.reason == reasonRightToWrite {
				status = metav1.ConditionTrue
			}
			if got.Status != status || got.Reason != c.reason || got.Message != c.says {
				t.Errorf("%s %s: %s\nwant %s %s: %s", got.Status, got.Reason, got.Message, status, c.reason, c.says)
			}
		})
	}
}

// TestFew names the first of many.
func TestFew(t *testing.T) {
	for want, n := range map[string]int{"": 0, "a": 1, "a, b, c, d, e": 5, "a, b, c, d, e and 2 more": 7} {
		if got := few(strings.Split("abcdefg", "")[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
