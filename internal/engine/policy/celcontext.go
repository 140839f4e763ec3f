package policy

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
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// compileClusterPolicy compiles the rules of a ClusterPolicy with what they may
// read.
func compileClusterPolicy(p *v1alpha1.ClusterPolicy) (rulesOf, field.ErrorList) {
	at := field.NewPath("spec").Child("contextAware")
	granted, errs := compileContext(p, at)
	compiled, more := compilePolicy(KindClusterPolicy, &p.ObjectMeta, &p.Spec.PolicySpec, rulesOf{context: granted, badContext: len(errs) > 0})
	if errs = append(errs, more...); len(errs) > 0 {
		return rulesOf{makers: compiled.makers}, errs
	}
	if granted != nil && !readsContext(compiled.rules) {
		compiled.warnings = append(compiled.warnings, effect.ContextIdle.Note(at))
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

func readsContext(rules []*rule) bool {
	for _, r := range rules {
		if e, ok := r.body.(*celRule); ok && e.context != nil {
			return true
		}
	}
	return false
}

// compileCEL compiles validate.cel, with cluster in it where something was granted.
func compileCEL(v *v1alpha1.CELValidation, in *rulesOf, at *field.Path) (body, field.ErrorList) {
	granted := func(apiVersion, kind string) string { return refusal(in.context, apiVersion, kind) }
	switch {
	case in.badContext:
		granted = func(string, string) string { return "" }
	case in.context == nil:
		compiled, errs := expression.CompileValidation(v, at)
		return &celRule{validation: compiled}, errs
	}
	compiled, errs := expression.CompileReadingValidation(v, granted, at)
	e := &celRule{validation: compiled}
	if compiled != nil && compiled.ReadsCluster() {
		e.context = in.context
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
	if granted.Covers(resource) || !builtins().groups[version.Group][plural.Resource] {
		return ""
	}
	return fmt.Sprintf("the policy's contextAware field does not list %s", resource)
}

// recorded makes a context whose reads are recorded, if the rule reads anything.
func (e *celRule) recorded(c *call) (context.Context, *contexthost.Recorder) {
	if e.context == nil {
		return c.ctx, nil
	}
	return contexthost.WithRecorder(c.runs().Within(c.ctx))
}

// reader is what the expressions of the rule read the cluster by; nil if they do
// not.
func (e *celRule) reader(c *call) expression.Cluster {
	if e.context == nil {
		return nil
	}
	return &contextReader{host: c.request.Host, policy: e.context}
}

// contextReader reads for one policy.
type contextReader struct {
	host   request.Host
	policy *contextgate.Policy
}

// errNoHost is for questions that are decided where there is nothing to read.
var errNoHost = errors.New("nothing beside the request can be read here")

// Tree answers a read.
func (r *contextReader) Tree(ctx context.Context, read *hostcall.Read) (map[string]any, error) {
	if r.host == nil {
		return nil, errNoHost
	}
	return r.host.Tree(ctx, r.policy, read)
}

// noContext are the kinds whose policies read nothing, with those that may.
var noContext = map[string]string{KindPolicy: KindClusterPolicy, "AdmissionPolicy": contextgate.ClusterAdmissionPolicy}

// withoutContext says why a field that gives a policy more than its request is not
// known, and leaves other problems as they are.
func withoutContext(kind, path, detail string) string {
	wider, ok := noContext[kind]
	if kind == KindAdmissionPolicy && path == "spec.namespaceSelector" {
		return fmt.Sprintf("does not belong into a policy of the kind %s, which is only about its own namespace; leave it out, or write a %s", kind, wider)
	}
	if !ok || path != "spec.contextAware" && path != "spec.capabilities" {
		return detail
	}
	return fmt.Sprintf("does not belong into a policy of the kind %s: it reads nothing beside the request, as whoever may write one could otherwise read what the server may; a %s may have it", kind, wider)
}
