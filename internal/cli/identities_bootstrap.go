package cli

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/source"
)

// bootstrapFlags are the flags of identities bootstrap.
type bootstrapFlags struct {
	peopleFlags
	all         bool
	acknowledge bool
	keyFile     string
	output      string
}

func newIdentitiesBootstrap(s Streams) *cobra.Command {
	f := &bootstrapFlags{}
	cmd := &cobra.Command{
		Use: "bootstrap", Short: "List templates that nobody was judged for, and acknowledge them", Args: none,
		Long: `Bootstrap lists what makes pods and carries identities, and has no valid mark of
having been judged for them: what was there before Sallyport's webhooks, before
an IdentitySource, or before an annotation of a service account changed. Its
controllers make no pods until it is written anew by somebody who holds the
identities, or is acknowledged.

With --acknowledge the user of the kubeconfig vouches for all that is listed. It
needs the verb acknowledge on identitysources.sallyport.io for each source, and
Sallyport's audit log records who it was.`,
		Example: `  sallyport identities bootstrap -A
  sallyport identities bootstrap -n shop --acknowledge`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), s) },
	}
	f.peopleFlags.add(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "of every namespace")
	flags.BoolVar(&f.acknowledge, "acknowledge", false, "vouch for the templates that are listed")
	flags.StringVar(&f.keyFile, "template-key-file", "", "the secret that sallyport serve has, if it has one: without it no mark of its can be told to be valid")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

// unjudgedTemplate is one object of the list.
type unjudgedTemplate struct {
	APIVersion   string   `json:"apiVersion"`
	Kind         string   `json:"kind"`
	Namespace    string   `json:"namespace"`
	Name         string   `json:"name"`
	Identities   []string `json:"identities"`
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
}

func (f *bootstrapFlags) run(ctx context.Context, s Streams) error {
	if f.output != "text" && f.output != "json" {
		return usagef("there is no output format %q; there are text and json", f.output)
	}
	key, err := (&controllerFlags{keyFile: f.keyFile}).controllers()
	if err != nil {
		return err
	}
	c, namespace, err := f.open(s)
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
				t.Problem = plainly("not acknowledged", err).Error()
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
		return exitError(exitWrong)
	}
	return nil
}

// find lists the objects without a valid mark.
func (f *bootstrapFlags) find(ctx context.Context, c client.Client, namespace string, key []byte) ([]unjudgedTemplate, error) {
	sources, err := identitiesOf(ctx, c)
	if err != nil {
		return nil, err
	}
	accounts := func(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
		account := &corev1.ServiceAccount{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, account)
		if apierrors.IsNotFound(err) {
			return account, nil
		}
		return account, err
	}
	found := []unjudgedTemplate{}
	for _, kind := range bootstrapKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, plainly("objects of kind "+kind.Kind+" cannot be listed", err)
		}
		for i := range list.Items {
			item := &list.Items[i]
			t := unjudgedTemplate{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: item.GetNamespace(), Name: item.GetName(), object: item}
			t.Mark = item.GetAnnotations()[v1alpha1.AnnotationTemplateJudged]
			claims, err := claimsIn(ctx, sources, kind, item, accounts)
			if err != nil {
				t.Problem, t.object = err.Error(), nil
				found = append(found, t)
				continue
			}
			if len(claims) == 0 {
				continue
			}
			want := identity.Stamp(key, item.GetNamespace(), claims)
			if want != "" && t.Mark == want {
				continue
			}
			t.want = want
			for i := range claims {
				t.Identities = append(t.Identities, claims[i].String())
				if claims[i].Fault != "" {
					t.Problem, t.object = claims[i].Denial(""), nil
				}
			}
			found = append(found, t)
		}
	}
	slices.SortStableFunc(found, func(a, b unjudgedTemplate) int { return strings.Compare(a.Namespace, b.Namespace) })
	return found, nil
}

// claimsIn finds the claims of an object that was read.
func claimsIn(ctx context.Context, sources *identity.Set, kind schema.GroupVersionKind, item *unstructured.Unstructured, accounts identity.Accounts) ([]identity.Claim, error) {
	raw, err := item.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("the object cannot be written as JSON: %w", err)
	}
	object, err := pod.Default().Decode(kind, raw)
	if err != nil {
		return nil, err
	}
	return sources.OfObject(ctx, object, item.GetNamespace(), accounts)
}

// identitiesOf compiles the sources of the cluster. Those that do not work there
// do not work here.
func identitiesOf(ctx context.Context, c client.Client) (*identity.Set, error) {
	var list v1alpha1.IdentitySourceList
	if err := c.List(ctx, &list); err != nil {
		return nil, plainly("the IdentitySources of the cluster cannot be listed", err)
	}
	sources := make([]source.Of[*v1alpha1.IdentitySource], len(list.Items))
	for i := range list.Items {
		sources[i].Object = &list.Items[i]
	}
	set, _ := identity.Compile(sources)
	if set.Len() == 0 {
		return nil, errors.New("the cluster has no IdentitySource that works; without one no template needs to be judged")
	}
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

func (f *bootstrapFlags) write(s Streams, found []unjudgedTemplate) error {
	if f.output == "json" {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(found)
	}
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	acknowledged := 0
	for i := range found {
		t := &found[i]
		if i == 0 {
			fmt.Fprintln(w, "NAMESPACE\tOBJECT\tIDENTITIES\tSTATE")
		}
		state := "not judged"
		switch {
		case t.Problem != "":
			state = t.Problem
		case t.Acknowledged:
			state = "acknowledged"
			acknowledged++
		case t.Mark != "":
			state = "judged for other identities"
		}
		row := []string{t.Namespace, t.Kind + "/" + t.Name, strings.Join(t.Identities, ", "), state}
		for j := range row {
			row[j] = decision.Clean(row[j])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	summary := fmt.Sprintf("%d templates carry identities that nobody was judged for", len(found))
	if len(found) == 1 {
		summary = "1 template carries identities that nobody was judged for"
	}
	if f.acknowledge {
		summary += fmt.Sprintf("; %d acknowledged", acknowledged)
	}
	_, err := fmt.Fprintln(s.Out, summary+".")
	return err
}
