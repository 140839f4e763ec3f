package webhooks

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/controller/enforced"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// sideDoor is an authorizer that asks about some requests, as VERB of RESOURCE.
type sideDoor struct {
	asks    []string
	unknown bool
	err     error
	found   int
}

func (s *sideDoor) Asks(d policy.AskedDoor) (asks, known bool, err error) {
	for _, one := range s.asks {
		asks = asks || one == d.String()
	}
	return asks, !s.unknown, s.err
}

func (s *sideDoor) Find(context.Context, policy.AskedDoor) { s.found++ }

func denyPolicy(spec string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: x}\nspec: " + spec + "\n"
}

// connecting is a webhook about a way into pods.
func connecting(resources ...string) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{Name: "access.sallyport.io", ClientConfig: leadsTo("/validate"), Rules: []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Connect},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: resources},
	}}}
}

// TestDenyPolicies need some door to ask about each request that they are about.
func TestDenyPolicies(t *testing.T) {
	exec := denyPolicy(`{podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [exec]}}}`)
	logs := denyPolicy(`{podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [log]}}}`)
	secrets := denyPolicy(`{rules: [{verbs: [get, delete], apiGroups: [""], resources: [secrets]}]}`)
	every := denyPolicy(`{rules: [{verbs: [get], apiGroups: ["*"], resources: ["*"], namespaces: {patterns: [x]}}]}`)
	for _, c := range []struct {
		name, policy string
		front        []string
		side         *sideDoor
		want, says   string
	}{
		{"the front door asks", exec, []string{"pods/exec"}, &sideDoor{}, "True Asked", "asks about all"},
		{"neither asks", exec, nil, &sideDoor{}, "False NotAsked", "CONNECT of pods/exec: no webhook asks, and the authorizer does not ask about create of pods/exec"},
		{"there is no side door", exec, nil, nil, "False NotAsked", "CONNECT of pods/exec: no webhook asks."},
		{"the side door asks", exec, nil, &sideDoor{asks: []string{"create of pods/exec"}}, "True " + enforced.BySideDoor, "members of system:masters"},
		{"it is not known yet", exec, nil, &sideDoor{unknown: true}, "", ""},
		{"it cannot be known", exec, nil, &sideDoor{err: errors.New("forbidden")}, "Unknown NotKnown", "forbidden"},
		{"the front door is enough", exec, []string{"pods/exec"}, &sideDoor{err: errors.New("forbidden")}, "True Asked", ""},
		{"what the front door never hears of", logs, []string{"pods/exec"}, &sideDoor{}, "False NotAsked", "the front door hears of no such request, and the authorizer does not ask about get of pods/log"},
		{"the same, at the side door", logs, nil, &sideDoor{asks: []string{"get of pods/log"}}, "True " + enforced.BySideDoor, ""},
		{"rules", secrets, nil, &sideDoor{asks: []string{"get of secrets"}}, "False NotAsked", "the authorizer does not ask about delete of secrets"},
		{"rules that are asked about", secrets, nil, &sideDoor{asks: []string{"get of secrets", "delete of secrets"}}, "True " + enforced.BySideDoor, ""},
		{"everything", every, []string{"pods/exec"}, &sideDoor{}, "False NotAsked", "CONNECT of pods/attach: no webhook asks, and the authorizer does not ask about get of pods/attach"},
		{"all but what has no door of its own", every, []string{"pods/exec"}, &sideDoor{asks: []string{"get of pods/attach", "get of pods/portforward", "get of pods/proxy", "get of services/proxy", "get of nodes/proxy"}}, "False NotAsked", "the authorizer does not ask about get of other resources. "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.policy)
			if c.side != nil {
				w.Authorizer = c.side
			}
			if c.front != nil {
				hooks := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
				live, err := hooks.Get(t.Context(), "sallyport", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				live.Webhooks = append(live.Webhooks, connecting(c.front...))
				if _, err := hooks.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			ref := stored.Ref{Kind: "DenyPolicy", Name: "x"}
			got, known := w.Asked(ref, w.set.VersionOf(ref))
			said := ""
			if known {
				said = string(got.Status) + " " + got.Reason
			}
			if said != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("%q %q, want %q with %q", said, got.Message, c.want, c.says)
			}
		})
	}
}

// TestForesee says to whoever writes a policy what will keep it from being enforced, and
// writes nothing.
func TestForesee(t *testing.T) {
	gone := map[schema.GroupVersion]string{{Group: "example.com", Version: "v1"}: "metrics/server"}
	for _, c := range []struct {
		name, policy string
		follow       bool
		want         string
	}{
		{"one that is asked about already", clusterPolicy("x", about("Pod")), false, ""},
		{"one that will be", clusterPolicy("x", about("Secret")), true, ""},
		{"one that nothing follows", clusterPolicy("x", about("Secret")), false, "it will not be enforced (NotAsked): CREATE of secrets: no webhook asks"},
		{"a kind that is not there", clusterPolicy("x", about("Gizmo")), true, "it will not be enforced (KindUnknown): the API server has no Gizmo"},
		{"what no webhook is ever asked about", clusterPolicy("x", about("ValidatingWebhookConfiguration")), true, "(NeverAsked): the API server asks no webhook about CREATE of validatingwebhookconfigurations.admissionregistration.k8s.io"},
		{"what another API server serves", clusterPolicy("x", about("Widget")), true, "(ServedElsewhere): API servers of their own serve CREATE of widgets.example.com by the Service metrics/server"},
		{"one of two groups", clusterPolicy("x", about("events.k8s.io/v1/Event")), true, ""},
		{"one of two groups that nothing follows", clusterPolicy("x", about("events.k8s.io/v1/Event")), false, "no webhook asks about what is written by another version than events.k8s.io/v1"},
		{"a way in", denyPolicy(`{podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [log]}}}`), true, "the authorizer does not ask about get of pods/log"},
		{"what is not a policy", "apiVersion: sallyport.io/v1alpha1\nkind: ExceptionPolicy\nmetadata: {name: x}\nspec: {policies: [a]}\n", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.policy)
			side := &sideDoor{}
			w.Authorizer = side
			w.Aggregated = func(context.Context) (map[schema.GroupVersion]string, error) { return gone, nil }
			if c.follow {
				w.follows(t)
			}
			got := strings.Join(w.Foresee(t.Context(), w.set), "\n")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || w.written != 0 || w.retold != 0 {
				t.Errorf("%q, want %q; %d writes", got, c.want, w.written)
			}
			if strings.Contains(c.name, "way in") && side.found != 1 {
				t.Errorf("the authorizer was asked %d times", side.found)
			}
		})
	}
	w := newWorld(t, clusterPolicy("x", about("Gizmo")))
	w.api.err = errAPI
	if got := w.Foresee(t.Context(), w.set); got != nil {
		t.Errorf("%q is said though nothing is known", got)
	}
}
