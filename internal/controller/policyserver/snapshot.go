package policyserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// hosted is a policy that names a PolicyServer.
type hosted struct {
	ref  stored.Ref
	id   string
	spec *v1alpha1.AdmissionPolicySpec
	// wide is nil for an AdmissionPolicy.
	wide   *v1alpha1.ClusterAdmissionPolicySpec
	object client.Object
	status *v1alpha1.PolicyStatus
	// broken is set where the policy cannot work as it is; whoever compiles policies
	// has told why.
	broken bool
	// problem is why no server judges by it, and reason the same in one word.
	problem, reason string
}

// snapshot is what there is, policies in the order of their age.
type snapshot struct {
	servers  []*v1alpha1.PolicyServer
	policies []*hosted
	// own are the policies that this Sallyport runs itself.
	own []*hosted
}

// put takes a policy in.
func (w *snapshot) put(p *hosted) {
	if p.spec.PolicyServer == "" {
		w.own = append(w.own, p)
	} else {
		w.policies = append(w.policies, p)
	}
}

// of lists the policies of a server that are to be judged by.
func (w *snapshot) of(server string) []*hosted {
	var found []*hosted
	for _, p := range w.policies {
		if p.spec.PolicyServer == server && p.object.GetDeletionTimestamp() == nil {
			found = append(found, p)
		}
	}
	return found
}

func (c *Controller) read(ctx context.Context) (*snapshot, error) {
	var servers v1alpha1.PolicyServerList
	var wide v1alpha1.ClusterAdmissionPolicyList
	var narrow v1alpha1.AdmissionPolicyList
	for _, list := range []client.ObjectList{&servers, &wide, &narrow} {
		if err := c.objects.List(ctx, list); err != nil {
			return nil, fmt.Errorf("policies and their servers cannot be listed: %w", err)
		}
	}
	w := &snapshot{}
	for i := range servers.Items {
		w.servers = append(w.servers, servers.Items[i].DeepCopy())
	}
	for i := range wide.Items {
		o := wide.Items[i].DeepCopy()
		w.put(&hosted{
			ref:  stored.Ref{Kind: stored.KindClusterAdmissionPolicy, Name: o.Name},
			spec: &o.Spec.AdmissionPolicySpec, wide: &o.Spec, object: o, status: &o.Status,
		})
	}
	for i := range narrow.Items {
		o := narrow.Items[i].DeepCopy()
		w.put(&hosted{
			ref:  stored.Ref{Kind: stored.KindAdmissionPolicy, Namespace: o.Namespace, Name: o.Name},
			spec: &o.Spec, object: o, status: &o.Status,
		})
	}
	slices.SortFunc(w.servers, func(a, b *v1alpha1.PolicyServer) int { return cmp.Compare(a.Name, b.Name) })
	for _, policies := range [][]*hosted{w.policies, w.own} {
		slices.SortFunc(policies, func(a, b *hosted) int {
			x, y := a.object.GetCreationTimestamp(), b.object.GetCreationTimestamp()
			return cmp.Or(x.Compare(y.Time), cmp.Compare(a.ref.Namespace, b.ref.Namespace), cmp.Compare(a.ref.Name, b.ref.Name), cmp.Compare(a.ref.Kind, b.ref.Kind))
		})
	}
	c.check(w)
	return w, nil
}

// longestID is the longest id that a file of policies can have.
const longestID = 253

// check finds the policies that no server can judge by, whichever they name.
func (c *Controller) check(w *snapshot) {
	taken := map[string]*hosted{}
	known := map[string]bool{}
	for _, s := range w.servers {
		known[s.Name] = s.DeletionTimestamp == nil
	}
	for _, p := range w.own {
		p.id, p.broken = p.ref.ModuleID(), c.isBroken(p)
	}
	for _, p := range w.policies {
		p.id = p.ref.ModuleID()
		first := taken[p.spec.PolicyServer+" "+p.id]
		switch {
		case c.isBroken(p):
			p.broken = true
			if first == nil {
				taken[p.spec.PolicyServer+" "+p.id] = p
			}
		case !known[p.spec.PolicyServer]:
			p.reason, p.problem = "NoPolicyServer", fmt.Sprintf("there is no PolicyServer %q", p.spec.PolicyServer)
		case first != nil:
			p.reason, p.problem = "NameTaken", fmt.Sprintf("is called %s at its server, which %s is too; give it another name", p.id, first.ref)
		case len(p.id) > longestID:
			p.reason, p.problem = "NameTooLong", fmt.Sprintf("is called %s at its server, and that has more than %d bytes; give it a shorter name", p.id, longestID)
		case p.ref.Namespace == c.Namespace:
			p.reason, p.problem = "OwnNamespace", fmt.Sprintf("nobody judges by policies of the namespace %s, in which the servers of policies start themselves", c.Namespace)
		default:
			taken[p.spec.PolicyServer+" "+p.id] = p
		}
	}
}

// verdict is what was found about one version of an object.
type verdict struct {
	generation int64
	broken     bool
}

// isBroken reports whether a policy cannot be compiled.
func (c *Controller) isBroken(p *hosted) bool {
	return c.judged(p.object, func() policy.Sources {
		if o, ok := p.object.(*v1alpha1.ClusterAdmissionPolicy); ok {
			return policy.Sources{ClusterAdmissionPolicies: []stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]{{Object: o}}}
		}
		return policy.Sources{AdmissionPolicies: []stored.Sourced[*v1alpha1.AdmissionPolicy]{{Object: p.object.(*v1alpha1.AdmissionPolicy)}}}
	})
}

func (c *Controller) isBrokenServer(s *v1alpha1.PolicyServer) bool {
	return c.judged(s, func() policy.Sources {
		return policy.Sources{PolicyServers: []stored.Sourced[*v1alpha1.PolicyServer]{{Object: s}}}
	})
}

// judged compiles each version of an object once.
func (c *Controller) judged(o client.Object, sources func() policy.Sources) bool {
	if known, ok := c.verdicts[o.GetUID()]; ok && known.generation == o.GetGeneration() && o.GetUID() != "" {
		return known.broken
	}
	_, problems := policy.Compile(sources(), pod.Default(), exception.Options{})
	c.verdicts[o.GetUID()] = verdict{o.GetGeneration(), len(problems) > 0}
	return len(problems) > 0
}

// forget drops what is known of objects that are gone.
func (c *Controller) forget(w *snapshot) {
	there := map[types.UID]bool{itself.UID: true}
	for _, s := range w.servers {
		there[s.UID] = true
	}
	for _, p := range slices.Concat(w.policies, w.own) {
		there[p.object.GetUID()] = true
	}
	for uid := range c.verdicts {
		if !there[uid] {
			delete(c.verdicts, uid)
		}
	}
	for uid := range c.seen {
		if !there[uid] {
			delete(c.seen, uid)
		}
	}
}
