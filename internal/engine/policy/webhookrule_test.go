package policy

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestGroupsOfEvents takes events for the same objects in both groups that serve
// them, and nothing else.
func TestGroupsOfEvents(t *testing.T) {
	for name, c := range map[string]struct {
		groups          []string
		group, resource string
		want            bool
	}{
		"its group":                       {[]string{""}, "", "events", true},
		"core, by the other":              {[]string{""}, stored.EventsGroup, "events", true},
		"the other, by core":              {[]string{stored.EventsGroup}, "", "events", true},
		"the other, by a third":           {[]string{stored.EventsGroup}, "apps", "events", false},
		"core, by a third":                {[]string{""}, "apps", "events", false},
		"a third, by core":                {[]string{"apps"}, "", "events", false},
		"a third, by the other":           {[]string{"apps"}, stored.EventsGroup, "events", false},
		"another resource, by the other":  {[]string{""}, stored.EventsGroup, "pods", false},
		"another resource, by core":       {[]string{stored.EventsGroup}, "", "pods", false},
		"another resource of a third":     {[]string{"apps"}, "apps", "deployments", true},
		"another resource, by star":       {[]string{"*"}, "apps", "deployments", true},
		"Sallyport's own, by star":        {[]string{"*"}, "sallyport.io", "events", false},
		"Sallyport's own, by name":        {[]string{"sallyport.io"}, "sallyport.io", "policies", true},
		"a resource with an empty groups": {nil, "", "pods", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&modulepolicy.WebhookRule{Groups: c.groups}).AboutServed(c.group, c.resource); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestNamespacesOfNamespacedRules refuses namespaces only where nothing else can be
// meant by the word.
func TestNamespacesOfNamespacedRules(t *testing.T) {
	for name, c := range map[string]struct {
		groups  []string
		refused bool
	}{
		"core":             {[]string{""}, true},
		"another group":    {[]string{"example.com"}, false},
		"core and another": {[]string{"", "example.com"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			rule := &modulepolicy.WebhookRule{Groups: c.groups, Resources: []string{"namespaces"}, Scope: admissionregistrationv1.AllScopes}
			if errs := rule.CheckNamespaced(nil); (len(errs) > 0) != c.refused {
				t.Errorf("%v, want refused %v", errs, c.refused)
			}
		})
	}
}
