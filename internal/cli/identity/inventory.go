package identity

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/identity/holders"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// inventory is what carries identities, with all that says who gets at them.
type inventory struct {
	// namespace that is read; empty: all.
	namespace string
	set       *identity.Set
	rbac      *cluster.RBAC
	runtimes  []holders.Runtime
	warnings  []string
	problems  []string
	accounts  map[accountName]*corev1.ServiceAccount
	// absent counts what runs as an account that was not read.
	absent map[accountName]int
	// pods knows the kinds that make pods.
	pods *pod.Registry
	// allAccounts: an account that was not read is not there.
	allAccounts bool
}

type accountName struct{ namespace, name string }

// reads reports whether objects of the kind can carry identities.
func (v *inventory) reads(gk schema.GroupKind) bool {
	return v.pods.Makes(gk) || slices.Contains(v.set.Kinds(), gk)
}

// account reads a service account. What is missing is told in the end, once an
// account, so that the other claims of what runs as it are known all the same.
func (v *inventory) account(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	key := accountName{namespace, name}
	if account := v.accounts[key]; account != nil {
		return account, nil
	}
	if !v.allAccounts {
		if v.absent == nil {
			v.absent = map[accountName]int{}
		}
		v.absent[key]++
	}
	return &corev1.ServiceAccount{}, nil
}

// object takes an object with the claims that it carries.
func (v *inventory) object(ctx context.Context, o *pod.Object, namespace string) error {
	claims, err := v.set.OfObject(ctx, o, namespace, v.account)
	if err != nil {
		return err
	}
	if len(claims) == 0 && len(o.Pods) == 0 && !slices.Contains(v.set.Kinds(), o.GVK.GroupKind()) {
		// A ControllerRevision of something else, or a workload without a template.
		return nil
	}
	r := holders.Runtime{
		APIVersion: o.GVK.GroupVersion().String(), Kind: o.GVK.Kind, Namespace: namespace, Name: cmp.Or(o.Meta.Name, o.Meta.GenerateName),
		Claims: holders.Carry(v.set, claims),
	}
	for i := range o.Pods {
		name := o.Pods[i].ServiceAccountName()
		if i > 0 && name != r.ServiceAccount {
			r.ServiceAccount = ""
			break
		}
		r.ServiceAccount = name
	}
	if o.GVK.GroupKind() == (schema.GroupKind{Kind: "Pod"}) && len(o.Pods) == 1 {
		r.Node = o.Pods[0].Spec.NodeName
	}
	v.runtimes = append(v.runtimes, r)
	return nil
}

func (v *inventory) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// allProblems are those that were met, and the accounts that stand in no file.
func (v *inventory) allProblems() []string {
	all := append([]string{}, v.problems...)
	names := slices.SortedFunc(maps.Keys(v.absent), func(a, b accountName) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	for _, n := range names {
		all = append(all, fmt.Sprintf("which identities the annotations of ServiceAccount %s/%s give to what runs as it: it was not read; add a file that holds it", n.namespace, n.name))
	}
	return all
}

// use takes the sources. Those that cannot work are problems of the list, as
// what they should find is not in it.
func (v *inventory) use(sources []stored.Sourced[*identitySource]) {
	set, problems := identity.Compile(sources)
	v.set = set
	for i := range problems {
		v.problem("what a source that is not ready would find: %s", problems[i].Error())
	}
	if set.Len() == 0 {
		v.warnings = append(v.warnings, "there is no IdentitySource that works; only what pods themselves name as validated annotations is found")
	}
}

// register takes the kinds that PodKinds say make pods.
func (v *inventory) register(sources []stored.Sourced[*v1alpha1.PodKind]) {
	pods, problems := policy.PodsWith(pod.Default(), sources)
	v.pods = pods
	for i := range problems {
		v.problem("what the kinds carry that a PodKind which cannot work is about: %s", problems[i].Error())
	}
}

// readFiles reads all that is in files.
func (v *inventory) readFiles(ctx context.Context, paths []string, stdin io.Reader) error {
	var documents []*load.Document
	loaded := load.Collect(func(yield func(*load.Document, stored.Problems) bool) {
		for d, problems := range load.Manifests(paths, stdin) {
			if len(problems) == 0 && !load.IsPolicy(d) {
				documents = append(documents, d)
			}
			if !yield(d, problems) {
				return
			}
		}
	})
	if len(loaded.Problems) > 0 {
		return loaded.Problems
	}
	files, err := cluster.NewFiles(loaded.Objects)
	if err != nil {
		return err
	}
	v.rbac = files.RBAC()
	v.use(loaded.Sources.Identities)
	v.register(loaded.Sources.PodKinds)
	v.accounts = map[accountName]*corev1.ServiceAccount{}
	for _, object := range loaded.Objects {
		if account, ok := object.(*corev1.ServiceAccount); ok {
			v.accounts[accountName{account.Namespace, account.Name}] = account
		}
	}
	completed := judge.NewCompleter(v.pods, io.Discard)
	for _, d := range documents {
		namespace := cmp.Or(d.Namespace, metav1.NamespaceDefault)
		if !v.reads(d.GVK.GroupKind()) || v.namespace != "" && namespace != v.namespace {
			continue
		}
		object, err := completed.Object(ctx, d, namespace)
		if err == nil {
			err = v.object(ctx, object, namespace)
		}
		if err != nil {
			for _, p := range judge.ProblemsOf(d, namespace, err) {
				v.problem("what %s carries: %s", p.Kind, p.Error())
			}
		}
	}
	return nil
}
