package webhooks

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// part is a webhook that is shipped: what it asks about, and where it need not.
type part struct {
	name       string
	mutates    bool
	cells      []cell
	conditions []admissionregistrationv1.MatchCondition
}

// shippedParts are the webhooks that are shipped, by door and name.
var shippedParts = sync.OnceValues(func() ([]part, error) {
	judges, err := wiring.Webhook("https://sallyport", nil, "")
	if err != nil {
		return nil, err
	}
	changes, err := wiring.MutatingWebhook("https://sallyport", nil, "")
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, h := range slices.Concat(validating(judges), mutating(changes)) {
		p := part{name: h.name, mutates: h.mutates, conditions: h.conditions}
		for _, r := range h.rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, o := range r.Operations {
						p.cells = append(p.cells, cell{group, resource, request.Operation(o)})
					}
				}
			}
		}
		parts = append(parts, p)
	}
	return parts, nil
})

// Names of webhooks that are shipped, by what needs them.
var (
	forIdentities = []string{
		"pods.sallyport.io", "annotations.pods.sallyport.io", "templates.sallyport.io", "serviceaccounts.sallyport.io", "podcertificates.sallyport.io",
		"tokens.sallyport.io", "token-secrets.sallyport.io", "bindings.sallyport.io", "access.sallyport.io",
	}
	forPodLabels       = []string{"pods.sallyport.io", "labels.pods.sallyport.io", "templates.sallyport.io"}
	forNamespaceLabels = []string{"namespaces.sallyport.io"}
)

// shippedGaps lists what of the webhooks that are shipped with these names is not asked
// about as it is by them. own is the namespace of Sallyport.
func shippedGaps(names []string, has *catalogue, hooks []hook, own string) ([]gap, error) {
	return shippedGapsOf(func(name string) bool { return slices.Contains(names, name) }, false, has, hooks, own)
}

// shippedGapsOf lists those of the webhooks whose names are meant. With ignore, webhooks
// count that let in what they cannot ask about.
func shippedGapsOf(meant func(name string) bool, ignore bool, has *catalogue, hooks []hook, own string) ([]gap, error) {
	parts, err := shippedParts()
	if err != nil {
		return nil, fmt.Errorf("the webhooks that are shipped cannot be read, which is a fault of Sallyport; please report it: %w", err)
	}
	var all []gap
	for _, p := range parts {
		if !meant(p.name) {
			continue
		}
		known := slices.Clone(p.conditions)
		for i := range known {
			known[i].Expression = strings.ReplaceAll(known[i].Expression, "'"+wiring.Namespace+"'", "'"+own+"'")
		}
		all = append(all, gaps(question{class: class{mutates: p.mutates, labels: true, ignore: ignore}, further: known}, p.cells, has, hooks)...)
	}
	return all, nil
}
