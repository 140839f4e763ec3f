package webhooks

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// TestFaults finds what no request can meet, and nothing in what somebody may mean.
func TestFaults(t *testing.T) {
	const selector = "objectSelector: {matchLabels: {guarded: \"yes\"}}, "
	for _, c := range []struct{ name, webhook, path, says string }{
		{"* for subresources", `rules: [{operations: [CONNECT], apiGroups: [""], apiVersions: [v1], resources: ["*"]}]`, "webhooks[0].rules[0].resources[0]", "such as pods/exec"},
		{"* for subresources beside others", `rules: [{operations: [CREATE, CONNECT], apiGroups: [""], apiVersions: [v1], resources: ["*"]}]`, "webhooks[0].rules[0].resources[0]", "write */* for its subresources"},
		{"* of everything", `rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]`, "webhooks[0].rules[0].resources[0]", "write */* for its subresources"},
		{"pods and CONNECT", `rules: [{operations: [UPDATE, CONNECT], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`, "webhooks[0].rules[0].resources[0]", "write pods/* for its subresources"},
		{"exec that is created", `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods/exec]}]`, "webhooks[0].rules[0].resources[0]", "the API server asks with CONNECT"},
		{"an ephemeral container that is created", `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods/ephemeralcontainers]}]`, "webhooks[0].rules[0].resources[0]", "the API server asks with UPDATE"},
		{"an objectSelector on CONNECT", selector + `rules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}, {operations: [CONNECT], apiGroups: [""], apiVersions: [v1], resources: [pods/exec]}]`, "webhooks[0].objectSelector", "rule 1 is about CONNECT"},
		{"an objectSelector on all of pods", selector + `rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [pods/*]}]`, "webhooks[0].objectSelector", "rule 0 is about CONNECT"},
		{"a group by its other name", `rules: [{operations: [CREATE], apiGroups: [core], apiVersions: [v1], resources: [pods]}]`, "webhooks[0].rules[0].apiGroups[0]", `is written ""`},
		{"the singular", `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pod]}]`, "webhooks[0].rules[0].resources[0]", "plural"},
		{"of another group", `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [deployments]}]`, "webhooks[0].rules[0].resources[0]", "another group"},
		{"pods of the cluster", `rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods], scope: Cluster}]`, "webhooks[0].rules[0].resources[0]", "scope: Namespaced"},
		{"nodes of a namespace", `rules: [{operations: [CONNECT], apiGroups: [""], apiVersions: [v1], resources: [nodes/proxy], scope: Namespaced}]`, "webhooks[0].rules[0].resources[0]", "scope: Cluster"},
		{"webhooks", `rules: [{operations: [UPDATE], apiGroups: [admissionregistration.k8s.io], apiVersions: [v1], resources: [validatingwebhookconfigurations]}]`, "webhooks[0].rules[0].resources[0]", "asks no webhook"},

		{"pods", `rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`, "", ""},
		{"all of pods", `rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: ["pods/*"]}]`, "", ""},
		{"everything", `rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"]}]`, "", ""},
		{"an objectSelector on pods", selector + `rules: [{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`, "", ""},
		{"a custom kind", `rules: [{operations: [CREATE], apiGroups: [example.com], apiVersions: [v1], resources: [gizmos, gizmos/status], scope: Cluster}]`, "", ""},
	} {
		for _, of := range []func(string) ([]Fault, error){
			func(text string) ([]Fault, error) {
				config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
				err := yaml.UnmarshalStrict([]byte(text), config)
				return FaultsOfValidating(config), err
			},
			func(text string) ([]Fault, error) {
				config := &admissionregistrationv1.MutatingWebhookConfiguration{}
				err := yaml.UnmarshalStrict([]byte(text), config)
				return FaultsOfMutating(config), err
			},
		} {
			found, err := of("metadata: {name: mine}\nwebhooks: [{name: a.example.com, " + c.webhook + "}]")
			if err != nil {
				t.Fatal(c.name, err)
			}
			if c.path == "" {
				if len(found) > 0 {
					t.Errorf("%s: %s", c.name, found[0].String())
				}
				continue
			}
			if len(found) != 1 || found[0].Path.String() != c.path || !strings.Contains(found[0].String(), c.says) || !strings.HasPrefix(found[0].String(), "mine: webhook a.example.com: ") {
				t.Errorf("%s: %v, want one at %s that says %q", c.name, found, c.path, c.says)
			}
		}
	}
}

// TestShippedHasNoFaults holds what is shipped to it.
func TestShippedHasNoFaults(t *testing.T) {
	judges, err := wiring.Webhook("https://sallyport", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	changes, err := wiring.MutatingWebhook("https://sallyport", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(FaultsOfValidating(judges), FaultsOfMutating(changes)...) {
		t.Error(f.String())
	}
}
