package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// bootstrapFlags are the flags of identities bootstrap.
type bootstrapFlags struct {
	command.AsUser
	all         bool
	acknowledge bool
	keyFile     string
	cluster     string
	output      string
}

func newIdentitiesBootstrap(s command.Streams) *cobra.Command {
	f := &bootstrapFlags{}
	cmd := &cobra.Command{
		Use: "bootstrap", Short: "List templates that nobody was judged for, and acknowledge them", Args: command.None,
		Long: `Bootstrap lists what makes pods and carries identities, or labels that exempt from
a DenyPolicy, and has no valid mark of having been judged for them: what was there
before Sallyport's webhooks, before an IdentitySource or such a DenyPolicy, or
before an annotation of a service account changed. Its controllers make no pods
until it is written again by somebody who holds the identities and may set the
labels, or is acknowledged. Of ControllerRevisions, those are listed that a
StatefulSet makes pods from and that hold another template than it has.

With --acknowledge the user of the kubeconfig vouches for all that is listed. It
needs the verb acknowledge on identitysources.sallyport.io for each source, and the
verb exempt on denypolicies.sallyport.io for each policy that labels exempt from.
Sallyport's audit log records who it was.`,
		Example: `  sallyport identities bootstrap -A
  sallyport identities bootstrap -n shop --acknowledge`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.AsUser.Add(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "of every namespace")
	flags.BoolVar(&f.acknowledge, "acknowledge", false, "vouch for the templates that are listed")
	flags.StringVar(&f.keyFile, "template-key-file", "", "the secret that sallyport serve has, if it has one: without it no mark of its can be told to be valid")
	flags.StringVar(&f.cluster, "cluster-name", "", "the name that sallyport serve has for the cluster, for DenyPolicies that hold in some clusters only")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

// unjudgedTemplate is one object of the list.
type unjudgedTemplate struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Identities []string `json:"identities"`
	// Exempt says which labels exempt its pods, and from what.
	Exempt       []string `json:"exempt,omitempty"`
	Mark         string   `json:"mark,omitempty"`
	Acknowledged bool     `json:"acknowledged"`
	Problem      string   `json:"problem,omitempty"`

	object *unstructured.Unstructured
	// want is the mark that the object is to have.
	want string
}

// bootstrapKinds are those whose controllers make pods, or what makes pods.
var bootstrapKinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "batch", Version: "v1", Kind: "CronJob"}, {Group: "batch", Version: "v1", Kind: "Job"},
	{Version: "v1", Kind: "ReplicationController"},
	// After the StatefulSets, which say what of it they make pods from.
	{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
}

func (f *bootstrapFlags) run(ctx context.Context, s command.Streams) error {
	if f.output != "text" && f.output != "json" {
		return usage.Errorf("there is no output format %q; there are text and json", f.output)
	}
	key, err := (&option.Controllers{KeyFile: f.keyFile}).Read()
	if err != nil {
		return err
	}
	c, namespace, err := f.Open(s)
	if err != nil {
		return err
	}
	if f.all {
		namespace = ""
	}
	found, err := f.find(ctx, c, namespace, key.Key)
	if err != nil {
		return err
	}
	failed := false
	for i := range found {
		t := &found[i]
		if f.acknowledge && t.object != nil {
			if err := acknowledge(ctx, c, t); err != nil {
				t.Problem = command.Plainly("not acknowledged", err).Error()
			} else {
				t.Acknowledged = true
			}
		}
		failed = failed || t.Problem != ""
	}
	if err := f.write(s, found); err != nil {
		return fmt.Errorf("the list cannot be written: %w", err)
	}
	if failed {
		return command.Exit(command.Wrong)
	}
	return nil
}

