package exception_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/exception"
)

const askedInTests = `
apiVersion: sallyport.io/v1alpha1
kind: PolicyExceptionRequest
metadata: {name: tag, namespace: dev}
spec:
  exceptions: [{policyName: disallow-latest-tag, ruleNames: [validate-image-tag]}]
  reason: the registry moves
  exclude: {any: [{resources: {kinds: [Deployment], names: [test]}}]}
  duration: 30d
`

func askedObject(state v1alpha1.RequestState) *v1alpha1.PolicyExceptionRequest {
	q := &v1alpha1.PolicyExceptionRequest{}
	q.Namespace, q.Name, q.UID, q.Generation = "dev", "tag", "u1", 2
	q.Spec.Exceptions = []v1alpha1.RequestedException{{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: "disallow-latest-tag", RuleNames: []string{"validate-image-tag"}}}}
	q.Spec.Reason, q.Spec.Requesters = "the registry moves", []string{"alice"}
	q.Spec.Exclude = &v1alpha1.Match{Any: []v1alpha1.ResourceFilter{{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Deployment"}}}}}
	q.Status.State, q.Status.ObservedGeneration = state, 2
	return q
}

func TestRequestException(t *testing.T) {
	file := filepath.Join(t.TempDir(), "request.yaml")
	if err := os.WriteFile(file, []byte(askedInTests), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--policy", "p", "--kind", "Pod", "--resource", "x", "--reason", "why", "--duration", "1d"}
	cases := map[string]struct {
		stdin  string
		args   []string
		status int
		says   string
		made   string
	}{
		"from a file":            {"", []string{"-f", file}, 0, "PolicyExceptionRequest dev/tag is there", "dev/tag"},
		"from standard input":    {askedInTests, []string{"-f", "-"}, 0, "sallyport approve dev/tag", "dev/tag"},
		"under another name":     {askedInTests, []string{"other", "-f", "-", "-n", "prod"}, 0, "prod/other", "prod/other"},
		"from flags":             {"", append([]string{"mine", "-n", "dev"}, flags...), 0, "dev/mine", "dev/mine"},
		"only printed":           {"", append([]string{"mine", "--dry-run"}, flags...), 0, "kind: PolicyExceptionRequest", ""},
		"nothing":                {"", nil, 2, "give -f FILE, or --policy and --kind", ""},
		"no reason":              {"", []string{"--policy", "p", "--kind", "Pod"}, 2, "--reason is missing", ""},
		"a suggestion as it is":  {strings.Replace(askedInTests, "the registry moves", "say why", 1), []string{"-f", "-"}, 2, "says not why", ""},
		"a suggestion, reasoned": {strings.Replace(askedInTests, "the registry moves", "say why", 1), []string{"-f", "-", "--reason", "it moves"}, 0, "dev/tag is there", "dev/tag"},
		"a time without waiting": {askedInTests, []string{"-f", "-", "--timeout", "1m"}, 2, "give --wait", ""},
		"waiting for too long":   {askedInTests, []string{"-f", "-", "--wait", "--timeout", "1ms"}, 2, "no answer after 1ms; the request still stands", "dev/tag"},
		"a malformed duration":   {"", []string{"--policy", "p", "--kind", "Pod", "--reason", "x", "--duration", "soon"}, 2, "--duration", ""},
		"a malformed time":       {"", []string{"--policy", "p", "--kind", "Pod", "--reason", "x", "--expires-at", "soon"}, 2, "--expires-at", ""},
		"both ways":              {askedInTests, []string{"-f", "-", "--policy", "p"}, 2, "-f has it all", ""},
		"another kind":           {strings.Replace(askedInTests, "PolicyExceptionRequest", "PolicyException", 1), []string{"-f", "-"}, 2, "holds a PolicyException", ""},
		"an unknown field":       {askedInTests + "  until: tomorrow\n", []string{"-f", "-"}, 2, "until", ""},
		"one argument too many":  {askedInTests, []string{"a", "b", "-f", "-"}, 2, "one argument too many", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, out, errs, cluster := clitest.People(t, c.stdin, nil, append([]string{"request", "exception"}, c.args...)...)
			if status != c.status || !strings.Contains(out+errs, c.says) {
				t.Fatalf("status %d: %s%s", status, out, errs)
			}
			var list v1alpha1.PolicyExceptionRequestList
			if err := cluster.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			made := ""
			for _, q := range list.Items {
				made += q.Namespace + "/" + q.Name
			}
			if made != c.made {
				t.Errorf("made %q, want %q", made, c.made)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	cases := map[string]struct {
		args   []string
		status int
		says   string
		made   v1alpha1.ResponseStatus
	}{
		"approved":           {[]string{"approve", "dev/tag", "--yes", "--reason", "fine"}, 0, "asked for by alice", v1alpha1.ResponseApproved},
		"approved, in full":  {[]string{"approve", "exception", "dev/tag", "-y"}, 0, "policyName: disallow-latest-tag", v1alpha1.ResponseApproved},
		"by namespace":       {[]string{"approve", "tag", "-n", "dev", "-y"}, 0, "Approved", v1alpha1.ResponseApproved},
		"denied":             {[]string{"deny", "dev/tag", "--yes", "--reason", "no"}, 0, "Denied", v1alpha1.ResponseDenied},
		"denied, no reason":  {[]string{"deny", "dev/tag", "--yes"}, 2, "--reason is missing", ""},
		"nobody to ask":      {[]string{"approve", "dev/tag"}, 2, "there is no terminal", ""},
		"not there":          {[]string{"approve", "dev/other", "-y"}, 2, "not found", ""},
		"no name":            {[]string{"approve"}, 2, "[NAMESPACE/]NAME", ""},
		"a name of three":    {[]string{"approve", "a/b/c", "-y"}, 2, "is not [NAMESPACE/]NAME", ""},
		"two names":          {[]string{"approve", "dev/tag", "dev/other", "-y"}, 2, "[NAMESPACE/]NAME", ""},
		"an unknown command": {[]string{"aprove", "dev/tag"}, 2, "did you mean approve", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, out, errs, cluster := clitest.People(t, "", []client.Object{askedObject("")}, c.args...)
			if status != c.status || !strings.Contains(out+errs, c.says) {
				t.Fatalf("status %d: %s%s", status, out, errs)
			}
			var list v1alpha1.PolicyExceptionResponseList
			if err := cluster.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			if c.made == "" {
				if len(list.Items) > 0 {
					t.Errorf("made %+v", list.Items)
				}
				return
			}
			if len(list.Items) != 1 {
				t.Fatalf("%d answers", len(list.Items))
			}
			if a := list.Items[0].Spec; a.Status != c.made || a.RequestUID != "u1" || a.RequestGeneration != 2 || a.Namespace != "dev" || a.Name != "tag" {
				t.Errorf("answer %+v", a)
			}
		})
	}
}

// TestWaitForAnswer ends at once for what is answered already, in each way.
func TestWaitForAnswer(t *testing.T) {
	for state, want := range map[v1alpha1.RequestState]struct {
		done   bool
		status error
	}{
		v1alpha1.RequestApproved: {true, nil}, v1alpha1.RequestDenied: {true, command.Exit(command.Denied)}, v1alpha1.RequestPending: {false, nil}, "": {false, nil},
	} {
		var out bytes.Buffer
		done, err := exception.Answered(command.Streams{Out: &out}, askedObject(state))
		if done != want.done || err != want.status {
			t.Errorf("%s: %v, %v", state, done, err)
		}
	}
	stale := askedObject(v1alpha1.RequestDenied)
	stale.Generation = 3
	if done, _ := exception.Answered(command.Streams{}, stale); done {
		t.Error("an answer to an earlier version ends the waiting")
	}
}

// TestShowReach tells who approves how far an approval would reach.
func TestShowReach(t *testing.T) {
	q := askedObject("")
	q.Status.Reach = "every namespace"
	if _, out, _, _ := clitest.People(t, "", []client.Object{q}, "approve", "dev/tag", "--yes"); !strings.Contains(out, "It reaches: every namespace.") {
		t.Errorf("shown:\n%s", out)
	}
	q.Generation = 3
	if _, out, _, _ := clitest.People(t, "", []client.Object{q}, "approve", "dev/tag", "--yes"); strings.Contains(out, "It reaches") {
		t.Errorf("shown of another version:\n%s", out)
	}
}

// TestListedAsTold goes by the status where the server trusts a namespace, which
// is not known here.
func TestListedAsTold(t *testing.T) {
	e := &v1alpha1.PolicyException{}
	e.Namespace, e.Name, e.Generation = "dev", "wide", 2
	e.Spec.Exceptions = []v1alpha1.ExceptedRules{{PolicyName: "p"}}
	e.Spec.Match.Any = []v1alpha1.ResourceFilter{{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Pod"}, Namespaces: []string{"prod"}}}}
	for name, c := range map[string]struct {
		state      v1alpha1.ExceptionState
		generation int64
		until      string
		want       string
	}{
		"in force":               {v1alpha1.ExceptionActive, 2, "2026-12-01T00:00:00Z", "Active"},
		"over since":             {v1alpha1.ExceptionActive, 2, "2026-11-28T12:00:00Z", "Expired"},
		"refused by it":          {v1alpha1.ExceptionNoEffect, 2, "", "NoEffect"},
		"nothing said":           {"", 0, "", "NoEffect"},
		"said of another":        {v1alpha1.ExceptionActive, 1, "", "NoEffect"},
		"in force without limit": {v1alpha1.ExceptionActive, 2, "", "Active"},
	} {
		t.Run(name, func(t *testing.T) {
			e := e.DeepCopy()
			e.Status.State, e.Status.ObservedGeneration = c.state, c.generation
			if c.until != "" {
				until, err := time.Parse(time.RFC3339, c.until)
				if err != nil {
					t.Fatal(err)
				}
				e.Status.ExpiresAt = &metav1.Time{Time: until}
			}
			if _, out, errs, _ := clitest.People(t, "", []client.Object{e}, "exceptions", "-n", "dev"); !strings.Contains(out, "dev/wide  "+c.want+" ") {
				t.Errorf("listed:\n%s%s", out, errs)
			}
		})
	}
}

func TestExceptionsList(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(askedInTests+`
---
apiVersion: sallyport.io/v1alpha1
kind: PolicyExceptionResponse
metadata: {name: a}
spec: {name: tag, namespace: dev, status: Approved, reason: fine, approver: dave, approvalTime: "2026-11-01T00:00:00Z"}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicyException
metadata: {name: over}
spec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, expiresAt: "2026-11-28T12:00:00Z"}
---
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: later, namespace: dev}
spec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, notBefore: "2027-01-01T00:00:00Z"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs, _ := clitest.People(t, "", nil, "exceptions", "-p", dir)
	for _, line := range []string{"ClusterPolicyException  over", "Expired", "dev/later", "NotYetValid", "dev/tag", "Active", "2026-12-01T00:00:00Z", "dave", "the registry moves"} {
		if status != 0 || !strings.Contains(out, line) {
			t.Errorf("status %d, without %q:\n%s%s", status, line, out, errs)
		}
	}
	if _, out, _, _ := clitest.People(t, "", nil, "exceptions", "-p", dir, "--expiring", "7d", "-o", "json"); !strings.Contains(out, `"name": "tag"`) || strings.Contains(out, `"over"`) || strings.Contains(out, `"later"`) {
		t.Errorf("expiring:\n%s", out)
	}
	if _, out, _, _ := clitest.People(t, "", []client.Object{askedObject("")}, "exceptions", "-n", "dev"); !strings.Contains(out, "Pending") || !strings.Contains(out, "alice") {
		t.Errorf("of a cluster:\n%s", out)
	}
	if _, out, _, _ := clitest.People(t, "", []client.Object{askedObject("")}, "exceptions"); !strings.Contains(out, "there are no exceptions") {
		t.Errorf("of another namespace:\n%s", out)
	}
}
