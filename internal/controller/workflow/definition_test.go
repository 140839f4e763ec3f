package workflow

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// redefiners are those who hold the verb redefine on one definition.
type redefiners struct {
	holder string
	asked  []request.Attributes
	err    error
}

func (a *redefiners) Allowed(_ context.Context, user request.User, attributes request.Attributes) (bool, error) {
	a.asked = append(a.asked, attributes)
	return user.Name == a.holder, a.err
}

func definitionObject(t *testing.T, name, spec string) *pod.Object {
	t.Helper()
	object, err := pod.Default().Decode(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		[]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"`+name+`","generation":3},"spec":`+spec+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestDefinition(t *testing.T) {
	const ours, served, gone = "denypolicies.sallyport.io", `{"group":"sallyport.io","versions":[{"name":"v1alpha1","served":true}]}`, `{"group":"sallyport.io","versions":[{"name":"v1alpha1","served":false}]}`
	unread, empty := &pod.Object{Meta: &metav1.ObjectMeta{Name: ours}}, &pod.Object{Raw: []byte("{}"), Meta: &metav1.ObjectMeta{Name: ours}}
	for _, tt := range []struct {
		name        string
		operation   request.Operation
		subresource string
		user        string
		requested   string
		object, old *pod.Object
		noOne       bool
		want        decision.Status
		says        string
	}{
		{"deleted by whoever may", request.Delete, "", "holder", ours, nil, definitionObject(t, ours, served), false, decision.Pass, "holder may redefine"},
		{"deleted by another", request.Delete, "", "eve", ours, nil, definitionObject(t, ours, served), false, decision.Fail, `needs the verb redefine on customresourcedefinitions.apiextensions.k8s.io "denypolicies.sallyport.io", which eve does not have`},
		{"deleted with others", request.Delete, "", "eve", "", nil, definitionObject(t, ours, served), false, decision.Fail, ours + " defines a kind of Sallyport, and deleting it"},
		{"another's, deleted with others", request.Delete, "", "eve", "", nil, definitionObject(t, "widgets.example.com", served), false, "", ""},
		{"another's, whose old has no name", request.Delete, "", "eve", "widgets.example.com", nil, definitionObject(t, "", served), false, "", ""},
		{"changed to nothing", request.Update, "", "eve", ours, nil, definitionObject(t, ours, served), false, decision.Fail, "changing it"},
		{"changed from nothing", request.Update, "", "eve", ours, definitionObject(t, ours, served), nil, false, decision.Fail, "changing it"},
		{"changed to what cannot be read", request.Update, "", "eve", ours, unread, unread, false, decision.Fail, "changing it"},
		{"changed to what cannot be read, from nothing", request.Update, "", "eve", ours, unread, empty, false, decision.Fail, "changing it"},
		{"changed from what cannot be read", request.Update, "", "eve", ours, empty, unread, false, decision.Fail, "changing it"},
		{"deleted, nothing says which", request.Delete, "", "eve", "", nil, nil, false, decision.Fail, "whatever its name"},
		{"deleted, only its name is told", request.Delete, "", "eve", ours, nil, nil, false, decision.Fail, ours},
		{"no longer served", request.Update, "", "eve", ours, definitionObject(t, ours, gone), definitionObject(t, ours, served), false, decision.Fail, "changing it"},
		{"its status", request.Update, "status", "eve", ours, definitionObject(t, ours, served), definitionObject(t, ours, served), false, decision.Fail, "changing it"},
		{"its labels", request.Update, "", "eve", ours, definitionObject(t, ours, served), definitionObject(t, ours, served), false, "", ""},
		{"made", request.Create, "", "eve", ours, definitionObject(t, ours, served), nil, false, "", ""},
		{"another's", request.Delete, "", "eve", "widgets.example.com", nil, definitionObject(t, "widgets.example.com", served), false, "", ""},
		{"another's with a name like ours", request.Delete, "", "eve", "x", nil, definitionObject(t, "policies.notsallyport.io", served), false, "", ""},
		{"no one to ask", request.Delete, "", "holder", ours, nil, definitionObject(t, ours, served), true, decision.Error, "there is no cluster to ask"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			authorizer := &redefiners{holder: "holder"}
			r := &request.Request{
				Door: request.Admission, Operation: tt.operation, Name: tt.requested, Object: tt.object, OldObject: tt.old, User: request.User{Name: tt.user},
				Resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, Subresource: tt.subresource,
			}
			if !tt.noOne {
				r.Authorizer = authorizer
			}
			results := Definition(t.Context(), r)
			if tt.want == "" {
				if len(results) > 0 || len(authorizer.asked) > 0 {
					t.Errorf("got %+v, asked %v", results, authorizer.asked)
				}
				return
			}
			if len(results) != 1 || results[0].Status != tt.want || !strings.Contains(results[0].Message, tt.says) {
				t.Fatalf("got %+v, want %s and %q", results, tt.want, tt.says)
			}
			if !tt.noOne && (len(authorizer.asked) != 1 || authorizer.asked[0].Verb != "redefine" || authorizer.asked[0].Resource != "customresourcedefinitions" || authorizer.asked[0].Namespace != "") {
				t.Errorf("asked %+v", authorizer.asked)
			}
		})
	}
	for name, change := range map[string]func(*request.Request){
		"at the other door": func(r *request.Request) { r.Door = request.Access },
		"another resource":  func(r *request.Request) { r.Resource.Resource = "widgets" },
		"another group":     func(r *request.Request) { r.Resource.Group = "example.com" },
	} {
		r := &request.Request{
			Door: request.Admission, Operation: request.Delete, Name: ours, Authorizer: &redefiners{},
			Resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		}
		if change(r); len(Definition(t.Context(), r)) > 0 {
			t.Errorf("%s: something is said", name)
		}
	}
	failing := &request.Request{
		Door: request.Admission, Operation: request.Delete, Name: ours, Authorizer: &redefiners{holder: "holder", err: errors.New("the API server is away")},
		Resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, User: request.User{Name: "holder"},
	}
	if results := Definition(t.Context(), failing); len(results) != 1 || !results[0].Blocks() || !strings.Contains(results[0].Message, "is away") {
		t.Errorf("got %+v", results)
	}
}
