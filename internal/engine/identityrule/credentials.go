package identityrule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// accountWritten judges the annotations of a service account: what they say is
// what every pod carries that runs as it. What they say no more needs the right to
// it as well: pods that run already keep the credentials, and would carry nothing
// any more that keeps others out.
func (b *judgement) accountWritten() error {
	r := b.Request
	after, err := b.set.Identity.OfAccount(&corev1.ServiceAccount{ObjectMeta: *r.Object.Meta})
	if err != nil {
		return err
	}
	var before []identity.Claim
	if r.Operation == request.Update {
		if r.OldObject == nil {
			return call.ErrNoOldObject
		}
		if before, err = b.set.Identity.OfAccount(&corev1.ServiceAccount{ObjectMeta: *r.OldObject.Meta}); err != nil {
			return fmt.Errorf("before the update, %w", err)
		}
	}
	d := identity.Compare(before, after)
	b.review(append(d.Added, d.Removed...), "")
	return nil
}

// cleaners are the accounts by which the control plane deletes what is left over:
// the objects of a namespace that is deleted, and what an owner leaves behind.
var cleaners = []string{
	"system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:kube-controller-manager",
}

// deleting judges who deletes a service account with identities: made again without
// them, it would leave its pods open.
func (b *judgement) deleting() error {
	r := b.Request
	if r.OldObject == nil || r.OldObject.GVK.Group != "" || r.OldObject.GVK.Kind != "ServiceAccount" || slices.Contains(cleaners, r.User.Name) {
		return nil
	}
	claims, err := b.set.Identity.OfAccount(&corev1.ServiceAccount{ObjectMeta: *r.OldObject.Meta})
	if err != nil {
		return err
	}
	b.review(claims, "")
	return nil
}

// certificateRequested judges who asks for a certificate that a signer issues to
// pods of a service account: whoever holds its key can do what they can.
func (b *judgement) certificateRequested() error {
	r := b.Request
	if _, isNode := nodeOf(r); isNode {
		// The API server's plugin NodeRestriction gives a node none but those of its
		// own pods.
		return nil
	}
	var asked struct {
		Spec struct {
			SignerName         string `json:"signerName"`
			ServiceAccountName string `json:"serviceAccountName"`
		} `json:"spec"`
	}
	if err := apijson.Unmarshal(r.Object.Raw, &asked); err != nil {
		return fmt.Errorf("the PodCertificateRequest cannot be read: %w", err)
	}
	claims, err := b.set.Identity.OfCertificate(r.Namespace, asked.Spec.ServiceAccountName, asked.Spec.SignerName)
	if err != nil {
		return err
	}
	b.review(claims, "")
	return nil
}

// tokenRequest is a TokenRequest as far as judging needs it.
type tokenRequest struct {
	Spec struct {
		Audiences []string `json:"audiences"`
		Bound     *struct {
			Kind       string    `json:"kind"`
			APIVersion string    `json:"apiVersion"`
			Name       string    `json:"name"`
			UID        types.UID `json:"uid"`
		} `json:"boundObjectRef"`
	} `json:"spec"`
}

var errNoAccountNamed = errors.New("the request does not name the service account")

// tokenRequested judges who asks for a token of a service account: whoever has
// one can do what its pods can.
func (b *judgement) tokenRequested() error {
	r := b.Request
	if b.set.Identity.Len() == 0 || controlPlaneToken(r) {
		return nil
	}
	if r.Name == "" || r.Namespace == "" {
		return errNoAccountNamed
	}
	var asked tokenRequest
	if err := apijson.Unmarshal(r.Object.Raw, &asked); err != nil {
		return fmt.Errorf("the TokenRequest cannot be read: %w", err)
	}
	claims, err := b.set.Identity.OfToken(b.Ctx, r.Namespace, r.Name, asked.Spec.Audiences, b.accounts)
	if err != nil || len(claims) == 0 {
		return err
	}
	if node, isNode := nodeOf(r); isNode {
		if why := b.notOfItsPod(node, &asked); why != "" {
			b.review(claims, why)
			return nil
		}
		b.allow(claims, "node "+node+" asks for the token of a pod that it runs")
		return nil
	}
	b.review(claims, "")
	return nil
}

// controlPlaneToken reports whether kube-controller-manager asks for a token of
// one of its own controllers' accounts.
func controlPlaneToken(r *request.Request) bool {
	return r.User.Name == "system:kube-controller-manager" && r.Namespace == "kube-system"
}

// nodeOf is the node whose kubelet asks.
func nodeOf(r *request.Request) (string, bool) {
	node, ok := strings.CutPrefix(r.User.Name, "system:node:")
	return node, ok && node != "" && slices.Contains(r.User.Groups, "system:nodes")
}

// notOfItsPod says why a token that a node asks for is not that of a pod which
// runs there as this account; empty if it is.
func (b *judgement) notOfItsPod(node string, asked *tokenRequest) string {
	bound := asked.Spec.Bound
	if bound == nil || bound.Kind != "Pod" || bound.APIVersion != "v1" || bound.Name == "" || bound.UID == "" {
		return "a node is excepted for tokens that are bound to a pod which it runs, and this one is bound to none"
	}
	name := "pod " + b.Request.Namespace + "/" + bound.Name
	live, err := b.Request.Cluster.Pod(b.Ctx, b.Request.Namespace, bound.Name)
	if err != nil {
		return fmt.Sprintf("%s, which the token is to be bound to, cannot be read: %s", name, call.Unread(call.Reading(name, err)))
	}
	runs := pod.FromPod(live)
	switch {
	case live.UID != bound.UID:
		return name + " is another one than the token is to be bound to"
	case live.Spec.NodeName != node:
		return name + " does not run on node " + node
	case runs.ServiceAccountName() != b.Request.Name:
		return name + " does not run as this service account"
	}
	return ""
}

// secretWritten judges a Secret into which the control plane puts a token of a
// service account. Nothing of its data is read.
func (b *judgement) secretWritten() error {
	r := b.Request
	if b.set.Identity.Len() == 0 {
		return nil
	}
	account, err := tokenSecretFor(r.Object)
	if err != nil || account == "" {
		return err
	}
	if r.Operation == request.Update && r.OldObject != nil {
		before, err := tokenSecretFor(r.OldObject)
		if err != nil {
			return fmt.Errorf("before the update, %w", err)
		}
		if before == account {
			return nil
		}
	}
	claims, err := b.set.Identity.OfToken(b.Ctx, r.Namespace, account, nil, b.accounts)
	if err != nil {
		return err
	}
	b.review(claims, "")
	return nil
}

// tokenSecretFor is the service account that a Secret is to hold a token of;
// empty for other Secrets.
func tokenSecretFor(o *pod.Object) (string, error) {
	var secret struct {
		Type corev1.SecretType `json:"type"`
	}
	if err := apijson.Unmarshal(o.Raw, &secret); err != nil {
		return "", fmt.Errorf("the type of the Secret cannot be read: %w", err)
	}
	if secret.Type != corev1.SecretTypeServiceAccountToken {
		return "", nil
	}
	return o.Meta.Annotations[corev1.ServiceAccountNameKey], nil
}
