package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// ClockSkew is how far the time of an approval may lie from that of the replica
// which checks it.
const ClockSkew = time.Minute

// answered finds the request that a response answers, and fills in what follows
// from it.
func (g *Guard) answered(ctx context.Context, r *request.Request, a *v1alpha1.PolicyExceptionResponse) (*v1alpha1.PolicyExceptionRequest, error) {
	asked, err := g.find(ctx, a)
	if err != nil {
		return nil, err
	}
	if asked.DeletionTimestamp != nil {
		return nil, refuse("spec.name", asked.Name, "is being deleted, so that an answer would be about nothing")
	}
	if err := readVersion(a, asked); err != nil {
		return nil, err
	}
	a.Spec.Namespace = asked.Namespace
	a.Spec.RequestUID, a.Spec.RequestGeneration = asked.UID, asked.Generation
	a.Spec.RequestResourceVersion = asked.ResourceVersion
	a.Spec.Approver = r.User.Name
	a.Spec.Requesters = asked.Spec.Requesters
	a.Spec.Exceptions, a.Spec.Exclude, a.Spec.ApprovalTime, a.Spec.ExpiresAt = nil, nil, nil, nil
	at := metav1.NewTime(now(r).UTC().Truncate(time.Second))
	a.Spec.ApprovalTime = &at
	if a.Spec.Status != v1alpha1.ResponseApproved {
		return asked, nil
	}
	a.Spec.Exclude = asked.Spec.Exclude
	for _, x := range asked.Spec.Exceptions {
		one := exception.Inherit(x, &asked.Spec)
		// What holds for all of them stands in exclude, once.
		one.Exclude = x.Exclude
		a.Spec.Exceptions = append(a.Spec.Exceptions, g.pinned(one, asked.Namespace)...)
	}
	a.Spec.ExpiresAt = lastEnd(a.Spec.Exceptions, at.Time)
	return asked, nil
}

// lastEnd is when the last of what is approved ends; nil where something does
// not.
func lastEnd(list []v1alpha1.RequestedException, from time.Time) *metav1.Time {
	var last time.Time
	for i := range list {
		end := time.Time{}
		switch x := &list[i]; {
		case x.ExpiresAt != nil:
			end = x.ExpiresAt.Time
		case x.Duration != "":
			if d, err := exception.ParseDuration(x.Duration); err == nil {
				end = from.Add(d)
			}
		}
		if end.IsZero() {
			return nil
		}
		if end.After(last) {
			last = end
		}
	}
	if last.IsZero() {
		return nil
	}
	return &metav1.Time{Time: last}
}

// find reads the request that a response names.
func (g *Guard) find(ctx context.Context, a *v1alpha1.PolicyExceptionResponse) (*v1alpha1.PolicyExceptionRequest, error) {
	if a.Spec.Namespace != "" {
		asked := &v1alpha1.PolicyExceptionRequest{}
		err := g.Reader.Get(ctx, client.ObjectKey{Namespace: a.Spec.Namespace, Name: a.Spec.Name}, asked)
		if apierrors.IsNotFound(err) {
			return nil, refuse("spec.name", a.Spec.Name, "there is no PolicyExceptionRequest %s/%s", a.Spec.Namespace, a.Spec.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("the request that is answered cannot be read: %w", err)
		}
		return asked, nil
	}
	var list v1alpha1.PolicyExceptionRequestList
	if err := g.Reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("the request that is answered cannot be read: %w", err)
	}
	var found *v1alpha1.PolicyExceptionRequest
	var namespaces []string
	for i := range list.Items {
		if q := &list.Items[i]; q.Name == a.Spec.Name {
			found = q
			namespaces = append(namespaces, q.Namespace)
		}
	}
	switch len(namespaces) {
	case 0:
		return nil, refuse("spec.name", a.Spec.Name, "there is no PolicyExceptionRequest %s in any namespace", a.Spec.Name)
	case 1:
		return found, nil
	}
	slices.Sort(namespaces)
	return nil, refuse("spec.namespace", "", "PolicyExceptionRequests called %s are in namespaces %s; say which is answered", a.Spec.Name, strings.Join(namespaces, ", "))
}

// readVersion checks that what is approved is what was read.
func readVersion(a *v1alpha1.PolicyExceptionResponse, asked *v1alpha1.PolicyExceptionRequest) error {
	changed := fmt.Sprintf("PolicyExceptionRequest %s/%s has changed since it was read; read it again (kubectl get policyexceptionrequest -n %s %s -o yaml) and answer what it says now", asked.Namespace, asked.Name, asked.Namespace, asked.Name)
	switch s := &a.Spec; {
	case s.RequestUID != "" && s.RequestUID != asked.UID:
		return refuse("spec.requestUID", string(s.RequestUID), "%s: it was deleted and made again", changed)
	case s.RequestUID != "" && s.RequestGeneration != 0:
		if s.RequestGeneration != asked.Generation {
			return refuse("spec.requestGeneration", fmt.Sprint(s.RequestGeneration), "%s: it is at generation %d", changed, asked.Generation)
		}
	case s.RequestResourceVersion != "":
		if s.RequestResourceVersion != asked.ResourceVersion {
			return refuse("spec.requestResourceVersion", s.RequestResourceVersion, "%s", changed)
		}
	case s.Status == v1alpha1.ResponseApproved:
		return refuse("spec.requestResourceVersion", "", "does not say which version of the request was read: give its metadata.resourceVersion here, or its metadata.uid and metadata.generation in requestUID and requestGeneration (sallyport approve does)")
	}
	return nil
}

