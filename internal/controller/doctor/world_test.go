package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/config/rbac"
	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/reached"
	"github.com/sallyport-io/sallyport/internal/controller/replicas"
	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const word = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

var now = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// world is a cluster with an installation in which nothing is to be found.
type world struct {
	version     string
	judges      *admissionregistrationv1.ValidatingWebhookConfiguration
	changes     *admissionregistrationv1.MutatingWebhookConfiguration
	deployment  *appsv1.Deployment
	service     *corev1.Service
	slice       *discoveryv1.EndpointSlice
	secret      *corev1.Secret
	leases      []*coordinationv1.Lease
	role        *rbacv1.ClusterRole
	policy      *v1alpha1.ClusterPolicy
	kinds       []string
	objects     []runtime.Object
	ours        []client.Object
	groups      []string
	apiServerIs time.Duration
	// authorizer is set where the side door is asked, and keeps where its answers are
	// kept; canary is what becomes of one that is not answered by Sallyport.
	authorizer, keeps bool
	canary            error
	// forbidden is a resource that whoever looks may not get at.
	forbidden string
	options   Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	pair, err := selfsigned.New([]string{"sallyport.sallyport-system.svc"}, now.Add(-time.Hour))
	must(t, err)
	w := &world{version: "v1.37.2", authorizer: true, kinds: v1alpha1.Kinds()}
	w.judges, err = wiring.Webhook("https://sallyport", pair.CA, "")
	must(t, err)
	w.changes, err = wiring.MutatingWebhook("https://sallyport", pair.CA, "")
	must(t, err)
	lead := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: pair.CA, Service: &admissionregistrationv1.ServiceReference{Namespace: wiring.Namespace, Name: "sallyport", Path: &path}}
	}
	for i := range w.judges.Webhooks {
		w.judges.Webhooks[i].ClientConfig = lead("/validate")
	}
	for i := range w.changes.Webhooks {
		w.changes.Webhooks[i].ClientConfig = lead("/mutate")
	}
	in := metav1.ObjectMeta{Name: "sallyport", Namespace: wiring.Namespace}
	w.deployment = &appsv1.Deployment{ObjectMeta: in, Status: appsv1.DeploymentStatus{ReadyReplicas: 2}}
	w.deployment.Spec.Replicas = ptr.To[int32](2)
	w.deployment.Spec.Template.Labels = map[string]string{"app": "sallyport"}
	w.deployment.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "sallyport"}}}}
	w.service = &corev1.Service{ObjectMeta: in, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}
	w.slice = &discoveryv1.EndpointSlice{ObjectMeta: in, Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}}}
	w.slice.Labels = map[string]string{discoveryv1.LabelServiceName: "sallyport"}
	w.secret = &corev1.Secret{ObjectMeta: in, Data: map[string][]byte{corev1.TLSCertKey: pair.Cert}}
	for _, name := range []string{"one", "two"} {
		w.leases = append(w.leases, leaseOf(name))
	}
	leads := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leader.LeaseName, Namespace: wiring.Namespace}}
	leads.Spec.HolderIdentity, leads.Spec.RenewTime = ptr.To("one"), &metav1.MicroTime{Time: now}
	w.leases = append(w.leases, leads)
	w.role = &rbacv1.ClusterRole{}
	must(t, yaml.Unmarshal([]byte(rbac.ClusterRole), w.role))
	binding := &rbacv1.ClusterRoleBinding{}
	must(t, yaml.Unmarshal([]byte(rbac.ClusterRoleBinding), binding))
	role, bound, _ := strings.Cut(rbac.Leases, "\n---\n")
	leases, of := &rbacv1.Role{}, &rbacv1.RoleBinding{}
	must(t, yaml.Unmarshal([]byte(role), leases))
	must(t, yaml.Unmarshal([]byte(bound), of))
	w.objects = []runtime.Object{binding, leases, of}
	w.policy = &v1alpha1.ClusterPolicy{ObjectMeta: metav1.ObjectMeta{Name: "baseline"}}
	must(t, yaml.Unmarshal([]byte("spec: {rules: [{name: r, validate: {podSecurity: {level: baseline}}}]}"), w.policy))
	w.policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue}}
	return w
}

