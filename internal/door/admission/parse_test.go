package admission

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/door/doortest"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// create is a review that is as it should be; tests change one thing in it.
const create = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",` +
	`"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},` +
	`"namespace":"shop","operation":"CREATE","userInfo":{"username":"alice","uid":"7","groups":["dev"],"extra":{"scopes":["a"]}},` +
	`"object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","namespace":"shop"},"spec":{"hostPID":true,"containers":[{"name":"app","image":"x"}]}},` +
	`"oldObject":null,"dryRun":true,"options":{"kind":"CreateOptions"}}}`

// connect is an exec.
const connect = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u2",` +
	`"kind":{"group":"","version":"v1","kind":"PodExecOptions"},"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"exec",` +
	`"name":"web","namespace":"shop","operation":"CONNECT","userInfo":{"username":"alice"},` +
	`"object":{"apiVersion":"v1","kind":"PodExecOptions","stdin":true,"tty":true,"container":"app","command":["cat","/secret"]}}}`

func TestParse(t *testing.T) {
	req, err := Parse([]byte(create), pod.Default())
	if err != nil {
		t.Fatal(err)
	}
	if len(req.Object.Pods) != 1 || !req.Object.Pods[0].Spec.HostPID {
		t.Errorf("the pod was not read: %+v", req.Object)
	}
	req.Object = nil
	want := &request.Request{
		Door: request.Admission, UID: "u1", Operation: request.Create, DryRun: true,
		User:      request.User{Name: "alice", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"scopes": {"a"}}},
		Kind:      schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:  schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespace: "shop", Name: "web-", Write: []byte(`{"kind":"CreateOptions"}`),
	}
	if diff := cmp.Diff(want, req); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// TestParseAsked reads what was asked for before an equivalent version was matched.
