package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// approvedException is an exception that dave wrote and may approve, as it is stored.
func approvedException(t *testing.T, g *Guard) string {
	t.Helper()
	r := written(t, "dave", exceptionText(exception.KindException, "{policyName: p}"), "")
	r.Authorizer = &holds{rights: []string{"clusterpolicies//p"}}
	approved, results := admit(t, g, r)
	if results[0].Status != decision.Pass {
		t.Fatal(results)
	}
	return approved
}

// TestExceptionsAsTheyAreWritten judges what is written as it stands there, as if /mutate
// were not there, and says what is wrong with it.
func TestExceptionsAsTheyAreWritten(t *testing.T) {
	g := guardOfKinds(t)
	all := []string{"clusterpolicies//p"}
	approved := approvedException(t, g)
	replaced := func(text, from, to string) string {
		t.Helper()
		if !strings.Contains(text, from) {
			t.Fatalf("no %s in %s", from, text)
		}
		return strings.Replace(text, from, to, 1)
	}
	forged := replaced(approved, `\"by\":\"dave\"`, `\"by\":\"alice\"`)
	past := replaced(approved, `"spec":{`, `"spec":{"expiresAt":"2026-11-28T12:00:00Z",`)
	created := func(r *request.Request) { r.Operation = request.Create }
	timeless := func(r *request.Request) { r.Time = time.Time{} }
	same := func(*request.Request) {}
	for name, c := range map[string]struct {
		user, object, old string
		rights            []string
		change            func(*request.Request)
		says              string
	}{
		"as it is filled in":             {"dave", approved, "", all, same, ""},
		"another wrote it":               {"dave", replaced(approved, `created-by":"dave"`, `created-by":"root"`), "", all, same, `"dave" belongs there`},
		"no record":                      {"dave", replaced(approved, `\"by\":\"dave\",`, `\"buy\":1,`), "", all, same, "holds no record of an approval"},
		"what is recorded, once":         {"dave", approved, "", nil, same, `needs the verb approve on clusterpolicies.sallyport.io "p" cluster-wide. Ask`},
		"an end that is past":            {"dave", past, "", all, same, "is in the past"},
		"an end that is past by now":     {"dave", past, "", all, timeless, "is in the past"},
		"an update from nothing":         {"dave", approved, approved, all, func(r *request.Request) { r.OldObject = nil }, ""},
		"an update from nothing, barred": {"dave", approved, approved, nil, func(r *request.Request) { r.OldObject = nil }, "needs the verb approve"},
		"the same again":                 {"alice", approved, approved, nil, same, ""},
		"the same, another's record":     {"alice", forged, approved, nil, same, "needs the verb approve"},
		"made where one was":             {"dave", approved, approved, nil, created, "needs the verb approve"},
		"a part that there is not":       {"alice", approved, "", nil, func(r *request.Request) { r.Subresource = "scale" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := written(t, c.user, c.object, c.old)
			r.Authorizer = &holds{rights: c.rights}
			c.change(r)
			results := g.Validate(t.Context(), r)
			if len(results) != 1 || results[0].Blocks() != (c.says != "") || !strings.Contains(results[0].Message, c.says) {
				t.Errorf("results %+v", results)
			}
		})
	}
}

