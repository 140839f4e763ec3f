package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// The sources of the tests: of the document, of an account's annotation, and of
// a token that belongs to the account.
var identitySources = []string{
	"apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: kerberos}\nspec: {key: kerberos, podAnnotation: {}}",
	"apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: gke}\nspec: {key: cloud.google.com/serviceaccount, serviceAccount: {annotation: iam.gke.io/gcp-service-account}}",
	"apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: vault}\nspec: {key: vault, projectedToken: {audience: vault}, subresources: [exec, attach, ephemeralcontainers, portforward]}",
	"apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: tekton}\nspec: {key: tekton, field: {kinds: [{group: tekton.dev, kind: TaskRun, paths: [spec.podTemplate.identity]}]}}",
}

const (
	holder   = "employee-10"
	stranger = "alice"
)

// identityObjects is a cluster in which employee-10 may act as every identity of
// the tests, alice as none, and ns-admin may do everything in the namespace.
func identityObjects() []runtime.Object {
	grant := func(key string, values ...string) rbacv1.PolicyRule {
		rule := rbacv1.PolicyRule{APIGroups: []string{"authorization.k8s.io"}, ResourceNames: []string{key}, Verbs: []string{"use"}}
		for _, value := range values {
			rule.Resources = append(rule.Resources, "validatedannotations/"+value)
		}
		return rule
	}
	running := func(name, account string, annotations map[string]string) *corev1.Pod {
		return podNamed("shop", name, func(p *corev1.Pod) {
			p.UID, p.Annotations, p.Spec.ServiceAccountName, p.Spec.NodeName = types.UID("pod-"+name), annotations, account, "node-1"
		})
	}
	account := func(name string, annotations map[string]string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: annotations}}
	}
	everything := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	return []runtime.Object{
		clusterRole("identities", grant("kerberos", "legacy-frontend-app", "other-app"), grant("cloud.google.com/serviceaccount", "gcs@mycompany.gserviceaccount.com", "harmless"),
			grant("vault", "shop:app", "shop:gcs"), grant("tekton", "builder")),
		boundTo(holder, "identities"),
		clusterRole("vouching", rbacv1.PolicyRule{APIGroups: []string{"sallyport.io"}, Resources: []string{"identitysources"}, Verbs: []string{identityrule.VerbAcknowledge}}),
		boundTo("root", "vouching"),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "everything"}, Rules: []rbacv1.PolicyRule{everything}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "everything"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "everything"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "ns-admin"}}},
		account("app", nil), account("gcs", map[string]string{"iam.gke.io/gcp-service-account": "gcs@mycompany.gserviceaccount.com"}),
		running("app", "app", map[string]string{"kerberos": "legacy-frontend-app"}), running("gcs", "gcs", nil), running("plain", "app", nil),
		namespace("shop", nil),
	}
}

// owned is a cluster of files with objects that own others.
type owned struct {
	*cluster.Files
	objects map[string]string
}

func (o owned) Object(_ context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	text, ok := o.objects[kind.Kind+" "+namespace+"/"+name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(kind.Kind)}, name)
	}
	return yaml.YAMLToJSON([]byte(text))
}

func identityCluster(t testing.TB) *cluster.Files { return clusterOf(t, identityObjects()...) }

// asked is an admission request; old is empty for a creation.
func asked(t testing.TB, state interface {
	request.Cluster
	request.Authorizer
}, user, resource, subresource, old, document string) *request.Request {
	t.Helper()
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
		t.Fatal(err)
	}
	r := created(t, state, meta.GroupVersionKind(), resource, document)
	r.User, r.Subresource, r.Authorizer = request.User{Name: user, Groups: []string{"system:authenticated"}}, subresource, state
	if subresource == "token" {
		r.Resource.Group, r.Resource.Version = "", "v1"
	}
	if old != "" {
		r.Operation = request.Update
		r.OldObject = created(t, state, meta.GroupVersionKind(), resource, old).Object
	}
	return r
}

// podYAML is a pod of shop with an annotation and an image.
func podYAML(name, annotations, image string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, annotations: {%s}}\nspec: {serviceAccountName: app, containers: [{name: app, image: %q}]}\n", name, annotations, image)
}

const claimed = "kerberos: legacy-frontend-app"

// makerYAML is an object of shop with a pod template.
func makerYAML(apiVersion, kind, name, meta, annotations, image string) string {
	template := fmt.Sprintf("{metadata: {annotations: {%s}}, spec: {serviceAccountName: app, containers: [{name: app, image: %q}]}}", annotations, image)
	spec := "spec: {replicas: 1, template: " + template + "}"
	switch kind {
	case "CronJob":
		spec = "spec: {jobTemplate: {spec: {template: " + template + "}}}"
	case "PodTemplate":
		spec = "template: " + template
	case "ControllerRevision":
		spec = "revision: 1\ndata: {spec: {template: " + strings.Replace(template, "{", "{$patch: replace, ", 1) + "}}"
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: shop%s}\n%s\n", apiVersion, kind, name, meta, spec)
}

func deploymentYAML(meta, annotations, image string) string {
	return makerYAML("apps/v1", "Deployment", "web", meta, annotations, image)
}

// marked is metadata with the mark for the claims.
func marked(claims ...identity.Claim) string {
	return ", annotations: {sallyport.io/template-judged: " + identity.Signature(nil, "shop", claims) + "}"
}

var frontend = identity.Claim{Key: "kerberos", Value: "legacy-frontend-app"}

// summary writes results about identities as "SOURCE/RULE STATUS", joined.
func summary(d decision.Decision) string {
	var parts []string
	for i := range d.Results {
		if r := &d.Results[i]; r.Kind == identity.KindSource {
			parts = append(parts, r.Policy+"/"+r.Rule+" "+string(r.Status))
		}
	}
	return strings.Join(parts, ", ")
}

func messages(d decision.Decision) string {
	var parts []string
	for i := range d.Results {
		parts = append(parts, d.Results[i].Message)
	}
	return strings.Join(parts, "\n")
}

func identitySet(t testing.TB, more ...string) *Set {
	t.Helper()
	return setOf(t, append(identitySources[:len(identitySources):len(identitySources)], more...)...)
}