// find lists the objects without a valid mark.
func (f *bootstrapFlags) find(ctx context.Context, c client.Client, namespace string, key []byte) ([]unjudgedTemplate, error) {
	judged, err := f.judged(ctx, c, key)
	if err != nil {
		return nil, err
	}
	found := []unjudgedTemplate{}
	for _, kind := range bootstrapKinds {
		items, err := listKind(ctx, c, kind, namespace)
		if err != nil {
			return nil, err
		}
		for i := range items {
			if kind.Kind == "ControllerRevision" && !judged.runs(&items[i]) {
				continue
			}
			if t, ok := judged.template(ctx, kind, &items[i]); ok {
				found = append(found, t)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b unjudgedTemplate) int { return strings.Compare(a.Namespace, b.Namespace) })
	return found, nil
}

func listKind(ctx context.Context, c client.Client, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, command.Plainly("objects of kind "+kind.Kind+" cannot be listed", err)
	}
	return list.Items, nil
}

// judging is what templates are judged for, and what was found of them so far.
type judging struct {
	key        []byte
	sources    *identity.Set
	exemptions *deny.Exemptions
	accounts   identity.Accounts
	// running are StatefulSets, by the names of the revisions that they make pods
	// from.
	running map[client.ObjectKey]*running
}

// running is a StatefulSet.
type running struct {
	uid    types.UID
	object *pod.Object
}

// judged reads what templates are judged for.
func (f *bootstrapFlags) judged(ctx context.Context, c client.Client, key []byte) (*judging, error) {
	sources, err := identitiesOf(ctx, c)
	if err != nil {
		return nil, err
	}
	var list v1alpha1.DenyPolicyList
	if err := c.List(ctx, &list); err != nil {
		return nil, command.Plainly("the DenyPolicies of the cluster cannot be listed", err)
	}
	j := &judging{key: key, sources: sources, exemptions: deny.CompileExemptions(list.Items, f.cluster), running: map[client.ObjectKey]*running{}}
	if sources.Len() == 0 && j.exemptions.Len() == 0 {
		return nil, errors.New("the cluster has no IdentitySource that works, and no DenyPolicy that exempts pods by their labels; without one no template needs to be judged")
	}
	j.accounts = func(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
		account := &corev1.ServiceAccount{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, account)
		if apierrors.IsNotFound(err) {
			return account, nil
		}
		return account, err
	}
	return j, nil
}

// runs reports whether a StatefulSet makes pods from the revision, and would make
// others from the template that it has now.
func (j *judging) runs(revision *unstructured.Unstructured) bool {
	set := j.running[client.ObjectKeyFromObject(revision)]
	if set == nil {
		return false
	}
	if ref := metav1.GetControllerOfNoCopy(revision); ref != nil && ref.UID != set.uid {
		return false
	}
	raw, err := revision.MarshalJSON()
	if err != nil {
		return true
	}
	object, err := pod.Default().DecodeRevision(raw, set.object.GVK.GroupKind())
	return err != nil || object.Fault != nil || !pod.SameTemplates(set.object, object)
}

// template is what nobody was judged for in an object; ok says whether there is
// any.
func (j *judging) template(ctx context.Context, kind schema.GroupVersionKind, item *unstructured.Unstructured) (t unjudgedTemplate, ok bool) {
	t = unjudgedTemplate{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: item.GetNamespace(), Name: item.GetName(), Identities: []string{}, object: item}
	t.Mark = item.GetAnnotations()[v1alpha1.AnnotationTemplateJudged]
	object, err := decoded(kind, item)
	if err == nil && object.Fault != nil {
		err = object.Fault
	}
	var claims []identity.Claim
	if err == nil {
		j.sees(item, object)
		claims, err = j.sources.OfObject(ctx, object, item.GetNamespace(), j.accounts)
	}
	if err != nil {
		t.Problem, t.object = err.Error(), nil
		return t, true
	}
	stamps := []string{identity.Signature(j.key, item.GetNamespace(), claims)}
	ok = len(claims) > 0 && !identity.Marked(t.Mark, stamps[0])
	for _, e := range j.exemptions.Of(j.key, item.GetNamespace(), object) {
		stamps = append(stamps, e.Stamp)
		ok = ok || !identity.Marked(t.Mark, e.Stamp)
		t.Exempt = append(t.Exempt, e.Labels+" (DenyPolicy "+e.Policy+")")
	}
	t.want = identity.Mark(stamps...)
	for i := range claims {
		t.Identities = append(t.Identities, claims[i].String())
		if claims[i].Fault != "" {
			t.Problem, t.object = claims[i].Denial(""), nil
		}
	}
	return t, ok
}