// TestRecordsOfExceptions keeps who wrote an exception and who approved it, until someone
// writes another one or means to approve it.
func TestRecordsOfExceptions(t *testing.T) {
	g := guardOfKinds(t)
	approved := approvedException(t, g)
	labelled := func(text string) string {
		return strings.Replace(text, `"name":"e"`, `"name":"e","labels":{"a":"b"}`, 1)
	}
	please := strings.Replace(exceptionText(exception.KindException, "{policyName: p}"), "{name: e", "{name: e, annotations: {sallyport.io/approval: please}", 1)
	unrecorded := strings.Replace(approved, `[[\"ClusterPolicy\"]]`, `[[]]`, 1)
	before := approved[strings.Index(approved, `"sallyport.io/approval":`):]
	before = before[:strings.Index(before, `"},`)]
	for name, c := range map[string]struct {
		user, object, old string
		writer            string
		// kept is what still stands there.
		kept string
	}{
		"labels":                         {"erin", labelled(approved), approved, "dave", before},
		"the writer is put back":         {"erin", strings.Replace(approved, `created-by":"dave"`, `created-by":"erin"`, 1), approved, "dave", before},
		"labels of another record":       {"erin", labelled(unrecorded), unrecorded, "dave", `[[]]`},
		"labels of what is not a record": {"erin", strings.Replace(please, "name: e,", "name: e, labels: {a: b},", 1), please, "", `"please"`},
		"approved again by the same":     {"dave", strings.Replace(approved, `\"by\":\"dave\"`, `\"by\":\"x\"`, 1), approved, "dave", before},
		"approved over nonsense":         {"erin", strings.Replace(please, "please", "do", 1), please, "", `\"by\":\"erin\"`},
		"another spec":                   {"erin", strings.Replace(approved, `"kinds":["Pod"]`, `"kinds":["Job"]`, 1), approved, "erin", `\"by\":\"erin\"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := written(t, c.user, c.object, c.old)
			r.Time, r.Authorizer = noon.Add(time.Hour), &holds{rights: []string{"clusterpolicies//p"}}
			raw, results := admit(t, g, r)
			if len(results) != 1 || results[0].Blocks() {
				t.Fatalf("results %+v", results)
			}
			if e := parse[v1alpha1.PolicyException](t, raw); e.Annotations[v1alpha1.AnnotationCreatedBy] != c.writer || !strings.Contains(raw, c.kept) {
				t.Errorf("want %s and %s in %s", c.writer, c.kept, raw)
			}
		})
	}
}

// TestRequestsAsTheyAreWritten is about who is noted down as asking, where a request comes
// in ways of its own.
func TestRequestsAsTheyAreWritten(t *testing.T) {
	labelled := strings.Replace(asked, "generation: 3", "generation: 3, labels: {a: b}", 1)
	nameless := strings.Replace(asked, "  requesters: [carol]\n", "", 1)
	for name, c := range map[string]struct {
		user, object, old string
		change            func(*request.Request)
		ok                bool
		patch             string
	}{
		"nothing to fill in":       {"alice", labelled, asked, func(*request.Request) {}, true, ""},
		"a part that there is not": {"alice", nameless, "", func(r *request.Request) { r.Subresource = "scale" }, true, ""},
		"made where one was":       {"alice", asked, asked, func(r *request.Request) { r.Operation = request.Create }, false, `[{"op":"add","path":"/spec/requesters","value":["alice"]}]`},
		"an update from nothing":   {"alice", asked, asked, func(r *request.Request) { r.OldObject = nil }, false, `[{"op":"add","path":"/spec/requesters","value":["alice"]}]`},
		"no one asked before":      {"alice", labelled, nameless, func(*request.Request) {}, false, `[{"op":"remove","path":"/spec/requesters"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			g := guardOf(t, nil)
			r := written(t, c.user, c.object, c.old)
			c.change(r)
			if results := g.Validate(t.Context(), r); len(results) != 1 || results[0].Blocks() == c.ok {
				t.Errorf("results %+v", results)
			}
			if patch, refused := g.Mutate(t.Context(), r); string(patch) != c.patch || refused != nil {
				t.Errorf("patch %s, results %+v", patch, refused)
			}
		})
	}
}

// TestAnswersThatDoNotCount has a request changed though one like it was approved.
func TestAnswersThatDoNotCount(t *testing.T) {
	changed := strings.Replace(asked, "why", "because", 1)
	approved := parse[v1alpha1.PolicyExceptionResponse](t, "metadata: {name: a}\nspec: {name: q, namespace: dev, status: Approved, requestUID: u1, requestGeneration: 3}")
	gone := approved.DeepCopy()
	at := metav1.NewTime(noon)
	gone.DeletionTimestamp, gone.Finalizers = &at, []string{"x.io/y"}
	other := approved.DeepCopy()
	other.Spec.RequestUID = "u0"
	for name, c := range map[string]struct {
		answer *v1alpha1.PolicyExceptionResponse
		ok     bool
	}{
		"to it": {approved, false}, "being deleted": {gone, true}, "to one of that name before": {other, true},
	} {
		if _, results := admit(t, guardOf(t, nil, c.answer), written(t, "carol", changed, asked)); len(results) != 1 || results[0].Blocks() == c.ok {
			t.Errorf("%s: %+v", name, results)
		}
	}
}

// TestResponsesToWhatIsNotThere refuses answers to nothing, at both webhooks.
func TestResponsesToWhatIsNotThere(t *testing.T) {
	q := parse[v1alpha1.PolicyExceptionRequest](t, asked)
	gone := q.DeepCopy()
	at := metav1.NewTime(noon)
	gone.DeletionTimestamp, gone.Finalizers = &at, []string{"x.io/y"}
	broken := errors.New("etcd is away")
	unread := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return broken
	}}
	unlisted := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(*v1alpha1.PolicyExceptionResponseList); ok {
			return broken
		}
		return c.List(ctx, list, opts...)
	}}
	version := "status: Denied, requestUID: u1, requestGeneration: 3"
	for name, c := range map[string]struct {
		spec    string
		objects []client.Object
		funcs   interceptor.Funcs
		status  decision.Status
		says    string
		filled  bool
	}{
		"none of that name":            {version, nil, interceptor.Funcs{}, decision.Fail, "there is no PolicyExceptionRequest q in any namespace", false},
		"none in the namespace":        {version + ", namespace: prod", []client.Object{q}, interceptor.Funcs{}, decision.Fail, "there is no PolicyExceptionRequest prod/q", false},
		"one that is being deleted":    {version, []client.Object{gone}, interceptor.Funcs{}, decision.Fail, "is being deleted", false},
		"one that cannot be read":      {version + ", namespace: dev", []client.Object{q}, unread, decision.Error, "the request that is answered cannot be read", false},
		"the answers are not readable": {version, []client.Object{q}, unlisted, decision.Error, "the responses to requests cannot be read", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := guardOf(t, nil, c.objects...)
			g.Reader = interceptor.NewClient(g.Reader.(client.WithWatch), c.funcs)
			r := written(t, "dave", responseText(c.spec), "")
			if _, refused := g.Mutate(t.Context(), r); (refused == nil) != c.filled {
				t.Errorf("results of Mutate %+v", refused)
			}
			_, results := admit(t, g, r)
			if len(results) != 1 || results[0].Status != c.status || !strings.Contains(results[0].Message, c.says) {
				t.Errorf("results %+v", results)
			}
			results = g.Validate(t.Context(), r)
			if len(results) != 1 || !results[0].Blocks() || !c.filled && (results[0].Status != c.status || !strings.Contains(results[0].Message, c.says)) {
				t.Errorf("results %+v", results)
			}
		})
	}
}

