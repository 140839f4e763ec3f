package policyserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// Reporter writes what the pods of a server know of their policies into the status
// of these: whether the modules could be loaded, and what was refused to them. It
// writes nothing of Ready.
type Reporter struct {
	Client client.Client
	// Policies are those that run here.
	Policies func() []stored.Ref
	// Describe says what is known of a version of a policy, which was seen here first
	// at since. existing are the conditions that it has.
	Describe func(ref stored.Ref, existing []metav1.Condition, generation int64, since time.Time) policy.Description
	Clock    clock.WithTicker
	Log      logr.Logger

	changed notice.Notice
	// said is what this pod said last of each policy, so that pods which find
	// different things do not write over one another forever.
	said map[stored.Ref][]metav1.Condition
	told map[stored.Ref]string
	// first is since when the version is known that was seen last.
	first map[stored.Ref]seenAt
}

type seenAt struct {
	generation int64
	since      time.Time
}

// NewReporter completes a Reporter.
func NewReporter(r Reporter) *Reporter {
	r.changed = notice.New()
	r.said, r.told = map[stored.Ref][]metav1.Condition{}, map[stored.Ref]string{}
	r.first = map[stored.Ref]seenAt{}
	return &r
}

// reportEvery is how often the policies are looked at without a change.
const reportEvery = 10 * time.Second

// Notice says that something has changed.
func (r *Reporter) Notice() {
	r.changed.Give()
}

// Ready is always nil: no decision waits for a report.
func (r *Reporter) Ready() error { return nil }

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) error {
	for {
		r.report(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-r.Clock.After(reportEvery):
		case <-r.changed:
		}
	}
}

// report writes what has changed. What cannot be written is logged once, and tried
// again.
func (r *Reporter) report(ctx context.Context) {
	refs := r.Policies()
	for _, ref := range refs {
		problem := ""
		if err := r.reportOne(ctx, ref); err != nil && ctx.Err() == nil {
			problem = err.Error()
			if r.told[ref] != problem {
				r.Log.Error(err, "what is known of a policy cannot be written into its status", "policy", ref.String())
			}
		}
		r.told[ref] = problem
	}
	for ref := range r.told {
		if !slices.Contains(refs, ref) {
			delete(r.told, ref)
			delete(r.said, ref)
			delete(r.first, ref)
		}
	}
}

// reportTimeout bounds the report on one policy.
const reportTimeout = 5 * time.Second

func (r *Reporter) reportOne(ctx context.Context, ref stored.Ref) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var o client.Object
	var status *v1alpha1.PolicyStatus
	if ref.Kind == stored.KindAdmissionPolicy {
		p := &v1alpha1.AdmissionPolicy{}
		o, status = p, &p.Status
	} else {
		p := &v1alpha1.ClusterAdmissionPolicy{}
		o, status = p, &p.Status
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, o)
	if apierrors.IsNotFound(err) {
		// A policy that is only in a file.
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", ref, err)
	}
	conditions := r.conditions(ref, status.Conditions, o.GetGeneration())
	if apiequality.Semantic.DeepEqual(r.said[ref], conditions) {
		return nil
	}
	before, old := o.DeepCopyObject().(client.Object), status.DeepCopy()
	for _, c := range conditions {
		c.LastTransitionTime = metav1.NewTime(r.Clock.Now())
		apimeta.SetStatusCondition(&status.Conditions, c)
	}
	if !apiequality.Semantic.DeepEqual(old, status) {
		if err := r.Client.Status().Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("the status of %s cannot be written: %w", ref, err)
		}
	}
	r.said[ref] = conditions
	return nil
}

// conditions are those that a policy is to have by what is known here.
func (r *Reporter) conditions(ref stored.Ref, existing []metav1.Condition, generation int64) []metav1.Condition {
	if at, known := r.first[ref]; !known || at.generation != generation {
		r.first[ref] = seenAt{generation, r.Clock.Now()}
	}
	d := r.Describe(ref, existing, generation, r.first[ref].since)
	loaded := condition(v1alpha1.ConditionModuleReady, true, "Loaded", "the module was loaded")
	if d.NotReady != nil {
		loaded = condition(v1alpha1.ConditionModuleReady, false, d.Reason, d.NotReady.Error())
	}
	all := []metav1.Condition{loaded}
	for _, c := range d.Conditions {
		if c.Type != v1alpha1.ConditionReady {
			all = append(all, condition(c.Type, c.Status == metav1.ConditionTrue, c.Reason, c.Message))
			all[len(all)-1].Status = c.Status
		}
	}
	for i := range all {
		all[i].ObservedGeneration = generation
	}
	return all
}
