package check_test

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

// TestCheckOfWebhooks warns of what no request meets in webhook configurations, and
// refuses it where it is to be strict.
func TestCheckOfWebhooks(t *testing.T) {
	webhook := func(kind, text string) string {
		return "apiVersion: admissionregistration.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: mine}\nwebhooks:\n- {name: a.example.com, " + text + "}\n"
	}
	const (
		star     = `rules: [{operations: [CONNECT], apiGroups: [""], apiVersions: [v1], resources: ["*"]}]`
		selector = `objectSelector: {matchLabels: {a: b}}, rules: [{operations: [CONNECT], apiGroups: [""], apiVersions: [v1], resources: [pods/exec]}]`
		sound    = `rules: [{operations: [CONNECT], apiGroups: [""], apiVersions: [v1], resources: ["pods/*"]}]`
		broken   = `rules: {}`
	)
	filestest.InDir(t, map[string]string{
		"policy.yaml": filestest.BaselinePolicy,
		"star.yaml":   webhook("ValidatingWebhookConfiguration", star), "selector.yaml": webhook("MutatingWebhookConfiguration", selector),
		"sound.yaml": webhook("ValidatingWebhookConfiguration", sound), "broken.yaml": webhook("MutatingWebhookConfiguration", broken),
	})
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"star.yaml", command.Allowed, "warning: star.yaml, document 1: ValidatingWebhookConfiguration mine: webhooks[0].rules[0].resources[0]: *, of the webhook a.example.com: matches no request"},
		{"--strict star.yaml", command.Wrong, "star.yaml, document 1: ValidatingWebhookConfiguration mine: webhooks[0].rules[0].resources[0]: *"},
		{"selector.yaml", command.Allowed, "warning: selector.yaml, document 1: MutatingWebhookConfiguration mine: webhooks[0].objectSelector: a=b, of the webhook a.example.com: rule 0 is about CONNECT"},
		{"--strict selector.yaml", command.Wrong, "webhooks[0].objectSelector"},
		{"--strict sound.yaml", command.Allowed, ""},
		{"broken.yaml", command.Wrong, "cannot be read"},
	} {
		status, stdout, stderr := clitest.Run(t, "", append([]string{"check", "-p", "policy.yaml"}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(stderr, c.says) || c.says == "" && stderr != "" {
			t.Errorf("%s: exit status %d, want %d: %s%s", c.args, status, c.status, stdout, stderr)
		}
	}
}
