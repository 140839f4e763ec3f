package decision

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

func riskResult() Result {
	score := 190
	return Result{
		Policy: "prod-strict-exec", Rule: "podSecurityRules", Kind: "DenyPolicy",
		Resource: Resource{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web"},
		Status:   Fail, Action: Enforce,
		Message: "Exec to high-risk pod blocked. Risk score: 190, factors: hostNetwork, privilegedContainer",
		Findings: []Finding{
			{Path: "spec.hostNetwork", Value: "true", Detail: "hostNetwork"},
			{Path: "spec.containers[0].securityContext.privileged", Value: "true", Detail: "privilegedContainer"},
		},
		Score: &score, Factors: []string{"hostNetwork", "privilegedContainer"}, Remedy: RemedyExemption,
	}
}

func standardResult() Result {
	return Result{
		Policy: "restricted", Rule: "pod-security", Kind: "ClusterPolicy", Status: Fail, Action: Enforce,
		Message: "violates restricted:latest",
		Findings: []Finding{
			{Path: "spec.containers[0].securityContext.allowPrivilegeEscalation", Detail: "must be false"},
			{Path: "spec.containers[0].securityContext.capabilities.add", Value: "NET_RAW", Detail: "NET_RAW is not allowed"},
		},
	}
}

func TestReason(t *testing.T) {
	unreadable := Result{
		Policy: "prod-strict-exec", Rule: "podSecurityRules", Kind: "DenyPolicy", Status: Error, Action: Enforce,
		Message: "the pod cannot be read: connection refused",
	}
	audited := standardResult()
	audited.Action = ActionAudit
	for _, tt := range []struct {
		name    string
		subject string
		results []Result
		limit   int
		want    string
	}{
		{
			name: "one rule", subject: "exec into pod shop/web", results: []Result{audited, riskResult()}, limit: 2048,
			want: "exec into pod shop/web is denied by DenyPolicy prod-strict-exec, rule podSecurityRules: Exec to high-risk pod blocked. Risk score: 190, factors: hostNetwork, privilegedContainer; " +
				"at spec.hostNetwork (true), spec.containers[0].securityContext.privileged (true). " +
				"Next: use a pod without these settings, or ask for an exception to DenyPolicy prod-strict-exec with a PolicyExceptionRequest.",
		},
		{
			name: "several rules", subject: "creating Pod shop/web", results: []Result{standardResult(), unreadable}, limit: 2048,
			want: "creating Pod shop/web is denied by 2 rules: (1) ClusterPolicy restricted, rule pod-security: violates restricted:latest; " +
				"at spec.containers[0].securityContext.allowPrivilegeEscalation (must be false), spec.containers[0].securityContext.capabilities.add (NET_RAW is not allowed); " +
				"(2) DenyPolicy prod-strict-exec, rule podSecurityRules, cannot be judged: the pod cannot be read: connection refused. " +
				"Next: change these fields, or ask for an exception to ClusterPolicy restricted with a PolicyExceptionRequest.",
		},
		{
			name: "not judged", subject: "exec into pod shop/web", results: []Result{unreadable}, limit: 2048,
			want: "exec into pod shop/web is refused, because DenyPolicy prod-strict-exec, rule podSecurityRules, cannot be judged: the pod cannot be read: connection refused. " +
				"Next: try again; if it stays so, ask those who run Sallyport, whose log holds the cause.",
		},
		{
			name: "cut in the findings", subject: "exec into pod shop/web", results: []Result{riskResult(), standardResult()}, limit: 360,
			want: "exec into pod shop/web is denied by 2 rules: (1) DenyPolicy prod-strict-exec, rule podSecurityRules: Exec to high-risk pod blocked. Risk score: 190, factors: hostNetwork, privilegedContainer " +
				"... and 4 more. " +
				"Next: use a pod without these settings, or ask for an exception to DenyPolicy prod-strict-exec with a PolicyExceptionRequest.",
		},
		{name: "nothing refused", subject: "creating Pod shop/web", results: []Result{audited}, limit: 2048, want: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Of(tt.results)
			if diff := cmp.Diff(tt.want, Reason(tt.subject, &d, tt.limit)); diff != "" {
				t.Errorf("Reason (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReasonLimit takes every limit: a message is never longer, and is valid
// text at each.
// TestReasonShares gives each of several results room where not all of them fit:
// each says first what it is about.
func TestReasonShares(t *testing.T) {
	long := func(claim string) Result {
		return Result{Kind: "IdentitySource", Policy: claim, Rule: "use", Status: Fail, Action: Enforce, Message: "may not act as " + claim + strings.Repeat(" and so on", 60), Findings: []Finding{{Path: "metadata." + claim}}}
	}
	d := Of([]Result{long("kerberos"), long("spiffe"), long("gcp")})
	got := Reason("exec into pod shop/web", &d, 768)
	if len(got) > 768 || !strings.Contains(got, "... and 3 more. Next:") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	for _, want := range []string{"(1) IdentitySource kerberos, rule use: may not act as kerberos", "(2) IdentitySource spiffe, rule use: may not act as spiffe", "(3) IdentitySource gcp, rule use: may not act as gcp"} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q: %s", want, got)
		}
	}
}

func TestReasonLimit(t *testing.T) {
	r := standardResult()
	r.Message = strings.Repeat("ä", 300)
	d := Of([]Result{r, riskResult()})
	for limit := range 3000 {
		got := Reason("creating Pod shop/wéb", &d, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("limit %d: %d bytes: %q", limit, len(got), got)
		}
	}
}

func TestNext(t *testing.T) {
	result := func(kind string, remedy Remedy, status Status, findings ...Finding) *Result {
		return &Result{Policy: "p", Kind: kind, Remedy: remedy, Status: status, Findings: findings}
	}
	field := Finding{Path: "spec.hostPID", Value: "true"}
	for _, tt := range []struct {
		name     string
		blocking []*Result
		want     string
	}{
		{"a standard", []*Result{result("ClusterPolicy", RemedyPolicy, Fail, field)}, "Next: change these fields, or ask for an exception to ClusterPolicy p with a PolicyExceptionRequest."},
		{"a rule about requests", []*Result{result("DenyPolicy", RemedyPolicy, Fail)}, "Next: ask for an exception to DenyPolicy p with a PolicyExceptionRequest."},
		{"risk", []*Result{result("DenyPolicy", RemedyExemption, Fail, field)}, "Next: use a pod without these settings, or ask for an exception to DenyPolicy p with a PolicyExceptionRequest."},
		{"risk of every pod", []*Result{result("DenyPolicy", RemedyExemption, Fail)}, "Next: ask for an exception to DenyPolicy p with a PolicyExceptionRequest."},
		{"a policy that is wrong", []*Result{result("DenyPolicy", RemedyCorrect, Fail, field)}, "Next: correct these fields, and send the policy again."},
		{"labels that exempt", []*Result{result("DenyPolicy", RemedyRight, Fail, field)}, "Next: leave these labels out, or ask the owners of DenyPolicy p for the right to set them."},
		{"what can be changed goes first", []*Result{result("DenyPolicy", RemedyPolicy, Fail), result("ClusterPolicy", RemedyPolicy, Fail, field)}, "Next: change these fields, or ask for an exception to ClusterPolicy p with a PolicyExceptionRequest."},
		{"a failure takes precedence over what is not judged", []*Result{result("ClusterPolicy", RemedyPolicy, Error, field), result("DenyPolicy", RemedyPolicy, Fail)}, "Next: ask for an exception to DenyPolicy p with a PolicyExceptionRequest."},
		{"not judged", []*Result{result("DenyPolicy", RemedyExemption, Error)}, "Next: try again; if it stays so, ask those who run Sallyport, whose log holds the cause."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Next(tt.blocking); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	warn := riskResult()
	warn.Status = Warn
	long := standardResult()
	long.Action = ActionWarn
	for i := range 40 {
		long.Findings = append(long.Findings, Finding{Path: "spec.containers[" + strings.Repeat("1", i%3+1) + "].image", Value: "x"})
	}
	d := Of([]Result{warn, riskResult(), long, long, long})
	got := Warnings(&d, 3, 256)
	if len(got) != 3 || got[2] != "... and 2 more warnings" {
		t.Fatalf("got %q", got)
	}
	if !strings.HasSuffix(got[1], "... and 40 more.") || len(got[1]) > 256 {
		t.Errorf("got %q (%d bytes)", got[1], len(got[1]))
	}
	if !strings.HasPrefix(got[0], "DenyPolicy prod-strict-exec, rule podSecurityRules: Exec to high-risk pod") {
		t.Errorf("got %q", got[0])
	}
}

// TestWarningsAboutPolicies say of each finding what to write, as far as API servers
// carry it.
func TestWarningsAboutPolicies(t *testing.T) {
	r := Result{Kind: "ClusterPolicy", Policy: "p", Rule: "policy-works", Status: Warn, Action: ActionWarn, Message: "the policy works, but may do less than it looks", Remedy: RemedyCorrect}
	long := strings.Repeat("a", 380)
	r.Findings = []Finding{{Path: "spec.rules[0]", Detail: long + "; write b"}, {Detail: "it is not in force here"}}
	d := Of([]Result{r})
	want := []string{"ClusterPolicy p: spec.rules[0]: " + long + "; write b", "ClusterPolicy p: it is not in force here"}
	if got := Warnings(&d, 15, 256); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for range 20 {
		r.Findings = append(r.Findings, Finding{Path: "spec", Detail: strings.Repeat("b", 2000)})
	}
	d = Of([]Result{r})
	got := Warnings(&d, 15, 256)
	if len(got) != 7 || got[6] != "... and 16 more warnings" || len(strings.Join(got, "")) > 15*256 {
		t.Errorf("%d lines, %q", len(got), got[len(got)-1])
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":           "plain",
		"two\nlines\tand": "two lines and",
		"\x1b[31mred":     "\uFFFD[31mred",
		"a\u202eb":        "a\uFFFDb",
		"bad\xff":         "bad\uFFFD",
		"ümlaut":          "ümlaut",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSubject(t *testing.T) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for _, tt := range []struct {
		name string
		req  request.Request
		want string
	}{
		{"exec", request.Request{Door: request.Access, Verb: "create", Resource: pods, Subresource: "exec", Namespace: "shop", Name: "web"}, "exec into pod shop/web"},
		{"exec, container known", request.Request{Door: request.Admission, Operation: request.Connect, Resource: pods, Subresource: "exec", Namespace: "shop", Name: "web", Options: &request.ConnectOptions{Container: "app"}}, "exec into container app of pod shop/web"},
		{"node proxy", request.Request{Door: request.Access, Verb: "get", Resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Subresource: "proxy", Name: "n1"}, "proxying to node n1"},
		{"create", request.Request{Door: request.Admission, Operation: request.Create, Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespace: "shop", Name: "web"}, "creating Deployment shop/web"},
		{"scale", request.Request{Door: request.Admission, Operation: request.Update, Kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Subresource: "scale", Namespace: "shop", Name: "web"}, "updating deployments.apps/scale shop/web"},
		{"list", request.Request{Door: request.Access, Verb: "list", Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespace: "shop"}, "list secrets (any) in shop"},
		{"no resource", request.Request{Door: request.Access, Verb: "get", NonResourcePath: "/metrics"}, "get /metrics"},
		{"a review that names nothing", request.Request{Door: request.Access}, "this request"},
		{"a review that says no verb", request.Request{Door: request.Access, Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Name: "s"}, "a request about secrets s"},
		{"a review that says no verb of no resource", request.Request{Door: request.Access, NonResourcePath: "/metrics"}, "a request about /metrics"},
		{"a beginning without the operation", request.Request{Door: request.Admission, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: pods, Namespace: "shop"}, "a request about Pod (any) in shop"},
		{"a beginning without anything", request.Request{Door: request.Admission}, "this request"},
		{"another group's pods", request.Request{Door: request.Access, Verb: "get", Resource: schema.GroupVersionResource{Group: "subresources.kubevirt.io", Resource: "pods"}, Subresource: "exec", Namespace: "a", Name: "b"}, "get pods.subresources.kubevirt.io/exec a/b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Subject(&tt.req); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