// sees keeps which revisions a StatefulSet makes pods from.
func (j *judging) sees(item *unstructured.Unstructured, object *pod.Object) {
	if object.GVK.Group != "apps" || object.GVK.Kind != "StatefulSet" {
		return
	}
	for _, field := range []string{"currentRevision", "updateRevision"} {
		if name, _, err := unstructured.NestedString(item.Object, "status", field); err == nil && name != "" {
			j.running[client.ObjectKey{Namespace: item.GetNamespace(), Name: name}] = &running{item.GetUID(), object}
		}
	}
}

// decoded is an object that was read.
func decoded(kind schema.GroupVersionKind, item *unstructured.Unstructured) (*pod.Object, error) {
	raw, err := item.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("the object cannot be written as JSON: %w", err)
	}
	return pod.Default().Decode(kind, raw)
}

// identitiesOf compiles the sources of the cluster. Those that do not work there
// do not work here.
func identitiesOf(ctx context.Context, c client.Client) (*identity.Set, error) {
	var list v1alpha1.IdentitySourceList
	if err := c.List(ctx, &list); err != nil {
		return nil, command.Plainly("the IdentitySources of the cluster cannot be listed", err)
	}
	sources := make([]source.Of[*v1alpha1.IdentitySource], len(list.Items))
	for i := range list.Items {
		sources[i].Object = &list.Items[i]
	}
	set, _ := identity.Compile(sources)
	return set, nil
}

// acknowledge writes the word that Sallyport puts the mark in place of. The
// object must still be the one that was listed, or have the mark by now: a
// Deployment's controller copies that to its ReplicaSets.
func acknowledge(ctx context.Context, c client.Client, t *unjudgedTemplate) error {
	object := t.object
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": object.GetResourceVersion(),
		"annotations":     map[string]string{v1alpha1.AnnotationTemplateJudged: v1alpha1.AcknowledgeTemplate},
	}})
	if err != nil {
		return err
	}
	err = c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
	if !apierrors.IsConflict(err) {
		return err
	}
	fresh := &unstructured.Unstructured{}
	fresh.SetGroupVersionKind(object.GroupVersionKind())
	if again := c.Get(ctx, client.ObjectKeyFromObject(object), fresh); again == nil && t.want != "" && fresh.GetAnnotations()[v1alpha1.AnnotationTemplateJudged] == t.want {
		return nil
	}
	return err
}

func (f *bootstrapFlags) write(s command.Streams, found []unjudgedTemplate) error {
	if f.output == "json" {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(found)
	}
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	acknowledged := 0
	exempt := slices.ContainsFunc(found, func(t unjudgedTemplate) bool { return len(t.Exempt) > 0 })
	column, what := "IDENTITIES", "identities"
	if exempt {
		column, what = "CARRIES", "identities, or labels that exempt,"
	}
	for i := range found {
		t := &found[i]
		if i == 0 {
			fmt.Fprintln(w, "NAMESPACE\tOBJECT\t"+column+"\tSTATE")
		}
		state := "not judged"
		switch {
		case t.Problem != "":
			state = t.Problem
		case t.Acknowledged:
			state = "acknowledged"
			acknowledged++
		case t.Mark != "" && len(t.Exempt) == 0:
			state = "judged for other identities"
		case t.Mark != "":
			state = "judged for something else"
		}
		row := []string{t.Namespace, t.Kind + "/" + t.Name, strings.Join(slices.Concat(t.Identities, t.Exempt), ", "), state}
		for j := range row {
			row[j] = decision.Clean(row[j])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	summary := fmt.Sprintf("%d templates carry %s that nobody was judged for", len(found), what)
	if len(found) == 1 {
		summary = fmt.Sprintf("1 template carries %s that nobody was judged for", what)
	}
	if f.acknowledge {
		summary += fmt.Sprintf("; %d acknowledged", acknowledged)
	}
	_, err := fmt.Fprintln(s.Out, summary+".")
	return err
}
