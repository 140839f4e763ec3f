package workflow

import (
	"context"
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// requesters are those who wrote the spec of a request, the one who asked first:
// what is there already, and whoever changes it now.
func requesters(user string, asked, old *v1alpha1.PolicyExceptionRequest) []string {
	if old == nil {
		return []string{user}
	}
	list := slices.Clone(old.Spec.Requesters)
	if !sameRequest(asked, old) && !slices.Contains(list, user) {
		list = append(list, user)
	}
	return list
}

func requestsOf(r *request.Request) (asked, old *v1alpha1.PolicyExceptionRequest, err error) {
	if asked, err = decode[v1alpha1.PolicyExceptionRequest](r.Object.Raw); err != nil {
		return nil, nil, err
	}
	if r.Operation == request.Update && r.OldObject != nil {
		old, err = decode[v1alpha1.PolicyExceptionRequest](r.OldObject.Raw)
	}
	return asked, old, err
}

// sameRequest reports whether two requests ask for the same.
func sameRequest(a, b *v1alpha1.PolicyExceptionRequest) bool {
	left, right := a.Spec.DeepCopy(), b.Spec.DeepCopy()
	left.Requesters, right.Requesters = nil, nil
	return apiequality.Semantic.DeepEqual(left, right)
}

func (g *Guard) validateRequest(ctx context.Context, r *request.Request) error {
	asked, old, err := requestsOf(r)
	if err != nil {
		return err
	}
	want := requesters(r.User.Name, asked, old)
	if !slices.Equal(asked.Spec.Requesters, want) {
		return refuse("spec.requesters", fmt.Sprint(asked.Spec.Requesters), "is filled in from the authenticated requests; %v belongs there (is the webhook that fills it in, /mutate, configured?)", want)
	}
	if old != nil && sameRequest(asked, old) {
		return nil
	}
	if old != nil {
		if err := g.notApproved(ctx, old); err != nil {
			return err
		}
	}
	if asked.Spec.Reason == policy.ReasonPlaceholder {
		return refuse("spec.reason", asked.Spec.Reason, "is what the suggestion left for you to write; say why the exception is needed")
	}
	if err := g.mayAsk(r, asked.Namespace, exception.ExceptedBy(asked)); err != nil {
		return err
	}
	ends := []*metav1.Time{asked.Spec.ExpiresAt}
	paths := []string{"spec.expiresAt"}
	for i := range asked.Spec.Exceptions {
		ends = append(ends, asked.Spec.Exceptions[i].ExpiresAt)
		paths = append(paths, fmt.Sprintf("spec.exceptions[%d].expiresAt", i))
	}
	for i, end := range ends {
		if err := notPast(r, end, paths[i]); err != nil {
			return err
		}
	}
	return nil
}

// notApproved keeps a request as it is once it is approved.
func (g *Guard) notApproved(ctx context.Context, old *v1alpha1.PolicyExceptionRequest) error {
	answers, err := g.answersTo(ctx, old)
	if err != nil {
		return err
	}
	for i := range answers {
		if a := &answers[i]; a.Spec.Status == v1alpha1.ResponseApproved {
			return refuse("spec", "", "is approved by PolicyExceptionResponse %s, and cannot be changed any more; delete the request, or have the response deleted, and ask again", a.Name)
		}
	}
	return nil
}

// answersTo lists the responses to this very version of a request.
func (g *Guard) answersTo(ctx context.Context, asked *v1alpha1.PolicyExceptionRequest) ([]v1alpha1.PolicyExceptionResponse, error) {
	var list v1alpha1.PolicyExceptionResponseList
	if err := g.Reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("the responses to requests cannot be read: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(a v1alpha1.PolicyExceptionResponse) bool {
		return a.DeletionTimestamp != nil || a.Spec.RequestUID != asked.UID || a.Spec.RequestGeneration != asked.Generation
	}), nil
}

// mayAsk asks the rules about exceptions whether the user may have one.
func (g *Guard) mayAsk(r *request.Request, namespace string, list []v1alpha1.ExceptedRules) error {
	if by := g.Set().Exceptions().Rules().MayAsk(&r.User, namespace, list); by != "" {
		return refuse("spec.exceptions", "", "names a policy that %s may not ask to be excused from: ExceptionPolicy %s says who may", r.User.Name, by)
	}
	return nil
}

func notPast(r *request.Request, end *metav1.Time, path string) error {
	if end == nil || end.After(now(r)) {
		return nil
	}
	return refuse(path, end.UTC().Format("2006-01-02T15:04:05Z"), "is in the past, so that nothing would ever be excused; give a later time")
}