// validateResponse judges a response.
func (g *Guard) validateResponse(ctx context.Context, r *request.Request) error {
	given, err := decode[v1alpha1.PolicyExceptionResponse](r.Object.Raw)
	if err != nil {
		return err
	}
	if r.Operation == request.Update {
		return unchanged(r, given)
	}
	want := given.DeepCopy()
	asked, err := g.answered(ctx, r, want)
	if err != nil {
		return err
	}
	if err := filledIn(r, given, want); err != nil {
		return err
	}
	others, err := g.answersTo(ctx, asked)
	if err != nil {
		return err
	}
	for i := range others {
		if others[i].Name != given.Name {
			return refuse("spec.name", given.Spec.Name, "is answered already, by PolicyExceptionResponse %s (%s); delete that one to answer again", others[i].Name, others[i].Spec.Status)
		}
	}
	byItself := strings.EqualFold(given.Spec.ApprovalPolicy, automatic)
	if byItself && !g.own(r.User.Name) {
		return refuse("spec.approvalPolicy", given.Spec.ApprovalPolicy, "is for what Sallyport answers by itself; write Manual")
	}
	if byItself {
		err = g.mayBeAutomatic(asked)
	} else {
		err = g.mayApprove(ctx, r, asked)
	}
	if err != nil {
		return err
	}
	if given.Spec.Status != v1alpha1.ResponseApproved {
		return nil
	}
	return worksOut(g.Set().Exceptions(), asked, want)
}

// worksOut refuses an approval that would excuse nothing, with the reason.
func worksOut(passes *exception.Set, asked *v1alpha1.PolicyExceptionRequest, answer *v1alpha1.PolicyExceptionResponse) error {
	sources := passes.WithRules(exception.Sources{
		Requests:  []source.Of[*v1alpha1.PolicyExceptionRequest]{{Object: asked}},
		Responses: []source.Of[*v1alpha1.PolicyExceptionResponse]{{Object: answer}},
	})
	options := passes.Options()
	options.Ledger = nil
	set, problems := exception.Compile(sources, options)
	for _, p := range problems {
		if p.Kind == exception.KindRequest {
			return refuse("spec.name", asked.Name, "the request cannot be approved as it is: %s: %s", p.Path, p.Detail)
		}
	}
	if set.State(exception.KindResponse, "", answer.Name).Effective {
		return nil
	}
	return refuse("spec.status", string(answer.Spec.Status), "this approval would excuse nothing: %s", set.State(exception.KindRequest, asked.Namespace, asked.Name).Unanswered)
}

// unchanged lets the metadata of a response change, and nothing else.
func unchanged(r *request.Request, given *v1alpha1.PolicyExceptionResponse) error {
	old, err := decode[v1alpha1.PolicyExceptionResponse](r.OldObject.Raw)
	if err != nil {
		return err
	}
	if apiequality.Semantic.DeepEqual(given.Spec, old.Spec) {
		return nil
	}
	return refuse("spec", "", "an answer cannot be changed once it is made; delete it, which takes back what it grants, and answer again")
}

// filledIn checks that what is filled in for the user stands there, and nothing
// that a user made up.
func filledIn(r *request.Request, given, want *v1alpha1.PolicyExceptionResponse) error {
	at := given.Spec.ApprovalTime
	if at == nil || at.Sub(now(r)).Abs() > ClockSkew {
		return refuse("spec.approvalTime", "", "is filled in with the time of the approval (is the webhook that fills it in, /mutate, configured?)")
	}
	want = want.DeepCopy()
	want.Spec.ApprovalTime = at
	if want.Spec.Status == v1alpha1.ResponseApproved {
		want.Spec.ExpiresAt = lastEnd(want.Spec.Exceptions, at.Time)
	}
	for _, f := range []struct {
		path       string
		given, own any
	}{
		{"spec.approver", given.Spec.Approver, want.Spec.Approver},
		{"spec.namespace", given.Spec.Namespace, want.Spec.Namespace},
		{"spec.requestUID", given.Spec.RequestUID, want.Spec.RequestUID},
		{"spec.requestGeneration", given.Spec.RequestGeneration, want.Spec.RequestGeneration},
		{"spec.requesters", given.Spec.Requesters, want.Spec.Requesters},
		{"spec.exceptions", given.Spec.Exceptions, want.Spec.Exceptions},
		{"spec.exclude", given.Spec.Exclude, want.Spec.Exclude},
		{"spec.expiresAt", given.Spec.ExpiresAt, want.Spec.ExpiresAt},
	} {
		if !apiequality.Semantic.DeepEqual(f.given, f.own) {
			return refuse(f.path, "", "is filled in from the authenticated request and from the request that is answered; something else stands there (is the webhook that fills it in, /mutate, configured?)")
		}
	}
	return nil
}
