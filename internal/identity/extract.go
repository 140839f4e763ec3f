package identity

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Accounts reads a service account as it is now. Every error, that there is no
// such account among them, ends the search for claims: what cannot be read may
// carry any identity. One who knows that an account that is not there carries
// none returns an empty one.
type Accounts func(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)

// OfObject finds the claims of every pod in the object, and those that its kind
// carries elsewhere: each once, in an order that depends only on the object and
// the sources. namespace is the one that the object is in, or will be; items of
// a list may name their own. With an error nothing is known, and the object must
// not be let in.
func (s *Set) OfObject(ctx context.Context, o *pod.Object, namespace string, accounts Accounts) ([]Claim, error) {
	if o == nil {
		return nil, nil
	}
	c := collector{ctx: ctx, set: s, accounts: accounts, namespace: namespace}
	if err := c.object(o, ""); err != nil {
		return nil, fmt.Errorf("the identities that the %s carries are not known: %w", o.GVK.Kind, err)
	}
	return c.claims, nil
}

// OfPod finds the claims of one pod, such as one that was read live.
func (s *Set) OfPod(ctx context.Context, p *pod.Pod, namespace string, accounts Accounts) ([]Claim, error) {
	c := collector{ctx: ctx, set: s, accounts: accounts, namespace: namespace}
	if err := c.pod(p); err != nil {
		return nil, fmt.Errorf("the identities that the pod carries are not known: %w", err)
	}
	return c.claims, nil
}

// OfAnnotations finds the claims in the annotations of an object that is to give
// them to a pod, such as a Binding.
func (s *Set) OfAnnotations(annotations map[string]string) ([]Claim, error) {
	c := collector{set: s}
	if err := c.pod(&pod.Pod{Meta: &metav1.ObjectMeta{Annotations: annotations}}); err != nil {
		return nil, fmt.Errorf("the identities in the annotations are not known: %w", err)
	}
	return c.claims, nil
}

// collector gathers the claims of one object.
type collector struct {
	ctx       context.Context
	set       *Set
	accounts  Accounts
	namespace string
	prefix    string
	claims    []Claim
	// read are the accounts that were read, by namespace and name.
	read map[[2]string]*corev1.ServiceAccount
}

var errMany = fmt.Errorf("there are more than %d of them", maxClaims)

// add takes a claim, once.
func (c *collector) add(s *identitySource, value, path string) error {
	return c.take(Claim{
		Key: s.key, Value: value, Path: path, Source: s.name, Form: s.form, CacheFor: s.cacheFor, Fault: faultOf(value, s.form),
	})
}

func (c *collector) take(claim Claim) error {
	for i := range c.claims {
		if c.claims[i].same(&claim) {
			return nil
		}
	}
	if len(c.claims) == maxClaims {
		return errMany
	}
	claim.Path = within(c.prefix, claim.Path)
	if c.claims == nil {
		// Most sources give one claim, so that the list need not grow.
		c.claims = make([]Claim, 0, min(max(c.set.Len(), 4), maxClaims))
	}
	c.claims = append(c.claims, claim)
	return nil
}

// object reads the object at place, and its items one by one where it is a list.
func (c *collector) object(o *pod.Object, place string) error {
	if len(o.Items) > 0 {
		namespace := c.namespace
		for i, item := range o.Items {
			c.namespace = namespace
			if item.Meta != nil && item.Meta.Namespace != "" {
				c.namespace = item.Meta.Namespace
			}
			if err := c.object(item, within(place, "items["+strconv.Itoa(i)+"]")); err != nil {
				return err
			}
		}
		c.namespace, c.prefix = namespace, place
		// Its pods are those of the items. Its kind may be one with fields all the
		// same: whatever has items passes for a list.
		return c.fields(o)
	}
	c.prefix = place
	for i := range o.Pods {
		if err := c.pod(&o.Pods[i]); err != nil {
			return err
		}
	}
	if err := c.document(o); err != nil {
		return err
	}
	return c.fields(o)
}

// wrong is an error about the field at path of the object that is read.
func (c *collector) wrong(path, detail string) error {
	return &apijson.Error{Path: within(c.prefix, path), Detail: detail}
}

func within(place, path string) string {
	if place == "" {
		return path
	}
	return place + "." + path
}

// pod reads what stands in a pod. Without a spec, only its annotations.
func (c *collector) pod(p *pod.Pod) error {
	if len(p.Meta.Annotations) > 0 {
		if err := c.annotations(p); err != nil {
			return err
		}
	}
	if c.set == nil || p.Spec == nil {
		return nil
	}
	if len(c.set.accounts) > 0 && !mirrorsNoAccount(p) && !namesItLater(p) {
		name, path := p.ServiceAccountName(), p.FieldPath("spec.serviceAccountName")
		for _, s := range c.set.accounts {
			if err := c.account(s, name, path); err != nil {
				return err
			}
		}
	}
	return c.volumes(p)
}

// mirrorsNoAccount tells the mirror of a static pod: it stands for what a node
// runs by itself, and runs as no account, unless it names one, which the API
// server refuses. A pod with the annotation that is not such a mirror runs nowhere.
func mirrorsNoAccount(p *pod.Pod) bool {
	_, mirror := p.Meta.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror && p.Spec.ServiceAccountName == "" && p.Spec.DeprecatedServiceAccount == ""
}

// namesItLater tells a template whose account whoever makes the pod fills in.
func namesItLater(p *pod.Pod) bool {
	return p.Completed && p.Spec.ServiceAccountName == "" && p.Spec.DeprecatedServiceAccount == ""
}

func (c *collector) annotations(p *pod.Pod) error {
	if c.set != nil {
		for _, s := range c.set.annotations {
			value, ok := p.Meta.Annotations[s.annotation]
			if !ok {
				continue
			}
			if err := c.add(s, value, apijson.Child(p.FieldPath("metadata.annotations"), s.annotation)); err != nil {
				return err
			}
		}
	}
	return c.carried(p)
}

// account adds what a source reads of the account with this name, which was found
// at path.
func (c *collector) account(s *identitySource, name, path string) error {
	if s.annotation == "" {
		return c.addAccount(s, name, path)
	}
	account, err := c.get(name)
	if err != nil {
		return fmt.Errorf("%s names service account %.100q, which cannot be read: %w", within(c.prefix, path), name, err)
	}
	value, ok := account.Annotations[s.annotation]
	if !ok {
		return nil
	}
	return c.add(s, value, path)
}

// addAccount adds the account itself as the value.
func (c *collector) addAccount(s *identitySource, name, path string) error {
	if c.namespace == "" {
		return fmt.Errorf("%s names service account %.100q, but the object is in no namespace", within(c.prefix, path), name)
	}
	return c.add(s, c.namespace+":"+name, path)
}

// get reads an account once.
func (c *collector) get(name string) (*corev1.ServiceAccount, error) {
	key := [2]string{c.namespace, name}
	if account := c.read[key]; account != nil {
		return account, nil
	}
	switch {
	case c.accounts == nil:
		return nil, errors.New("there is nobody to ask for it")
	case c.namespace == "":
		return nil, errors.New("the object is in no namespace")
	}
	account, err := c.accounts(c.ctx, c.namespace, name)
	if err != nil {
		return nil, err
	}
	if account == nil {
		return nil, errors.New("nothing was found")
	}
	if c.read == nil {
		c.read = map[[2]string]*corev1.ServiceAccount{}
	}
	c.read[key] = account
	return account, nil
}
