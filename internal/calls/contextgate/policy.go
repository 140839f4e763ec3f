package contextgate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// The kinds of policies whose grants count. A policy of any other kind, an
// AdmissionPolicy first of all, may have nothing: who makes it need not be
// allowed to read what the server is allowed to read.
const (
	ClusterAdmissionPolicy = "ClusterAdmissionPolicy"
	ClusterPolicy          = "ClusterPolicy"
)

// Policy is a policy with what it was granted. It is not changed once it is made.
type Policy struct {
	kind, namespace, name string
	grants                []*grant
	capabilities          []string
}

// NewPolicy makes a policy with its grants: resources that it may read, and
// operations beside reads that it may call, such as "kubernetes/can_i", "oci/*"
// or "net/v1/dns_lookup_host". namespace is empty for a policy of the cluster. A
// grant to a policy that may have none is an error, and so is one that grants
// nothing or that cannot be understood.
func NewPolicy(kind, namespace, name string, grants []Grant, capabilities []string) (*Policy, error) {
	p := &Policy{kind: kind, namespace: namespace, name: name}
	if !p.mayHaveContext() && len(grants)+len(capabilities) > 0 {
		return nil, fmt.Errorf("%s reads nothing beside its request, so contextAware does not belong into it; a %s may have it", p, ClusterAdmissionPolicy)
	}
	for i := range grants {
		g, err := compile(&grants[i])
		if err != nil {
			return nil, fmt.Errorf("%s: contextAware[%d]%w", p, i, err)
		}
		p.grants = append(p.grants, g)
	}
	for i, c := range capabilities {
		if err := checkCapability(c); err != nil {
			return nil, fmt.Errorf("%s: capabilities[%d]: %w", p, i, err)
		}
	}
	p.capabilities = slices.Clone(capabilities)
	return p, nil
}

// String names the policy, as Kind/name or Kind/namespace/name.
func (p *Policy) String() string {
	if p.namespace != "" {
		return p.kind + "/" + p.namespace + "/" + p.name
	}
	return p.kind + "/" + p.name
}

func (p *Policy) mayHaveContext() bool {
	return (p.kind == ClusterAdmissionPolicy || p.kind == ClusterPolicy) && p.namespace == ""
}

// mayCall says why an operation may not be called at all, without looking at what
// it asks for; empty if it may.
func (p *Policy) mayCall(o hostcall.Operation) string {
	switch {
	case o == hostcall.Log:
		return ""
	case !p.mayHaveContext():
		return fmt.Sprintf("a policy of the kind %s reads nothing beside its request", p.kind)
	case o.Reads():
		if len(p.grants) == 0 {
			return "the policy has no contextAware field, so no resource was granted to it"
		}
		return ""
	case !slices.ContainsFunc(p.capabilities, func(c string) bool { return covers(c, o) }):
		return fmt.Sprintf("%s is not in the policy's capabilities", o)
	}
	return ""
}

// granted are the grants for a resource.
func (p *Policy) granted(r Resource) []*grant {
	var grants []*grant
	for _, g := range p.grants {
		if g.covers(r) {
			grants = append(grants, g)
		}
	}
	return grants
}

func (p *Policy) lacks(r Resource) string {
	var have []string
	for _, g := range p.grants {
		have = append(have, g.String())
	}
	return fmt.Sprintf("it is not in the policy's contextAware field, which lists %s", strings.Join(have, ", "))
}

// covers reports whether a pattern of capabilities covers an operation: the
// operation itself, what begins as the pattern does before its last star, or all.
func covers(pattern string, o hostcall.Operation) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(string(o), prefix)
	}
	return pattern == string(o)
}

// checkCapability refuses a pattern that covers no operation that needs a grant
// here, which would be a slip of the pen.
func checkCapability(pattern string) error {
	whole := pattern == "*" || !strings.Contains(pattern, "*") ||
		strings.HasSuffix(pattern, "/*") && strings.Count(pattern, "*") == 1
	var known []string
	for _, o := range hostcall.Operations() {
		if whole && covers(pattern, o) && o != hostcall.Log {
			return nil
		}
		known = append(known, string(o))
	}
	return fmt.Errorf("%q covers no host call; there are %s, and a star may stand for what comes after a slash", pattern, strings.Join(known, ", "))
}

// Resources are the resources that were granted, each once and in the version of
// its grant. The errors say which grants name nothing that the cluster serves, or
// of which nobody knows.
func (p *Policy) Resources(ctx context.Context, mapper Mapper) ([]Resource, []error) {
	var resources []Resource
	var errs []error
	for i, g := range p.grants {
		r, err := g.resolve(ctx, mapper)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("contextAware[%d], %s: %w", i, g, err))
		case !slices.Contains(resources, r):
			resources = append(resources, r)
		}
	}
	return resources, errs
}

// Grants says whether anything of the cluster was granted.
func (p *Policy) Grants() bool { return len(p.grants) > 0 }

// Covers reports whether a resource, or part of it, was granted.
func (p *Policy) Covers(r Resource) bool { return len(p.granted(r)) > 0 }

// CoversGroup reports whether any resource of a group was granted.
func (p *Policy) CoversGroup(group string) bool {
	return slices.ContainsFunc(p.grants, func(g *grant) bool { return g.Group == group })
}