// leaseOf is what a replica says.
func leaseOf(name string) *coordinationv1.Lease {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: "sallyport-replica-" + name, Namespace: wiring.Namespace, Labels: map[string]string{replicas.LabelOf: "sallyport"},
		Annotations: map[string]string{
			"sallyport.io/ready": "true", "sallyport.io/word": word, "sallyport.io/in-force": `{"ClusterPolicy":{"version":"1","digest":"a"}}`,
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: now}}},
	}}
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds, l.Spec.RenewTime = ptr.To(name), ptr.To[int32](70), &metav1.MicroTime{Time: now}
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has is what the API server serves.
type has struct {
	Discovery
	*world
}

func (h has) ServerVersionWithContext(context.Context) (*version.Info, error) {
	return &version.Info{GitVersion: h.version}, nil
}

func (h has) ServerGroupsAndResourcesWithContext(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	core := &metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"create", "update"}}}}
	for _, name := range []string{"pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy"} {
		core.APIResources = append(core.APIResources, metav1.APIResource{Name: name, Kind: "PodExecOptions", Namespaced: true, Verbs: metav1.Verbs{"create", "get"}})
	}
	core.APIResources = append(core.APIResources, metav1.APIResource{Name: "nodes/proxy", Kind: "NodeProxyOptions", Verbs: metav1.Verbs{"create", "get"}},
		metav1.APIResource{Name: "pods/ephemeralcontainers", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"update", "patch"}})
	ours := &metav1.APIResourceList{GroupVersion: v1alpha1.GroupVersion.String()}
	for _, kind := range h.kinds {
		ours.APIResources = append(ours.APIResources, metav1.APIResource{Name: v1alpha1.Plural(kind), Kind: kind, Namespaced: v1alpha1.Namespaced(kind), Verbs: metav1.Verbs{"create", "update", "delete"}})
	}
	return nil, []*metav1.APIResourceList{core, ours}, &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "metrics.k8s.io", Version: "v1"}: errors.New("away")}}
}

func (h has) ServerResourcesForGroupVersionWithContext(context.Context, string) (*metav1.APIResourceList, error) {
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "validatingwebhookconfigurations"}, {Name: "mutatingwebhookconfigurations"}}}, nil
}

func knows(w string) bool { return w == word }

// look runs all checks, or those before an installation.
func (w *world) look(t *testing.T, run func(context.Context, Options) (*Report, error)) *Report {
	t.Helper()
	report, err := run(t.Context(), w.made(t))
	must(t, err)
	return report
}

// made are the options by which the world is looked at.
func (w *world) made(t *testing.T) Options {
	t.Helper()
	rules := metav1.ObjectMeta{Name: "sallyport-rules"}
	objects := append(w.objects, w.role, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: rules}, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: rules})
	if w.judges != nil {
		objects = append(objects, w.judges)
	}
	if w.changes != nil {
		objects = append(objects, w.changes)
	}
	if w.deployment != nil {
		objects = append(objects, w.deployment)
	}
	if w.service != nil {
		objects = append(objects, w.service)
	}
	for _, l := range w.leases {
		objects = append(objects, l)
	}
	api := kubernetesfake.NewClientset(append(objects, w.slice, w.secret)...)
	api.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: now.Add(w.apiServerIs)}},
			Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "looker", Groups: w.groups}},
		}, nil
	})
	api.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, a.(clienttesting.CreateAction).GetObject(), nil
	})
	kept := ""
	api.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		said, is := reached.Answer(&request.Request{Door: request.Access, User: request.User{Name: review.Spec.User}}, knows)
		if is && w.authorizer {
			if w.keeps && kept != "" {
				said = kept
			}
			kept = said
			review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: said}
		}
		return true, review, nil
	})
	api.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if w.forbidden != "" && a.GetResource().Resource == w.forbidden {
			return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", fmt.Errorf("User %q cannot %s resource %q", "looker", a.GetVerb(), w.forbidden))
		}
		return false, nil, nil
	})
	scheme, err := cluster.NewScheme()
	must(t, err)
	ours := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(w.ours, w.policy)...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if w.canary != nil {
				return w.canary
			}
			said, _ := reached.Answer(&request.Request{
				Door: request.Admission, Operation: request.Create, DryRun: true, Kind: v1alpha1.GroupVersion.WithKind("PolicyExceptionResponse"), Name: o.GetName(),
			}, knows)
			return errors.New("admission webhook denied the request: " + said)
		},
	}).Build()
	o := w.options
	o.API, o.Objects, o.Discovery, o.Clock = api, ours, has{world: w}, clocktesting.NewFakeClock(now)
	return o
}