func TestParseAsked(t *testing.T) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for name, tt := range map[string]struct {
		fields string
		want   *request.Asked
	}{
		"nothing said": {``, nil},
		"nulls":        {`"requestKind":null,"requestResource":null,`, nil},
		"the same":     {`"requestKind":{"group":"","version":"v1","kind":"Pod"},"requestResource":{"group":"","version":"v1","resource":"pods"},`, nil},
		"another version": {
			`"requestKind":{"group":"x.io","version":"v2","kind":"Pod"},"requestResource":{"group":"x.io","version":"v2","resource":"pods"},`,
			&request.Asked{Kind: schema.GroupVersionKind{Group: "x.io", Version: "v2", Kind: "Pod"}, Resource: schema.GroupVersionResource{Group: "x.io", Version: "v2", Resource: "pods"}},
		},
		"only a kind":         {`"requestKind":{"group":"x.io","version":"v2","kind":"Pod"},`, &request.Asked{Kind: schema.GroupVersionKind{Group: "x.io", Version: "v2", Kind: "Pod"}, Resource: pods}},
		"another subresource": {`"requestSubResource":"scale",`, &request.Asked{Kind: kind, Resource: pods, Subresource: "scale"}},
	} {
		req, err := Parse([]byte(replace(create, `"namespace":"shop",`, tt.fields+`"namespace":"shop",`)), pod.Default())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, req.Asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestParseOrder reads the object before it is known what it is.
func TestParseOrder(t *testing.T) {
	object := create[strings.Index(create, `"object":`):strings.Index(create, `"oldObject"`)]
	for name, body := range map[string]string{
		"object first":  replace(replace(create, object, ""), `"request":{`, `"request":{`+object),
		"request first": replace(replace(create, `"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",`, ""), `}}}`, `}},"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`),
	} {
		want, err := Parse([]byte(create), pod.Default())
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse([]byte(body), pod.Default())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if string(got.Object.Raw) != string(want.Object.Raw) || !got.Object.Pods[0].Spec.HostPID {
			t.Errorf("%s: the object is %s", name, got.Object.Raw)
		}
		got.Object, want.Object = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseConnect(t *testing.T) {
	req, err := Parse([]byte(connect), pod.Default())
	if err != nil {
		t.Fatal(err)
	}
	want := &request.ConnectOptions{Kind: "PodExecOptions", Container: "app", Stdin: true, TTY: true, Body: request.Hide([]byte(`{"apiVersion":"v1","kind":"PodExecOptions","stdin":true,"tty":true,"container":"app","command":["cat","/secret"]}`))}
	if diff := cmp.Diff(want, req.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if req.Object != nil {
		t.Error("the options of a CONNECT stand as an object")
	}
}

func TestParseOperations(t *testing.T) {
	object := create[strings.Index(create, `{"apiVersion":"v1"`):strings.Index(create, `,"oldObject"`)]
	for _, tt := range []struct {
		name, body  string
		object, old bool
		fails       string
	}{
		{"create", create, true, false, ""},
		{"update", replace(create, `"CREATE"`, `"UPDATE"`, `"oldObject":null`, `"oldObject":`+object), true, true, ""},
		{"update without the old object", replace(create, `"CREATE"`, `"UPDATE"`), false, false, "request.oldObject is missing"},
		{"update without the object", replace(create, `"CREATE"`, `"UPDATE"`, object, "null", `"oldObject":null`, `"oldObject":`+object), false, false, "request.object is missing"},
		{"delete", replace(create, `"CREATE"`, `"DELETE"`, `"object":`+object, `"object":null`, `"oldObject":null`, `"oldObject":`+object), false, true, ""},
		{"delete of an old API server", replace(create, `"CREATE"`, `"DELETE"`, object, "null"), false, false, ""},
		{"create without an object", replace(create, object, "null"), false, false, "request.object is missing"},
		{"no object at all", replace(create, `"object":`+object+",", ""), false, false, "request.object is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := Parse([]byte(tt.body), pod.Default())
			if tt.fails != "" {
				wantMalformed(t, err, tt.fails)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (req.Object != nil) != tt.object || (req.OldObject != nil) != tt.old {
				t.Errorf("object: %v, old object: %v", req.Object, req.OldObject)
			}
		})
	}
}

func TestParseMalformed(t *testing.T) {
	deep := strings.Repeat("[", 20000)
	for _, tt := range []struct{ name, body, want string }{
		{"empty", "", "nothing was found"},
		{"null", "null", "found null, an object belongs here"},
		{"not JSON", "kind: AdmissionReview", "not JSON"},
		{"a list", "[]", "object"},
		{"trailing data", create + "{}", "not JSON"},
		{"cut short", create[:len(create)-3], "ends at byte"},
		{"no request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, "request is missing"},
		{"null request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`, "request is missing"},
		{"a request in another case", replace(create, `"request":`, `"Request":`), "request is missing"},
		{"wrong kind", replace(create, `"AdmissionReview"`, `"Review"`), `kind is "Review", an AdmissionReview belongs here`},
		{"v1beta1", replace(create, "admission.k8s.io/v1", "admission.k8s.io/v1beta1"), "reads only admission.k8s.io/v1"},
		{"no uid", replace(create, `"uid":"u1",`, ""), "request.uid is missing"},
		{"no resource", replace(create, `"resource":"pods"`, `"resource":""`), "request.resource.resource is missing"},
		{"no kind of the object", replace(create, `"kind":"Pod"},"resource`, `"kind":""},"resource`), "request.kind.kind is missing"},
		{"no operation", replace(create, `"operation":"CREATE",`, ""), "request.operation is missing"},
		{"unknown operation", replace(create, "CREATE", "MUTATE"), `request.operation is "MUTATE"`},
		{"operation in lower case", replace(create, "CREATE", "create"), `request.operation is "create"`},
		{"object of another kind", replace(create, `"apiVersion":"v1","kind":"Pod"`, `"apiVersion":"v1","kind":"ConfigMap"`), `request.object.kind: found "ConfigMap", "Pod" was expected`},
		{"object of another group", replace(create, `"apiVersion":"v1","kind":"Pod"`, `"apiVersion":"apps/v1","kind":"Pod"`), "apps/v1"},
		{"object is text", replace(create, `"object":{`, `"object":"x","was":{`), "request.object is not an object"},
		{"object does not decode", replace(create, `"hostPID":true`, `"hostPID":"yes"`), "request.object.spec.hostPID: found a string, true or false belongs here"},
		{"duplicate key in the object", replace(create, `"hostPID":true`, `"hostPID":true,"hostPID":false`), "more than once"},
		{"duplicate key in the request", replace(create, `"uid":"u1"`, `"uid":"u1","uid":"u3"`), "more than once"},
		{"duplicate key, escaped", replace(create, `"uid":"u1"`, `"uid":"u1","\u0075id":"u3"`), "more than once"},
		{"duplicate key in what is skipped", replace(create, `{"kind":"CreateOptions"}`, `{"a":1,"a":2}`), "more than once"},
		{"deep lists", deep, "depth"},
		{"deep lists in an unknown field", replace(create, `"dryRun":true`, `"x":`+deep+strings.Repeat("]", 20000)), "depth"},
		{"exec into no pod", replace(connect, `"name":"web",`, ``), "request.name is missing"},
		{"exec into an empty pod", replace(connect, `"name":"web"`, `"name":""`), "request.name is missing: a CONNECT to pods/exec names what it enters"},
		{"exec in no namespace", replace(connect, `"namespace":"shop",`, ``), "request.namespace is missing: a CONNECT to pods/exec says in which namespace"},
		{"a CONNECT to no subresource", replace(connect, `"subResource":"exec",`, ``), "request.subResource is missing: a CONNECT to pods cannot be judged without it; it is one of nodes/proxy, pods/attach,"},
		{"a CONNECT to an empty subresource", replace(connect, `"subResource":"exec"`, `"subResource":""`), "request.subResource is missing"},
		{"a CONNECT to an unknown subresource", replace(connect, `"subResource":"exec"`, `"subResource":"shell"`), "a CONNECT to pods/shell of the core group is not known"},
		{"a CONNECT to a longer subresource", replace(connect, `"subResource":"exec"`, `"subResource":"exec/x"`), "is not known, and so cannot be judged"},
		{"a CONNECT, the subresource twice", replace(connect, `"resource":"pods"`, `"resource":"pods/exec"`), "is not known, and so cannot be judged"},
		{"a CONNECT to another resource", replace(connect, `"resource":"pods"`, `"resource":"secrets"`), "a CONNECT to secrets/exec of the core group is not known"},
		{"a CONNECT to the singular", replace(connect, `"resource":"pods"`, `"resource":"pod"`), "is not known, and so cannot be judged"},
		{"the options of exec, in another group", replace(connect, `"resource":{"group":""`, `"resource":{"group":"example.com"`), `request.resource is pods of group "example.com"`},
		{"port-forward to no pod", replace(connect, `"name":"web",`, ``, `"subResource":"exec"`, `"subResource":"portforward"`), "request.name is missing"},
		{"node proxy to no node", replace(connect, `"name":"web",`, ``, `"subResource":"exec"`, `"subResource":"proxy"`, `"resource":"pods"`, `"resource":"nodes"`), "request.name is missing"},
		{"exec without options", connect[:strings.Index(connect, `,"object"`)] + "}}", "carries its PodExecOptions"},
		{"exec with null options", connect[:strings.Index(connect, `{"apiVersion":"v1","kind":"PodExec`)] + "null}}", "carries its PodExecOptions"},
		{"exec with other options", replace(connect, `"version":"v1","kind":"PodExecOptions"`, `"version":"v1","kind":"PodProxyOptions"`), "a CONNECT to pods/exec carries PodExecOptions"},
		{"exec, options name themselves another", replace(connect, `"apiVersion":"v1","kind":"PodExecOptions"`, `"apiVersion":"v1","kind":"PodProxyOptions"`), "names itself PodProxyOptions"},
		{"exec, container twice", replace(connect, `"container":"app"`, `"container":"app","container":"other"`), "more than once"},
		{"options are a list", replace(connect, `{"apiVersion":"v1","kind":"PodExecOptions","stdin":true,"tty":true,"container":"app","command":["cat","/secret"]}`, `[]`), "cannot be read as a PodExecOptions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.body == create || tt.body == connect {
				t.Fatal("the test changes nothing")
			}
			_, err := Parse([]byte(tt.body), pod.Default())
			wantMalformed(t, err, tt.want)
		})
	}
}

// TestParseNormalises says that the names of a resource are those of a URL,
// however they are spelt.
func TestParseNormalises(t *testing.T) {
	req, err := Parse([]byte(replace(connect, `"resource":"pods"`, `"resource":"Pods"`, `"subResource":"exec"`, `"subResource":"Exec"`)), pod.Default())
	if err != nil {
		t.Fatal(err)
	}
	if req.Resource.Resource != "pods" || req.Subresource != "exec" || req.Options.Container != "app" {
		t.Errorf("got %v/%s, options %+v", req.Resource, req.Subresource, req.Options)
	}
}

func recordedAdmission() [][]byte {
	var bodies [][]byte
	for _, review := range doortest.Recorded() {
		if review.Admission {
			bodies = append(bodies, review.Body)
		}
	}
	return bodies
}

// TestParseRecorded reads all that an API server was seen to send.
func TestParseRecorded(t *testing.T) {
	read := 0
	for _, review := range doortest.Recorded() {
		if !review.Admission {
			continue
		}
		read++
		req, err := Parse(review.Body, pod.Default())
		switch {
		case err != nil:
			t.Errorf("%s: %v", review.File, err)
		case req.UID == "" || req.User.Name == "" || req.Resource.Resource == "" || req.Name == "":
			t.Errorf("%s: %+v lacks something", review.File, req)
		case req.Operation == request.Connect && req.Options.Kind != req.Kind.Kind:
			t.Errorf("%s: options %+v", review.File, req.Options)
		case req.Operation == request.Update && (len(req.Object.Pods) != 1 || len(req.OldObject.Pods) != 1):
			t.Errorf("%s: the pods were not read", review.File)
		}
	}
	if read < 40 {
		t.Errorf("only %d reviews are there", read)
	}
}

func wantMalformed(t *testing.T, err error, text string) {
	t.Helper()
	var malformed *door.Error
	switch {
	case !errors.As(err, &malformed):
		t.Fatalf("got %v, want a *door.Error", err)
	case malformed.Status != http.StatusBadRequest:
		t.Errorf("status %d, want 400", malformed.Status)
	case strings.ContainsAny(malformed.Message, "\n") || !strings.Contains(malformed.Message, text):
		t.Errorf("message %q does not hold %q, or is not a sentence", malformed.Message, text)
	}
}

func replace(in string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(in, pairs[i]) {
			panic(pairs[i] + " is not in the review")
		}
		in = strings.Replace(in, pairs[i], pairs[i+1], 1)
	}
	return in
}
