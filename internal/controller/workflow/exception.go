package workflow

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// PolicyException and ClusterPolicyException differ only in their scope, and are
// read as the first.
func exceptionsOf(r *request.Request) (e, old *v1alpha1.PolicyException, err error) {
	if e, err = decode[v1alpha1.PolicyException](r.Object.Raw); err != nil {
		return nil, nil, err
	}
	if r.Operation == request.Update && r.OldObject != nil {
		old, err = decode[v1alpha1.PolicyException](r.OldObject.Raw)
	}
	return e, old, err
}

// writer is who wrote the spec of an exception.
func writer(user string, e, old *v1alpha1.PolicyException) string {
	if sameException(e, old) {
		return old.Annotations[v1alpha1.AnnotationCreatedBy]
	}
	return user
}

// sameException reports whether a change leaves the spec as it is.
func sameException(e, old *v1alpha1.PolicyException) bool {
	return old != nil && apiequality.Semantic.DeepEqual(e.Spec, old.Spec)
}

func (g *Guard) validateException(ctx context.Context, r *request.Request) error {
	e, old, err := exceptionsOf(r)
	if err != nil {
		return err
	}
	want := writer(r.User.Name, e, old)
	if got := e.Annotations[v1alpha1.AnnotationCreatedBy]; got != want {
		return refuse("metadata.annotations["+v1alpha1.AnnotationCreatedBy+"]", got, "is filled in from the authenticated request; %q belongs there (is the webhook that fills it in, /mutate, configured?)", want)
	}
	same := sameException(e, old)
	if same && e.Annotations[v1alpha1.AnnotationApproval] == old.Annotations[v1alpha1.AnnotationApproval] {
		// What it was approved for is pinned to the kinds that were asked about then,
		// so that it reaches nothing more than before.
		return nil
	}
	if !same {
		if err := g.mayAsk(r, e.Namespace, e.Spec.Exceptions); err != nil {
			return err
		}
		if err := notPast(r, e.Spec.ExpiresAt, "spec.expiresAt"); err != nil {
			return err
		}
	}
	record, err := exception.ReadApproval(&e.ObjectMeta)
	if err != nil {
		return refuse("metadata.annotations["+v1alpha1.AnnotationApproval+"]", "", "%s; it is filled in from the authenticated request (is the webhook that fills it in, /mutate, configured?)", err)
	}
	if err := g.mayWrite(ctx, r, e, record); err != nil {
		return err
	}
	return recorded(r, e, record)
}

// writes says of an entry which of what it means the writer has to be asked about,
// and which no PolicyException of the namespace may name.
func (g *Guard) writes(entry *v1alpha1.ExceptedRules, namespace string) (asked, barred []meant) {
	rules := g.Set().Exceptions().Rules()
	for _, m := range g.means(entry, namespace) {
		ruled := m.ruled()
		switch w := rules.Writing(namespace, ruled.Kind, ruled.Name); {
		case !w.Barred && !w.RBAC:
			asked = append(asked, m)
		case w.Barred && (m.there || entry.PolicyKind != ""):
			barred = append(barred, m)
		}
		// What a pattern, or a name for later, could come to mean and the namespace
		// may not name is left out of what is approved.
	}
	return asked, barred
}

// mayWrite asks whether the user holds approve on every policy that an exception
// names, except for those where the right to write it is enough: on what the names
// mean here, and on what the record says, where another replica knew more.
func (g *Guard) mayWrite(ctx context.Context, r *request.Request, e *v1alpha1.PolicyException, record *exception.Approval) error {
	var list []approvable
	for i := range e.Spec.Exceptions {
		entry := &e.Spec.Exceptions[i]
		asked, barred := g.writes(entry, e.Namespace)
		if len(barred) > 0 {
			m := barred[0]
			return refuse(fmt.Sprintf("spec.exceptions[%d]", i), entry.PolicyName,
				"%s may not write it: exceptions[%d] names %s %s; ask for it with a PolicyExceptionRequest (sallyport request exception), which whoever holds the verb %s on %s can answer. A PolicyException excuses from it only where an ExceptionPolicy names that kind in policyKinds and gives writing",
				r.User.Name, i, m.kind.Kind, m.name, VerbApprove, onWhat(m.right()))
		}
		if record != nil && i < len(record.Kinds) {
			for _, k := range exception.Reachable(entry, e.Namespace) {
				if slices.Contains(record.Kinds[i], k.Kind) && !slices.Contains(kindsOf(asked), k.Kind) {
					narrow := *entry
					narrow.PolicyKind = k.Kind
					asked = append(asked, g.means(&narrow, e.Namespace)...)
				}
			}
		}
		for _, m := range asked {
			list = append(list, approvable{i, entry, m})
		}
	}
	next := ". Ask for it with a PolicyExceptionRequest (sallyport request exception), which whoever holds that right can answer"
	return approves(ctx, r, list, "write", "spec.exceptions", "", next)
}

// recordOf is the record of who writes an exception now.
func (g *Guard) recordOf(r *request.Request, e *v1alpha1.PolicyException) (*exception.Approval, error) {
	digest, err := exception.Digest(r.Object.GVK.Kind, e.Namespace, &e.Spec)
	if err != nil {
		return nil, err
	}
	record := &exception.Approval{By: r.User.Name, At: metav1.NewTime(now(r).UTC().Truncate(time.Second)), Spec: digest, Kinds: [][]string{}}
	for i := range e.Spec.Exceptions {
		asked, _ := g.writes(&e.Spec.Exceptions[i], e.Namespace)
		record.Kinds = append(record.Kinds, kindsOf(asked))
	}
	return record, nil
}

// recorded checks that the record says who writes the exception, when, and what it
// says. The kinds in it were asked about.
func recorded(r *request.Request, e *v1alpha1.PolicyException, record *exception.Approval) error {
	digest, err := exception.Digest(r.Object.GVK.Kind, e.Namespace, &e.Spec)
	if err != nil {
		return err
	}
	if record != nil && record.By == r.User.Name && record.Spec == digest && len(record.Kinds) == len(e.Spec.Exceptions) && record.At.Sub(now(r)).Abs() <= ClockSkew {
		return nil
	}
	return refuse("metadata.annotations["+v1alpha1.AnnotationApproval+"]", "", "is filled in from the authenticated request and what the exception says; something else stands there (is the webhook that fills it in, /mutate, configured?)")
}

// approval is what belongs into the annotation that records who approved an
// exception. An update that leaves the spec leaves the record, unless whoever
// makes it writes something else there and may approve: so is approved what stands
// from before.
func (g *Guard) approval(ctx context.Context, r *request.Request, e, old *v1alpha1.PolicyException) (string, error) {
	record, err := g.recordOf(r, e)
	if err != nil {
		return "", err
	}
	text, err := record.String()
	if err != nil || !sameException(e, old) {
		return text, err
	}
	given, before := e.Annotations[v1alpha1.AnnotationApproval], old.Annotations[v1alpha1.AnnotationApproval]
	if given == before || given == "" || g.mayWrite(ctx, r, e, nil) != nil {
		return before, nil
	}
	if last, err := exception.ReadApproval(&old.ObjectMeta); err == nil && last != nil {
		// The same again is not another approval, whatever the time.
		again := *record
		if again.At = last.At; apiequality.Semantic.DeepEqual(&again, last) {
			return before, nil
		}
	}
	return text, nil
}
