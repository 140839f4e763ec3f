package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
)

// before are the checks of a cluster that Sallyport is to be installed in.
var before = []check{
	{"Before installing", "pre.version", (*looking).serverVersion, false},
	{"Before installing", "pre.admission", (*looking).admission, false},
	{"Before installing", "pre.rights", (*looking).ownRights, false},
	{"Before installing", "pre.namespace", (*looking).namespaceTaken, false},
	{"Before installing", "pre.webhooks", (*looking).webhooksTaken, false},
	{"Before installing", "pre.kinds", (*looking).kindsTaken, false},
}

// admission finds out whether the API server has webhooks at all.
func (l *looking) admission(ctx context.Context, s *says) {
	const version = "admissionregistration.k8s.io/v1"
	list, err := l.Discovery.ServerResourcesForGroupVersionWithContext(ctx, version)
	switch {
	case apierrors.IsNotFound(err):
		s.problem("", "", "Enable "+version+" (--runtime-config of kube-apiserver).", "the API server does not serve %s", version)
		return
	case err != nil:
		s.unknown("whether the API server has webhooks is not known", err)
		return
	}
	for _, name := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			s.problem("", "", "Enable "+version+" (--runtime-config of kube-apiserver).", "the API server does not serve %s", name)
		}
	}
	s.ok("the API server has webhooks for admission")
}

// toInstall are the rights that whoever installs needs. To grant what Sallyport's account
// gets he has to hold it, or escalate.
func (l *looking) toInstall() []authorizationv1.ResourceAttributes {
	own := l.Namespace
	return []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "namespaces"},
		{Verb: "create", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Verb: "create", Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
		{Verb: "create", Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		{Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
		{Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: own},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Namespace: own},
		{Verb: "create", Resource: "serviceaccounts", Namespace: own},
		{Verb: "create", Resource: "services", Namespace: own},
		{Verb: "create", Resource: "secrets", Namespace: own},
		{Verb: "create", Group: "apps", Resource: "deployments", Namespace: own},
		{Verb: "create", Group: "policy", Resource: "poddisruptionbudgets", Namespace: own},
		{Verb: "create", Group: "networking.k8s.io", Resource: "networkpolicies", Namespace: own},
	}
}

func (l *looking) ownRights(ctx context.Context, s *says) {
	var lacks []string
	for _, right := range l.toInstall() {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		got, err := l.API.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			s.unknown("which rights you have is not known", err)
			return
		}
		if !got.Status.Allowed {
			lacks = append(lacks, strings.TrimSuffix(right.Verb+" "+right.Resource+"."+right.Group, "."))
		}
	}
	if len(lacks) > 0 {
		s.problem("User "+l.who.Username, "", "Install as somebody who is bound to cluster-admin.", "you lack: %s", some(lacks, 8))
	}
	s.ok("you may install")
}

// webhooksTaken finds configurations that have the names of ours.
func (l *looking) webhooksTaken(ctx context.Context, s *says) {
	const hint = "If it is Sallyport's, this is an upgrade (sallyport doctor looks at it) or what an uninstalled one left (sallyport doctor --repair=delete takes it away)."
	for _, name := range []string{l.Name, l.Name + webhooks.RulesSuffix} {
		for kind, get := range map[string]func() (metav1.Object, error){
			"ValidatingWebhookConfiguration": func() (metav1.Object, error) {
				return l.API.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
			},
			"MutatingWebhookConfiguration": func() (metav1.Object, error) {
				return l.API.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
			},
		} {
			_, err := get()
			switch {
			case apierrors.IsNotFound(err):
			case err != nil:
				s.unknown("whether the name of "+kind+" "+name+" is free is not known", err)
			default:
				s.warn(kind+" "+name, "", hint, "it is there already")
			}
		}
	}
	slices.SortFunc(s.found, func(a, b Finding) int { return strings.Compare(a.Object, b.Object) })
	s.ok("the names of the webhook configurations are free")
}

// releaseName and releaseNamespace are where Helm notes to which release something belongs.
const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// kindsTaken finds definitions of our kinds that belong to another release.
func (l *looking) kindsTaken(ctx context.Context, s *says) {
	there := 0
	for _, kind := range v1alpha1.Kinds() {
		name := definitionOf(kind)
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		err := l.Objects.Get(ctx, client.ObjectKey{Name: name}, object)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			s.unknown("whose the definitions of Sallyport's kinds are is not known", err)
			return
		}
		there++
		release, namespace := object.Annotations[releaseName], object.Annotations[releaseNamespace]
		if release != "" && (release != "sallyport" || namespace != l.Namespace) {
			s.problem("CustomResourceDefinition "+name, "metadata.annotations", "Install with that name and namespace, or with crds.install: false.", "it belongs to the release %s of %s", release, namespace)
		}
	}
	s.ok("%s", fmt.Sprintf("%d of %d definitions are there, and none is of another release", there, len(v1alpha1.Kinds())))
}

// definitionOf is the name of the definition of a kind of ours.
func definitionOf(kind string) string {
	return v1alpha1.Plural(kind) + "." + v1alpha1.GroupVersion.Group
}