// TestUpdatesOfResponses keeps what was answered, whatever became of the request.
func TestUpdatesOfResponses(t *testing.T) {
	given := responseText("status: Approved, requestUID: u1, requestGeneration: 3, approver: dave")
	for name, c := range map[string]struct {
		object string
		ok     bool
	}{
		"labels":          {strings.Replace(given, "{name: a}", "{name: a, labels: {b: c}}", 1), true},
		"another status":  {strings.Replace(given, "Approved", "Denied", 1), false},
		"another who":     {strings.Replace(given, "dave", "erin", 1), false},
		"another version": {strings.Replace(given, "Generation: 3", "Generation: 4", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := guardOf(t, nil)
			r := written(t, "erin", c.object, given)
			if patch, refused := g.Mutate(t.Context(), r); patch != nil || refused != nil {
				t.Errorf("patch %s, results %+v", patch, refused)
			}
			if results := g.Validate(t.Context(), r); len(results) != 1 || results[0].Blocks() == c.ok {
				t.Errorf("results %+v", results)
			}
		})
	}
}

// TestGuardWithoutAccounts lets no one write a status where no account is Sallyport's.
func TestGuardWithoutAccounts(t *testing.T) {
	g := guardOf(t, nil)
	g.Own = nil
	r := written(t, own, asked, asked)
	r.Subresource = "status"
	if results := g.Validate(t.Context(), r); len(results) != 1 || !results[0].Blocks() {
		t.Errorf("results %+v", results)
	}
}

// TestAnnotate makes as few operations as there is to change.
func TestAnnotate(t *testing.T) {
	for name, c := range map[string]struct {
		given map[string]string
		want  string
		patch string
	}{
		"it stands there":       {map[string]string{"x/k": "v"}, "v", ""},
		"another stands there":  {map[string]string{"x/k": "w"}, "v", "add /metadata/annotations/x~1k v"},
		"none is there":         {nil, "v", "add /metadata/annotations map[], add /metadata/annotations/x~1k v"},
		"none belongs there":    {map[string]string{"x/k": "w"}, "", "remove /metadata/annotations/x~1k <nil>"},
		"an empty one is there": {map[string]string{"x/k": ""}, "", "remove /metadata/annotations/x~1k <nil>"},
		"there is none":         {map[string]string{}, "", ""},
		"there are none":        {nil, "", ""},
	} {
		if got := operations(annotate(c.given, map[string]string{"x/k": c.want})); got != c.patch {
			t.Errorf("%s: %s, want %s", name, got, c.patch)
		}
	}
}

// TestLastEnd is open where something that is approved is.
func TestLastEnd(t *testing.T) {
	end := func(at time.Time) v1alpha1.RequestedException {
		return v1alpha1.RequestedException{ExpiresAt: &metav1.Time{Time: at}}
	}
	hour, open := v1alpha1.RequestedException{Duration: "1h"}, v1alpha1.RequestedException{}
	for name, c := range map[string]struct {
		list []v1alpha1.RequestedException
		want time.Time
	}{
		"none":                {nil, time.Time{}},
		"one that is open":    {[]v1alpha1.RequestedException{open}, time.Time{}},
		"one of them is open": {[]v1alpha1.RequestedException{hour, open}, time.Time{}},
		"the last of two":     {[]v1alpha1.RequestedException{end(noon.Add(2 * time.Hour)), hour}, noon.Add(2 * time.Hour)},
		"a length":            {[]v1alpha1.RequestedException{end(noon), hour}, noon.Add(time.Hour)},
	} {
		got := lastEnd(c.list, noon)
		if (got == nil) != c.want.IsZero() || got != nil && !got.Time.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// operations are those of a patch in words.
func operations(patch []patchOperation) string {
	list := make([]string, len(patch))
	for i, p := range patch {
		list[i] = fmt.Sprintf("%s %s %v", p.Op, p.Path, p.Value)
	}
	return strings.Join(list, ", ")
}
