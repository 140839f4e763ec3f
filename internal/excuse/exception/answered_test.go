package exception

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// asked is a request of ann's, and given are answers to it.
func asked(t testing.TB, spec string, given ...string) Sources {
	t.Helper()
	s := Sources{Requests: []source.Of[*v1alpha1.PolicyExceptionRequest]{{Object: read[v1alpha1.PolicyExceptionRequest](t,
		"metadata: {name: q, namespace: dev, uid: u, generation: 1, creationTimestamp: \"2026-11-28T11:00:00Z\"}\nspec: "+spec)}}}
	for i, answer := range given {
		if !strings.Contains(answer, "approver") {
			answer = "approver: ben, " + answer
		}
		s.Responses = append(s.Responses, source.Of[*v1alpha1.PolicyExceptionResponse]{Object: read[v1alpha1.PolicyExceptionResponse](t,
			"metadata: {name: a"+string(rune('a'+i))+"}\nspec: {name: q, namespace: dev, requestUID: u, requestGeneration: 1, "+answer+"}")})
	}
	return s
}

const plainRequest = "{exceptions: [{policyName: p}], exclude: {resources: {kinds: [Pod]}}, requesters: [ann]}"

// podIn asks about a pod of a namespace, and a rule of the ClusterPolicy p.
func podIn(namespace string, at time.Time) *Query {
	return &Query{PolicyKind: "ClusterPolicy", Policy: "p", Rule: "r", Now: at, Targets: []*match.Target{{
		Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: namespace, Name: "web",
	}}}
}

// finds says how often a query is excused, and what might have excused it.
func finds(ctx context.Context, set *Set, q *Query) (excused int, troubles []Trouble) {
	troubles = set.Find(ctx, q, func(*Exception) bool { excused++; return true })
	return excused, troubles
}

// TestSeveralAnswers has a denial count over approvals, and two approvals for none.
func TestSeveralAnswers(t *testing.T) {
	const approved, denied = `status: Approved, approvalTime: "2026-11-28T12:00:00Z"`, `status: Denied, approvalTime: "2026-11-28T12:00:00Z"`
	for name, c := range map[string]struct {
		answers             []string
		spec                string
		policies            []string
		answered, effective bool
		says                string
	}{
		"none":                          {nil, plainRequest, nil, false, false, "not answered yet"},
		"yes":                           {[]string{approved}, plainRequest, nil, true, true, ""},
		"no":                            {[]string{denied}, plainRequest, nil, true, false, ""},
		"yes and no":                    {[]string{approved, denied}, plainRequest, nil, true, false, ""},
		"no and yes":                    {[]string{denied, approved}, plainRequest, nil, true, false, ""},
		"no and no":                     {[]string{denied, denied}, plainRequest, nil, true, false, ""},
		"yes and yes":                   {[]string{approved, approved}, plainRequest, nil, false, false, "answered twice, by PolicyExceptionResponses aa and ab"},
		"no, by no one":                 {[]string{"status: Denied, approver: ''"}, plainRequest, nil, true, false, ""},
		"no, by ann":                    {[]string{"status: Denied, approver: ann"}, plainRequest, nil, true, false, ""},
		"yes, by one who asked":         {[]string{approved}, strings.Replace(plainRequest, "[ann]", "[ann, ben]", 1), nil, false, false, "was made by ben, who asked for it"},
		"yes, by one who asked, may":    {[]string{approved}, strings.Replace(plainRequest, "[ann]", "[ann, ben]", 1), []string{"{policies: [p], allowSelfApproval: true}"}, true, true, ""},
		"yes, by one who may of others": {[]string{approved}, strings.Replace(plainRequest, "[ann]", "[ann, ben]", 1), []string{"{policies: [q], allowSelfApproval: true}"}, false, false, "who asked for it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := asked(t, c.spec, c.answers...)
			if len(c.policies) > 0 {
				s.ExceptionPolicies = sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", c.policies...).ExceptionPolicies
			}
			set, problems := Compile(s, Options{})
			state := set.State(KindRequest, "dev", "q")
			if len(problems) > 0 || state.Answered != c.answered || state.Effective != c.effective || !strings.Contains(state.Unanswered, c.says) {
				t.Errorf("%+v, %v; want %q", state, problems, c.says)
			}
			for i := range c.answers {
				if got := set.State(KindResponse, "", "a"+string(rune('a'+i))).Effective; got && !c.effective {
					t.Errorf("answer %d is effective", i)
				}
			}
			if c.effective && !set.State(KindResponse, "", "aa").Effective {
				t.Error("the answer is not effective")
			}
			if n, _ := finds(t.Context(), set, podIn("dev", now)); (n > 0) != c.effective {
				t.Errorf("excused %d times", n)
			}
		})
	}
}

