package workflow

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// RuleServer is the rule name in the results about the PolicyServer that a policy
// names.
const RuleServer = "policy-server"

// concernsServer reports whether a request may put a policy at another PolicyServer.
func concernsServer(r *request.Request) bool {
	if r.Door != request.Admission || r.Object == nil || r.Object.GVK.Group != v1alpha1.GroupVersion.Group || r.Subresource != "" {
		return false
	}
	switch r.Object.GVK.Kind {
	case stored.KindClusterAdmissionPolicy, stored.KindAdmissionPolicy:
		return r.Operation == request.Create || r.Operation == request.Update
	default:
		return false
	}
}

// toldServers bounds how many servers a refusal lists.
const toldServers = 10

// validateServer refuses a policy that is put at a PolicyServer that is not there, as
// after a slip of the pen: the policy would be judged by with another account than
// was meant. One that stays where it is may be changed: its server may have gone.
func (g *Guard) validateServer(ctx context.Context, r *request.Request) error {
	server, err := serverOf(r.Object)
	if server == "" {
		return err
	}
	if r.Operation == request.Update {
		if before, err := serverOf(r.OldObject); err != nil || before == server {
			return err
		}
	}
	var list v1alpha1.PolicyServerList
	if err := g.Reader.List(ctx, &list); err != nil {
		return fmt.Errorf("whether there is a PolicyServer %q cannot be found out: %w", server, err)
	}
	var there []string
	for i := range list.Items {
		s := &list.Items[i]
		switch {
		case s.DeletionTimestamp == nil && s.Name == server:
			return nil
		case s.DeletionTimestamp == nil:
			there = append(there, strconv.Quote(s.Name))
		}
	}
	slices.Sort(there)
	if more := len(there) - toldServers; more > 0 {
		there = append(there[:toldServers], fmt.Sprintf("%d more", more))
	}
	known := "there is none"
	if len(there) > 0 {
		known = "there are: " + strings.Join(there, ", ")
	}
	return refuse("spec.policyServer", server, "names the PolicyServer %q, which is not there or is being deleted (%s); write the name as it is, apply the PolicyServer first, or leave policyServer out, so that Sallyport itself judges by the policy", server, known)
}

// serverOf is the PolicyServer that a policy names; "" for none.
func serverOf(object *pod.Object) (string, error) {
	if object == nil {
		return "", nil
	}
	// Either kind has the field in the same place.
	named, err := decode[struct {
		Spec struct {
			PolicyServer string `json:"policyServer"`
		} `json:"spec"`
	}](object.Raw)
	if err != nil {
		return "", err
	}
	return named.Spec.PolicyServer, nil
}
