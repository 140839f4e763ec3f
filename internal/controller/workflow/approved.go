package workflow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
)

// The reasons of the condition Approved.
const (
	reasonRightToWrite = "RightToWrite"
	reasonNoOne        = "NoOneApproved"
	reasonNoEffect     = "NoEffect"
)

// approval is the condition that says whether somebody approved an exception.
func (all *everything) approval(set *policy.Set, uid types.UID, problem error) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionApproved, Status: metav1.ConditionFalse}
	p := all.passes[uid]
	if p == nil {
		condition.Reason, condition.Message = reasonNoEffect, "the exception has no effect"
		if problem != nil {
			condition.Message += ": " + problem.Error()
		}
		return condition
	}
	var standing, lacking []string
	named := 0
	var until time.Time
	var by string
	p.Excepted(func(kind, namespace, ownNamespace, name string, _ []string) {
		for _, ref := range set.Named(kind, namespace, ownNamespace, name) {
			called := ref.Kind + " " + strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/")
			end, policy, stands := p.Standing(ref.Kind, ref.Namespace, ref.Name)
			switch {
			case stands:
				standing = append(standing, called)
				if !end.IsZero() && (until.IsZero() || end.Before(until)) {
					until, by = end, policy
				}
			case p.Lacks(ref.Kind, ref.Namespace, ref.Name) != nil:
				lacking = append(lacking, called)
			}
			named++
		}
	})
	record := p.Approval()
	switch {
	case len(standing) > 0 || named == 0 && p.Unapproved():
		condition.Reason = reasonNoOne
		condition.Message = "no one approved it"
		if len(standing) > 0 {
			condition.Message += " for " + few(standing)
		}
		switch {
		case until.IsZero():
			condition.Message += "; it counts all the same, until an ExceptionPolicy says in unapprovedUntil how long"
		case all.now.Before(until):
			condition.Message += fmt.Sprintf("; it counts until %s, as ExceptionPolicy %s says", until.UTC().Format(time.RFC3339), by)
		default:
			condition.Message += fmt.Sprintf("; it counted until %s, as ExceptionPolicy %s says", until.UTC().Format(time.RFC3339), by)
		}
		condition.Message += ". Who may approve does so by writing any value into its annotation " + v1alpha1.AnnotationApproval
		return condition
	case record == nil || !slices.ContainsFunc(record.Kinds, func(kinds []string) bool { return len(kinds) > 0 }):
		condition.Reason, condition.Message = reasonRightToWrite, "the right to write it is enough, as an ExceptionPolicy with writing rbac says"
	default:
		condition.Reason = reasonApproved
		condition.Message = fmt.Sprintf("approved by %s at %s", record.By, record.At.UTC().Format(time.RFC3339))
	}
	condition.Status = metav1.ConditionTrue
	if len(lacking) > 0 {
		condition.Message += "; it does not excuse from " + few(lacking) + ", for which it was not approved"
	}
	return condition
}

// few names some of many.
func few(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

func setApproved(conditions *[]metav1.Condition, generation int64, condition metav1.Condition) {
	condition.ObservedGeneration = generation
	apimeta.SetStatusCondition(conditions, condition)
}
