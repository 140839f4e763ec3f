package wiring

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// read reads the policies that hold at the side door, and what sessions give, from the files
// or the cluster.
func (f *flags) read(ctx context.Context, s command.Streams) (*policy.Set, *policy.Sources, error) {
	if len(f.policies) > 0 {
		files, err := judge.Load(f.policies, s, exception.Options{})
		if err != nil {
			return nil, nil, err
		}
		return files.Set, files.Sources, nil
	}
	as := command.AsUser{Live: f.Live}
	c, _, err := as.Open(s)
	if err != nil {
		return nil, nil, err
	}
	var denies v1alpha1.DenyPolicyList
	var escalations v1alpha1.BreakglassEscalationList
	for what, list := range map[string]client.ObjectList{"DenyPolicies": &denies, "BreakglassEscalations": &escalations} {
		if err := c.List(ctx, list); err != nil {
			if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				return nil, nil, fmt.Errorf("the cluster does not know %s: Sallyport's definitions are not installed. Name policies with -p, or say --scope", what)
			}
			return nil, nil, command.Plainly("the "+what+" of the cluster cannot be listed", err)
		}
	}
	sources := &policy.Sources{}
	for i := range denies.Items {
		sources.DenyPolicies = append(sources.DenyPolicies, stored.Sourced[*v1alpha1.DenyPolicy]{Object: &denies.Items[i], Origin: "the cluster"})
	}
	for i := range escalations.Items {
		sources.Escalations = append(sources.Escalations, stored.Sourced[*v1alpha1.BreakglassEscalation]{Object: &escalations.Items[i], Origin: "the cluster"})
	}
	set, problems := policy.Compile(*sources, pod.Default(), exception.Options{})
	if len(problems) > 0 {
		return nil, nil, fmt.Errorf("what the policies of the cluster need cannot be worked out, as one of them cannot work: %w", problems)
	}
	return set, sources, nil
}
