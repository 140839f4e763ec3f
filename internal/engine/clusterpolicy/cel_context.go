package clusterpolicy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// CompileClusterPolicy compiles the rules of a ClusterPolicy with what they may
// read.
func CompileClusterPolicy(p *v1alpha1.ClusterPolicy) (RulesOf, field.ErrorList) {
	at := field.NewPath("spec").Child("contextAware")
	granted, errs := compileContext(p, at)
	compiled, more := CompilePolicy(stored.KindClusterPolicy, &p.ObjectMeta, &p.Spec.PolicySpec, RulesOf{Context: granted, badContext: len(errs) > 0})
	if errs = append(errs, more...); len(errs) > 0 {
		return RulesOf{Makers: compiled.Makers}, errs
	}
	if granted != nil && !readsContext(compiled.Rules) {
		compiled.Warnings = append(compiled.Warnings, effect.ContextIdle.Note(at))
	}
	return compiled, nil
}

// compileContext reads the contextAware field. nil: it grants nothing.
func compileContext(p *v1alpha1.ClusterPolicy, at *field.Path) (*contextgate.Policy, field.ErrorList) {
	if len(p.Spec.ContextAware) == 0 {
		return nil, nil
	}
	grants, errs := contextgate.GrantsOf(p.Spec.ContextAware, at)
	if len(errs) > 0 {
		return nil, errs
	}
	granted, err := contextgate.NewPolicy(contextgate.ClusterPolicy, "", p.Name, grants, nil)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(at, len(grants), err.Error())}
	}
	return granted, nil
}

func readsContext(rules []*Rule) bool {
	for _, r := range rules {
		if e, ok := r.Body.(*celRule); ok && e.context != nil {
			return true
		}
	}
	return false
}

// compileCEL compiles validate.cel, with cluster in it where something was granted.
func compileCEL(v *v1alpha1.CELValidation, in *RulesOf, at *field.Path) (body, field.ErrorList) {
	granted := func(apiVersion, kind string) string { return refusal(in.Context, apiVersion, kind) }
	switch {
	case in.badContext:
		granted = func(string, string) string { return "" }
	case in.Context == nil:
		compiled, errs := expression.CompileValidation(v, at)
		return &celRule{validation: compiled}, errs
	}
	compiled, errs := expression.CompileReadingValidation(v, granted, at)
	e := &celRule{validation: compiled}
	if compiled != nil && compiled.ReadsCluster() {
		e.context = in.Context
	}
	return e, errs
}

// refusal says why a policy may not read a kind, as far as that is known without a
// cluster: the kinds of Kubernetes have the plurals that a rule makes of them, and
// those of others may have any.
func refusal(granted *contextgate.Policy, apiVersion, kind string) string {
	// What cannot be parsed has no version.
	version, _ := schema.ParseGroupVersion(apiVersion)
	switch {
	case version.Version == "":
		return "the first argument is an apiVersion, such as v1 or apps/v1"
	case kind == "" || strings.ContainsAny(kind, "/ .*"):
		return "the second argument is a kind, such as Namespace"
	case !granted.CoversGroup(version.Group):
		return "the policy's contextAware field lists nothing of that group"
	}
	plural, _ := meta.UnsafeGuessKindToResource(version.WithKind(kind))
	resource := contextgate.Resource{Group: version.Group, Version: version.Version, Resource: plural.Resource, Kind: kind}
	if granted.Covers(resource) || !builtin.Builtins().Groups[version.Group][plural.Resource] {
		return ""
	}
	return fmt.Sprintf("the policy's contextAware field does not list %s", resource)
}

// recorded makes a context whose reads are recorded, if the rule reads anything.
func (e *celRule) recorded(c *call.Call) (context.Context, *contexthost.Recorder) {
	if e.context == nil {
		return c.Ctx, nil
	}
	return contexthost.WithRecorder(c.Runs().Within(c.Ctx))
}

// reader is what the expressions of the rule read the cluster by; nil if they do
// not.
func (e *celRule) reader(c *call.Call) expression.Cluster {
	if e.context == nil {
		return nil
	}
	return &contextReader{host: c.Request.Host, policy: e.context}
}

// contextReader reads for one policy.
type contextReader struct {
	host   request.Host
	policy *contextgate.Policy
}

// ErrNoHost is for questions that are decided where there is nothing to read.
var ErrNoHost = errors.New("nothing beside the request can be read here")

// Tree answers a read.
func (r *contextReader) Tree(ctx context.Context, read *hostcall.Read) (map[string]any, error) {
	if r.host == nil {
		return nil, ErrNoHost
	}
	return r.host.Tree(ctx, r.policy, read)
}

// noContext are the kinds whose policies read nothing, with those that may.
var noContext = map[string]string{stored.KindPolicy: stored.KindClusterPolicy, "AdmissionPolicy": contextgate.ClusterAdmissionPolicy}

// WithoutContext says why a field that gives a policy more than its request is not
// known, and leaves other problems as they are.
func WithoutContext(kind, path, detail string) string {
	wider, ok := noContext[kind]
	if kind == stored.KindAdmissionPolicy && path == "spec.namespaceSelector" {
		return fmt.Sprintf("does not belong into a policy of the kind %s, which is only about its own namespace; leave it out, or write a %s", kind, wider)
	}
	if !ok || path != "spec.contextAware" && path != "spec.capabilities" {
		return detail
	}
	return fmt.Sprintf("does not belong into a policy of the kind %s: it reads nothing beside the request, as whoever may write one could otherwise read what the server may; a %s may have it", kind, wider)
}
