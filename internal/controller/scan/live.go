package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/observe/report"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// listPage is how many objects are asked for at once.
const listPage = 500

// passedOver are kinds that say what has happened, and not what should be. They
// are many and short-lived, and a rule about every kind does not mean them.
var passedOver = []schema.GroupKind{
	{Kind: "Event"}, {Group: "events.k8s.io", Kind: "Event"}, {Group: "coordination.k8s.io", Kind: "Lease"},
	{Group: report.Group, Kind: report.KindNamespace}, {Group: report.Group, Kind: report.KindCluster},
}

// Live lists the objects of an API server, and keeps the reports there.
type Live struct {
	discovery discovery.DiscoveryInterface
	objects   dynamic.Interface
}

// NewLive makes a Live of the API server that config leads to.
func NewLive(config *rest.Config) (*Live, error) {
	found, err := discovery.NewDiscoveryClientForConfig(pace.Few.Of(config))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	objects, err := dynamic.NewForConfig(pace.Few.Of(config))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return &Live{found, objects}, nil
}

// Kinds lists what can be listed, of each group the preferred version first.
func (l *Live) Kinds(context.Context) ([]Kind, error) {
	groups, lists, err := l.discovery.ServerGroupsAndResources()
	if err != nil {
		err = fmt.Errorf("not all kinds of the API server are known: %w", err)
	}
	preferred := map[string]bool{}
	for _, group := range groups {
		preferred[group.PreferredVersion.GroupVersion] = true
	}
	slices.SortStableFunc(lists, func(a, b *metav1.APIResourceList) int {
		switch {
		case preferred[a.GroupVersion] == preferred[b.GroupVersion]:
			return 0
		case preferred[a.GroupVersion]:
			return -1
		default:
			return 1
		}
	})
	var kinds []Kind
	for _, list := range lists {
		version, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			kind := version.WithKind(r.Kind)
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || slices.Contains(passedOver, kind.GroupKind()) {
				continue
			}
			kinds = append(kinds, Kind{kind, r.Name})
		}
	}
	return kinds, err
}

// Each lists the objects of a kind, a page at a time. A list that expires while
// it is read begins again once.
func (l *Live) Each(ctx context.Context, kind Kind, visit func(raw []byte)) error {
	seen := map[types.UID]bool{}
	again := true
	options := metav1.ListOptions{Limit: listPage}
	for {
		page, err := l.objects.Resource(kind.GroupVersion().WithResource(kind.Resource)).List(ctx, options)
		switch {
		case apierrors.IsResourceExpired(err) && again:
			again, options.Continue = false, ""
			continue
		case err != nil:
			return err
		}
		for i := range page.Items {
			object := &page.Items[i]
			if seen[object.GetUID()] {
				continue
			}
			seen[object.GetUID()] = true
			object.SetGroupVersionKind(kind.GroupVersionKind)
			raw, err := object.MarshalJSON()
			if err != nil {
				return err
			}
			visit(raw)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// managedBy marks the reports that are ours, which are removed once a scan does
// not make them any more.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	fieldManager   = "sallyport"
)

// ErrNoReports says that the API server does not know reports.
var ErrNoReports = errors.New("reports cannot be written: the API server does not serve " + report.APIVersion + "; install the CustomResourceDefinitions of OpenReports, or leave --background-scan-reports out")

// id names a report.
type id struct{ kind, namespace, name string }

// Write writes the reports, and removes those of ours that are not among them.
func (l *Live) Write(ctx context.Context, reports []report.Report) error {
	written := map[id]bool{}
	var errs []error
	for i := range reports {
		r := &reports[i]
		r.Metadata.Labels = map[string]string{labelManagedBy: fieldManager}
		written[id{r.Kind, r.Metadata.Namespace, r.Metadata.Name}] = true
		object, err := toUnstructured(r)
		if err != nil {
			return err
		}
		_, err = l.reports(r.Kind, r.Metadata.Namespace).Apply(ctx, r.Metadata.Name, object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		switch {
		case err == nil:
		case apierrors.IsNotFound(err) && !l.served():
			return ErrNoReports
		case apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			// The namespace went while it was scanned.
		default:
			errs = append(errs, fmt.Errorf("the %s of namespace %q cannot be written: %w", r.Kind, r.Metadata.Namespace, err))
		}
	}
	for _, kind := range []string{report.KindNamespace, report.KindCluster} {
		errs = append(errs, l.removeOthers(ctx, kind, written))
	}
	return errors.Join(errs...)
}

// removeOthers removes the reports of ours that were not written.
func (l *Live) removeOthers(ctx context.Context, kind string, written map[id]bool) error {
	list, err := l.reports(kind, "").List(ctx, metav1.ListOptions{LabelSelector: labelManagedBy + "=" + fieldManager})
	if err != nil {
		if apierrors.IsNotFound(err) && !l.served() {
			return ErrNoReports
		}
		return fmt.Errorf("earlier reports cannot be listed: %w", err)
	}
	var errs []error
	for i := range list.Items {
		old := &list.Items[i]
		if written[id{kind, old.GetNamespace(), old.GetName()}] {
			continue
		}
		uid := old.GetUID()
		err := l.reports(kind, old.GetNamespace()).Delete(ctx, old.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("the %s %s of namespace %q, which is out of date, cannot be removed: %w", kind, old.GetName(), old.GetNamespace(), err))
		}
	}
	return errors.Join(errs...)
}

// served reports whether the API server knows reports, as far as can be told.
func (l *Live) served() bool {
	_, err := l.discovery.ServerResourcesForGroupVersion(report.APIVersion)
	return !apierrors.IsNotFound(err)
}

func (l *Live) reports(kind, namespace string) dynamic.ResourceInterface {
	resource := schema.GroupVersionResource{Group: report.Group, Version: report.Version, Resource: strings.ToLower(kind) + "s"}
	if kind == report.KindNamespace && namespace != "" {
		return l.objects.Resource(resource).Namespace(namespace)
	}
	return l.objects.Resource(resource)
}

func toUnstructured(r *report.Report) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil {
		return nil, fmt.Errorf("a report cannot be written down: %w", err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}
