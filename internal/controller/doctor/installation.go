package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

var ofInstallation = []check{
	{"Installation", "installation.version", (*looking).serverVersion, false},
	{"Installation", "installation.kinds", (*looking).kinds, false},
	{"Installation", "installation.workload", (*looking).runs, false},
}

// errNoLease is why nothing is known of replicas.
var errNoLease = errors.New("no replica is heard of")

// oldest is the first version of Kubernetes whose webhooks have match conditions by
// themselves.
var oldest = utilversion.MustParseGeneric("1.30")

func (l *looking) serverVersion(_ context.Context, s *says) {
	got, err := utilversion.ParseGeneric(l.version.GitVersion)
	switch {
	case err != nil:
		s.unknown("the version of the API server cannot be read", err)
	case got.LessThan(oldest):
		s.problem("", "", "Upgrade the cluster to Kubernetes 1.30 or later.", "the API server is of version %s, which has no match conditions of webhooks by itself", l.version.GitVersion)
	}
	s.ok("the API server is of version %s", l.version.GitVersion)
}

// kinds finds kinds of ours that are not served.
func (l *looking) kinds(ctx context.Context, s *says) {
	const hint = "Apply config/crd (kubectl apply --server-side -f config/crd, or crds.install of the chart)."
	_, lists, err := l.Discovery.ServerGroupsAndResourcesWithContext(ctx)
	// Groups of other API servers that do not answer are not ours.
	if failed := (*discovery.ErrGroupDiscoveryFailed)(nil); err != nil && !errors.As(err, &failed) {
		s.unknown("which kinds the API server has is not known", err)
		return
	}
	served := map[string]bool{}
	for _, list := range lists {
		if list.GroupVersion != v1alpha1.GroupVersion.String() {
			continue
		}
		for i := range list.APIResources {
			served[list.APIResources[i].Kind] = true
		}
	}
	var missing []string
	for _, kind := range v1alpha1.Kinds() {
		if !served[kind] {
			missing = append(missing, kind)
		}
	}
	if len(missing) > 0 {
		s.problem("", "", hint, "the API server does not serve %s: until it does, Sallyport refuses everything", some(missing, 6))
	}
	s.ok("all kinds of %s are served", v1alpha1.GroupVersion)
}

// runs looks at the Deployment.
func (l *looking) runs(ctx context.Context, s *says) {
	d, err := l.workload(ctx)
	if err != nil {
		s.unknown("whether Sallyport runs in the cluster is not known", err)
		return
	}
	if d == nil {
		l.runsElsewhere(ctx, s)
		return
	}
	object := "Deployment " + d.Namespace + "/" + d.Name
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	hint := fmt.Sprintf("kubectl -n %s describe pods -l app.kubernetes.io/name=sallyport says what keeps them.", d.Namespace)
	switch {
	case wanted == 0:
		s.problem(object, "spec.replicas", "kubectl -n "+d.Namespace+" scale deployment/"+d.Name+" --replicas=2, or take the webhooks away (sallyport doctor --repair).", "it is scaled to none, and webhooks lead to it")
	case d.Status.ReadyReplicas == 0:
		s.problem(object, "status.readyReplicas", hint, "none of %d pods is ready", wanted)
	case d.Status.ReadyReplicas < wanted:
		s.warn(object, "status.readyReplicas", hint, "%d of %d pods are ready", d.Status.ReadyReplicas, wanted)
	}
	if d.Spec.Template.Spec.HostNetwork {
		s.ok("%d pods are ready, in the network of their nodes", d.Status.ReadyReplicas)
	}
	s.ok("%d pods are ready", d.Status.ReadyReplicas)
}

// runsElsewhere looks for what leads into a cluster that Sallyport does not run in.
func (l *looking) runsElsewhere(ctx context.Context, s *says) {
	found, err := l.webhooks(ctx)
	if err != nil {
		s.unknown("where webhooks lead is not known", err)
		return
	}
	for i := range found.Webhooks {
		if service := found.Webhooks[i].Leads.Service; service != nil && found.Webhooks[i].Ours {
			s.problem("Deployment "+l.Namespace+"/sallyport", "", "If Sallyport was uninstalled, take away what it left: sallyport doctor --repair=delete. If it runs in another namespace, name that with --namespace.", "there is no such Deployment, and webhooks lead to the Service %s/%s", service.Namespace, service.Name)
			return
		}
	}
	s.ok("Sallyport runs outside of the cluster, or under another name")
}

// namespaceTaken lists what is in a namespace that is not ours.
func (l *looking) namespaceTaken(ctx context.Context, s *says) {
	const hint = "Install into a namespace of its own (helm install --namespace sallyport-system --create-namespace): pods there are not asked about."
	_, err := l.API.CoreV1().Namespaces().Get(ctx, l.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.ok("the namespace %s is not there yet", l.Namespace)
		return
	case err != nil:
		s.unknown("whether the namespace is free is not known", err)
		return
	}
	var others []string
	err = pages(ctx, l.API.CoreV1().Pods(l.Namespace).List, func(p *corev1.PodList) {
		for i := range p.Items {
			if !strings.HasPrefix(p.Items[i].Name, "sallyport") {
				others = append(others, p.Items[i].Name)
			}
		}
	})
	if err != nil {
		s.unknown("what runs in the namespace is not known", err)
		return
	}
	if len(others) > 0 {
		s.problem("Namespace "+l.Namespace, "", hint, "other pods run there, which would not be guarded: %s", some(others, 5))
	}
	s.ok("nothing else runs in the namespace %s", l.Namespace)
}
