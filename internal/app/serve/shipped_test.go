package serve

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestShippedFlags refuses what has no effect or cannot be, in words that name the flag.
func TestShippedFlags(t *testing.T) {
	const all = "--webhooks=all --service=ns/sallyport "
	for args, want := range map[string]string{
		all: "", all + "--webhooks-ca-file=ca.crt": "", all + "--certificate-secret=sallyport-tls": "",
		"--webhooks=all":                                    "give --service",
		"--webhooks=some":                                   `--webhooks is "some"; all, follow or static is expected`,
		"--webhook-timeout=3s":                              "--webhook-timeout is about the webhooks that are shipped",
		"--webhooks=follow --webhook-pod-kinds=a.b.c":       "give --webhooks all too",
		all + "--webhook-timeout=500ms":                     "from 1s to 30s",
		all + "--webhook-timeout=1500ms":                    "whole seconds",
		all + "--webhook-timeout=31s":                       "from 1s to 30s",
		all + "--webhook-start-namespaces=a,B":              `--webhook-start-namespaces has "B"`,
		all + "--webhook-exclude-namespaces=a'||true||'":    "is not the name of a namespace",
		all + "--webhook-pod-kinds=deployments.apps":        "Those of Kubernetes",
		all + "--webhook-pod-kinds=pods":                    "RESOURCE.GROUP is expected",
		all + "--webhook-pod-kinds=farms/status.example.io": "RESOURCE.GROUP is expected",
	} {
		if _, err := given(args); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	p, err := given(all + "--webhook-timeout=3s --webhook-start-namespaces=network,dns --webhook-exclude-namespaces=sandbox --webhook-pod-kinds=rollouts.argoproj.io")
	if err != nil {
		t.Fatal(err)
	}
	got := p.webhooks.shipped
	if diff := cmp.Diff([]schema.GroupResource{{Group: "argoproj.io", Resource: "rollouts"}}, got.kinds); diff != "" || got.timeout != 3*time.Second || len(got.start) != 2 || len(got.exclude) != 1 {
		t.Errorf("%+v %s", got, diff)
	}
}

// given are flags of serve, checked.
func given(args string) (*Program, error) {
	f, cmd := &Flags{}, &cobra.Command{}
	f.Add(cmd)
	if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
		return nil, err
	}
	return f.Complete(io.Discard)
}
