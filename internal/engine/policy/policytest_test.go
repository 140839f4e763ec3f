package policy

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// sourcesOf reads policies as they would stand in a file.
func sourcesOf(t testing.TB, documents ...string) Sources {
	t.Helper()
	var sources Sources
	for _, document := range documents {
		if problems := addYAML(t, &sources, document); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	return sources
}

func addYAML(t testing.TB, sources *Sources, document string) stored.Problems {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(raw, &meta); err != nil {
		t.Fatal(err)
	}
	return sources.Add(meta.GroupVersionKind(), raw, "policies.yaml, document 1")
}

// setOf compiles policies that are right.
func setOf(t testing.TB, documents ...string) *Set {
	t.Helper()
	set, problems := Compile(sourcesOf(t, documents...), pod.Default(), exception.Options{Began: judgedAt})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

// clusterOf makes a cluster of pods and of whatever else is given.
func clusterOf(t testing.TB, objects ...runtime.Object) *cluster.Files {
	t.Helper()
	files, err := cluster.NewFiles(objects)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func podNamed(namespace, name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func privileged(p *corev1.Pod) {
	yes := true
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// exec is what the access door is asked when somebody execs by SPDY.
func exec(state request.Cluster, podNamespace, name string) *request.Request {
	return access1(state, "exec", podNamespace, name)
}

func access1(state request.Cluster, subresource, podNamespace, name string) *request.Request {
	return &request.Request{Time: judgedAt,
		Door: request.Access, Verb: "create", ClusterName: "prod-eu", User: request.User{Name: "alice", Groups: []string{"developers"}},
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Subresource: subresource,
		Namespace: podNamespace, Name: name, Cluster: state,
	}
}

// created is what the admission door is asked when an object is created.
func created(t testing.TB, state request.Cluster, gvk schema.GroupVersionKind, resource, document string) *request.Request {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	object, err := pod.Default().Decode(gvk, raw)
	if err != nil {
		t.Fatal(err)
	}
	return &request.Request{Time: judgedAt,
		Door: request.Admission, UID: "1", Operation: request.Create, ClusterName: "prod-eu", User: request.User{Name: "alice"},
		Kind: gvk, Resource: schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: resource},
		Namespace: object.Meta.Namespace, Name: object.Meta.Name, Object: object, Cluster: state,
	}
}

// only gives the one result of a decision.
func only(t *testing.T, d decision.Decision) decision.Result {
	t.Helper()
	if len(d.Results) != 1 {
		t.Fatalf("%d results, one is expected: %+v", len(d.Results), d.Results)
	}
	return d.Results[0]
}

// unreadable is a cluster of which nothing can be read.
type unreadable struct{}

var errUnreadable = errors.New("connection refused")

func (unreadable) Pod(context.Context, string, string) (*corev1.Pod, error) {
	return nil, errUnreadable
}
func (unreadable) PodsOnNode(context.Context, string) ([]*corev1.Pod, error) {
	return nil, errUnreadable
}
func (unreadable) ServiceAccount(context.Context, string, string) (*corev1.ServiceAccount, error) {
	return nil, errUnreadable
}
func (unreadable) Object(context.Context, schema.GroupVersionKind, string, string) ([]byte, error) {
	return nil, errUnreadable
}
func (unreadable) Namespace(context.Context, string) (*corev1.Namespace, error) {
	return nil, errUnreadable
}
func (unreadable) ServiceAccountPowers(context.Context, string, string) ([]string, error) {
	return nil, errUnreadable
}
func (unreadable) Allowed(context.Context, request.User, request.Attributes) (bool, error) {
	return false, errUnreadable
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func boundTo(user, role string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
}

// judgedAt is when the requests of tests are judged.
var judgedAt = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
