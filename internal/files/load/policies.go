package load

import (
	"fmt"
	"io"
	"iter"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/defaults"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// Result is what a set of files holds.
type Result struct {
	// Sources are the policies, each with the document that it stands in.
	Sources policy.Sources
	// Objects are the objects of the cluster that policies are judged against,
	// typed: pods and what makes them, namespaces, nodes, service accounts and
	// RBAC.
	Objects []runtime.Object
	// Given are the objects that policies may read, of the kinds that were granted to
	// one of them, and None are the kinds of which an empty list says that there are
	// none.
	Given []inventory.Given
	None  []schema.GroupVersionKind
	// Problems are all the reasons why something that was read cannot be used.
	// As long as there is one, the rest must not be used either.
	Problems stored.Problems
	// Ignored are objects that are neither policies nor judged against.
	Ignored []Ignored
}

// Ignored is an object that was passed over, and why.
type Ignored struct {
	Origin string
	// Object is its kind and name.
	Object string
	Reason string
}

// String is one sentence.
func (i Ignored) String() string { return i.Origin + ": " + i.Object + " " + i.Reason }

// Policies counts the policies, and the sources of identities, which deny as well.
func (r *Result) Policies() int {
	return len(r.Sources.DenyPolicies) + len(r.Sources.ClusterPolicies) + len(r.Sources.Policies) + len(r.Sources.Identities) +
		len(r.Sources.ClusterAdmissionPolicies) + len(r.Sources.AdmissionPolicies)
}

// Policies reads policies and objects of the cluster from files, directories and
// standard input ("-").
func Policies(paths []string, stdin io.Reader) *Result {
	return Collect(manifests(paths, stdin, true))
}

// Collect reads policies and objects of the cluster from documents, however
// these were found.
func Collect(documents iter.Seq2[*Document, stored.Problems]) *Result {
	l := loader{seen: map[string]string{}}
	for document, problems := range documents {
		if len(problems) > 0 {
			l.result.Problems = append(l.result.Problems, problems...)
			continue
		}
		l.document(document)
	}
	l.finish()
	return &l.result
}

// IsPolicy reports whether the document is of our group, in whatever case it is
// written.
func IsPolicy(d *Document) bool { return strings.EqualFold(d.GVK.Group, v1alpha1.GroupVersion.Group) }

// loader sorts documents into a Result.
type loader struct {
	result Result
	// seen is the origin of each object of the cluster by kind, namespace and
	// name.
	seen map[string]string
	// candidates are the objects that a policy may read.
	candidates []candidate
}

func (l *loader) document(d *Document) {
	if d.None {
		l.candidate(d, nil)
		return
	}
	ours, problems := d.AsOurs()
	switch {
	case len(problems) > 0:
		l.result.Problems = append(l.result.Problems, problems...)
	case ours != nil:
		// Whether its name is there twice and whether it can do what it says is for
		// policy.Compile to find out.
		l.result.Problems = append(l.result.Problems, l.result.Sources.Add(ours.GVK, ours.Raw, d.Origin())...)
	default:
		l.object(d)
	}
}

// object reads an object of the cluster the way the API server reads it: names
// that it does not know are passed over, and what is left out gets its defaults.
func (l *loader) object(d *Document) {
	kind, ok := clusterKinds[d.GVK.GroupKind()]
	if !ok {
		l.candidate(d, &Ignored{
			Origin: d.Origin(), Object: strings.TrimSpace(d.GVK.Kind + " " + d.Name),
			Reason: "is neither a policy nor an object that policies are judged against",
		})
		return
	}
	l.candidate(d, nil)
	if d.GVK.Version != kind.version {
		l.fail(d, "apiVersion", "is %q; %s is read only as %q", d.GVK.GroupVersion(), decision.A(d.GVK.Kind), schema.GroupVersion{Group: d.GVK.Group, Version: kind.version})
		return
	}
	if d.Name == "" {
		l.fail(d, "metadata.name", "is missing; an object to judge against needs a name")
		return
	}
	switch {
	case !kind.namespaced:
		d.Namespace = ""
	case d.Namespace == "":
		d.Namespace = metav1.NamespaceDefault
	}
	if !l.unique(d) {
		return
	}
	object := kind.make()
	if err := apijson.Unmarshal(d.Raw, object); err != nil {
		l.result.Problems = append(l.result.Problems, d.problems(err)...)
		return
	}
	object.GetObjectKind().SetGroupVersionKind(d.GVK)
	if meta, ok := object.(metav1.Object); ok {
		meta.SetNamespace(d.Namespace)
	}
	if p, ok := object.(*corev1.Pod); ok {
		if err := identity.Carry(d.Raw, p); err != nil {
			l.result.Problems = append(l.result.Problems, d.problems(err)...)
			return
		}
	}
	defaults.Newest().FillTyped(d.GVK, object)
	l.result.Objects = append(l.result.Objects, object)
}

// unique reports whether the object is the first of its kind and name.
func (l *loader) unique(d *Document) bool { return l.uniqueIn(l.seen, d) }

func (l *loader) uniqueIn(seen map[string]string, d *Document) bool {
	key := strings.Join([]string{d.GVK.Group, d.GVK.Kind, d.Namespace, d.Name}, "/")
	if earlier, ok := seen[key]; ok {
		l.fail(d, "metadata.name", "is there twice: also in %s; give one of them another name or remove it", earlier)
		return false
	}
	seen[key] = d.Origin()
	return true
}

func (l *loader) fail(d *Document, path, format string, args ...any) {
	l.result.Problems = append(l.result.Problems, d.problem(path, fmt.Sprintf(format, args...)))
}