// TestAnswersThatGoWrong say of which request there is none, and what is wrong with it.
func TestAnswersThatGoWrong(t *testing.T) {
	const approved = `status: Approved, approvalTime: "2026-11-28T12:00:00Z"`
	orphan := asked(t, plainRequest, approved)
	orphan.Requests = nil
	set, problems := Compile(orphan, Options{})
	if state := set.State(KindResponse, "", "aa"); state.Problem == nil || len(problems) > 0 {
		t.Errorf("%+v, %v", state, problems)
	}
	orphan.Responses[0].Origin = "answer.yaml"
	if _, problems := Compile(orphan, Options{}); len(problems) != 1 || problems[0].Path != "spec.name" {
		t.Errorf("of a file: %v", problems)
	}
	broken := asked(t, strings.Replace(plainRequest, "kinds: [Pod]", "kinds: [Pod], names: ['']", 1), approved)
	set, problems = Compile(broken, Options{})
	if state := set.State(KindResponse, "", "aa"); state.Problem == nil || len(problems) == 0 || set.Len() > 0 || set.State(KindRequest, "dev", "q").Reach != "" {
		t.Errorf("%+v, %v, %d exceptions", state, problems, set.Len())
	}
	set, problems = Compile(asked(t, "{exceptions: [], requesters: [ann]}"), Options{})
	if len(problems) == 0 || problems[0].Path != "spec.exceptions" || set.Len() > 0 {
		t.Errorf("a request for nothing: %v", problems)
	}
	// What an answer of the API server names is bounded as well.
	many := asked(t, plainRequest, approved)
	for range maxAnswered + 1 {
		many.Responses[0].Object.Spec.Exceptions = append(many.Responses[0].Object.Spec.Exceptions, v1alpha1.RequestedException{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: "p"}})
	}
	if set, problems := Compile(many, Options{}); len(problems) == 0 || set.Len() > 0 {
		t.Errorf("an endless answer: %v, %d exceptions", problems, set.Len())
	}
	// A request of a file may have no version that an answer could be held to.
	versionless := asked(t, plainRequest, approved+", requestResourceVersion: '6'")
	versionless.Responses[0].Origin = "answer.yaml"
	if set, _ := Compile(versionless, Options{}); !set.State(KindRequest, "dev", "q").Effective {
		t.Errorf("without a version: %+v", set.State(KindRequest, "dev", "q"))
	}
	// An answer of a file says no more than that the request is granted as it is.
	wider := asked(t, plainRequest, approved)
	wider.Responses[0].Origin = "answer.yaml"
	wider.Responses[0].Object.Spec.Exceptions = []v1alpha1.RequestedException{{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: "p"}, Exclude: &v1alpha1.Match{ResourceFilter: v1alpha1.ResourceFilter{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Service"}}}}}}
	set, problems = Compile(wider, Options{})
	q := podIn("dev", now)
	if n, _ := finds(t.Context(), set, q); n != 1 || len(problems) > 0 {
		t.Errorf("a pod is excused %d times, %v", n, problems)
	}
	q.Targets[0].Kind.Kind = "Service"
	if n, _ := finds(t.Context(), set, q); n != 0 {
		t.Error("a Service is excused")
	}
}

// TestWarningsOfFiles tell of a request in a file that its answer does not answer, and
// of a duration that is counted from when it is read.
func TestWarningsOfFiles(t *testing.T) {
	const approved = `status: Approved, approvalTime: "2026-11-28T12:00:00Z"`
	for name, c := range map[string]struct {
		origin  string
		answers []string
		change  func(*Sources)
		want    string
	}{
		"answered":                  {"q.yaml", []string{approved}, func(*Sources) {}, ""},
		"not answered":              {"q.yaml", nil, func(*Sources) {}, ""},
		"answered as it was":        {"q.yaml", []string{approved}, func(s *Sources) { s.Responses[0].Object.Spec.RequestGeneration = 3 }, "excuses nothing: PolicyExceptionResponse aa answers version 3"},
		"as it was, of the API":     {"", []string{approved}, func(s *Sources) { s.Responses[0].Object.Spec.RequestGeneration = 3 }, ""},
		"a duration from an answer": {"q.yaml", []string{approved}, func(s *Sources) { s.Requests[0].Object.Spec.Duration = "1d" }, ""},
		"a duration from no time":   {"q.yaml", []string{"status: Approved"}, func(s *Sources) { s.Requests[0].Object.Spec.Duration = "1d"; s.Responses[0].Origin = "a.yaml" }, "1d is counted from now"},
		"no duration, from no time": {"q.yaml", []string{"status: Approved"}, func(s *Sources) { s.Responses[0].Origin = "a.yaml" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := asked(t, plainRequest, c.answers...)
			s.Requests[0].Origin = c.origin
			c.change(&s)
			set, _ := Compile(s, Options{Began: now})
			var said []string
			for _, w := range set.Warnings() {
				said = append(said, w.Error())
			}
			if got := strings.Join(said, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("warnings %q, want %q", got, c.want)
			}
		})
	}
	for name, c := range map[string]struct {
		origin, duration string
		began            time.Time
		warned           bool
	}{
		"of a file": {"e.yaml", "1d", now, true}, "without a duration": {"e.yaml", "", now, false}, "of the API": {"", "1d", now, false}, "with no beginning": {"e.yaml", "1d", time.Time{}, false},
	} {
		e := read[v1alpha1.PolicyException](t, "metadata: {name: e, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}")
		e.Spec.Duration = c.duration
		set, problems := Compile(Sources{Exceptions: []source.Of[*v1alpha1.PolicyException]{{Object: e, Origin: c.origin}}}, Options{Began: c.began})
		if (len(problems) > 0) != c.began.IsZero() {
			t.Errorf("%s: %v", name, problems)
		}
		if got := len(set.Warnings()) > 0; got != c.warned {
			t.Errorf("%s: warned %t", name, got)
		}
	}
}

// TestPeriodsOfAnswers hold from the approval until what ends first.
func TestPeriodsOfAnswers(t *testing.T) {
	hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
	end := func(n int) string { return "expiresAt: \"" + hour(n).Format(time.RFC3339) + "\"" }
	for name, c := range map[string]struct {
		request, answer string
		until           time.Time
	}{
		"neither ends":            {"", "", time.Time{}},
		"by the duration":         {"duration: 2h", "", hour(2)},
		"by the request":          {end(3), "", hour(3)},
		"by the answer":           {"", end(1), hour(1)},
		"by the answer, earlier":  {"duration: 2h", end(1), hour(1)},
		"by the request, earlier": {"duration: 2h", end(5), hour(2)},
	} {
		t.Run(name, func(t *testing.T) {
			spec, answer := plainRequest, `status: Approved, approvalTime: "2026-11-28T12:00:00Z"`
			if c.request != "" {
				spec = strings.Replace(spec, "requesters", c.request+", requesters", 1)
			}
			if c.answer != "" {
				answer += ", " + c.answer
			}
			set, problems := Compile(asked(t, spec, answer), Options{})
			periods := set.State(KindRequest, "dev", "q").Periods
			if len(problems) > 0 || len(periods) != 1 || !periods[0].From.Equal(now) || !periods[0].Until.Equal(c.until) {
				t.Errorf("%v, %v, want until %v", periods, problems, c.until)
			}
		})
	}
}

// TestWhereARequestGoesWrong names the place that an entry got it from.
func TestWhereARequestGoesWrong(t *testing.T) {
	const far = `expiresAt: "2028-01-01T00:00:00Z"`
	for name, c := range map[string]struct {
		spec, path string
		policies   []string
	}{
		"a duration of all":       {"{exceptions: [{policyName: p}], exclude: {resources: {kinds: [Pod]}}, duration: soon}", "spec.duration", nil},
		"a duration of one":       {"{exceptions: [{policyName: p, duration: soon}], exclude: {resources: {kinds: [Pod]}}}", "spec.exceptions[0].duration", nil},
		"an end of all":           {"{exceptions: [{policyName: p}], exclude: {resources: {kinds: [Pod]}}, " + far + "}", "spec.duration", []string{"{policies: [p], maxDuration: 1d}"}},
		"an end of one":           {"{exceptions: [{policyName: p, " + far + "}], exclude: {resources: {kinds: [Pod]}}}", "spec.exceptions[0].duration", []string{"{policies: [p], maxDuration: 1d}"}},
		"a block of all":          {"{exceptions: [{policyName: p}], exclude: {resources: {kinds: ['']}}}", "spec.exclude.resources.kinds[0]", nil},
		"a block of one":          {"{exceptions: [{policyName: p, exclude: {resources: {kinds: ['']}}}]}", "spec.exceptions[0].exclude.resources.kinds[0]", nil},
		"no block":                {"{exceptions: [{policyName: p}]}", "spec.exclude", nil},
		"the end of one counts":   {"{exceptions: [{policyName: p, duration: 1h}], exclude: {resources: {kinds: [Pod]}}, duration: 9d}", "", []string{"{policies: [p], maxDuration: 1d}"}},
		"its expiry counts":       {"{exceptions: [{policyName: p, expiresAt: \"2026-11-28T13:00:00Z\"}], exclude: {resources: {kinds: [Pod]}}, duration: 9d}", "", []string{"{policies: [p], maxDuration: 1d}"}},
		"open for both":           {"{exceptions: [{policyName: p}, {policyName: q}], exclude: {}}", "", []string{"{policies: [p, q], allowEmptyMatch: true}"}},
		"open for one, the first": {"{exceptions: [{policyName: p}, {policyName: q}], exclude: {}}", "spec.exclude", []string{"{policies: [p], allowEmptyMatch: true}"}},
		"open for one, the last":  {"{exceptions: [{policyName: q}, {policyName: p}], exclude: {}}", "spec.exclude", []string{"{policies: [p], allowEmptyMatch: true}"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := asked(t, c.spec)
			s.ExceptionPolicies = sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", c.policies...).ExceptionPolicies
			s.Requests[0].Object.CreationTimestamp = metav1.NewTime(now)
			_, problems := Compile(s, Options{})
			if c.path == "" && len(problems) > 0 || c.path != "" && (len(problems) == 0 || problems[0].Path != c.path) {
				t.Errorf("%v, want one at %q", problems, c.path)
			}
		})
	}
}
