package judge_test

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

// TestCommandsTellWhatCoversNothing says that a policy which names clusters is
// not passed over without a word where the cluster has no name.
func TestCommandsTellWhatCoversNothing(t *testing.T) {
	filestest.InDir(t, map[string]string{
		"prod.yaml": filestest.ProdPolicy, "all.yaml": filestest.GuardPolicy, "pods.yaml": filestest.GoodPod,
		"review.json": strings.Replace(filestest.AccessReview, "NAME", "good", 1),
	})
	const warning = "warning: DenyPolicy guard covers nothing: it is for the clusters prod-*, and this cluster has no name; give it one with --cluster\n"
	const open = "note: DenyPolicy guard judges exec, attach, portforward, and no policy judges ephemeralcontainers, proxy, nodes/proxy as strictly, by which the same pods are reached\n"
	for _, tt := range []struct{ name, args, stderr string }{
		{"access", "access exec default/good -p prod.yaml -p pods.yaml", warning},
		{"access, as JSON", "access exec default/good -p prod.yaml -p pods.yaml -o json", warning},
		{"access, named", "access exec default/good -p prod.yaml -p pods.yaml --cluster prod-eu", open},
		{"access, another", "access exec default/good -p prod.yaml -p pods.yaml --cluster dev", ""},
		{"access, no scope", "access exec default/good -p all.yaml -p pods.yaml", open},
		{"review", "review -p prod.yaml -p pods.yaml review.json", warning},
		{"review, named", "review -p prod.yaml -p pods.yaml review.json --cluster dev", ""},
		{"check", "check -p prod.yaml pods.yaml", warning},
		{"check, named", "check -p prod.yaml pods.yaml --cluster prod-eu", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, _, stderr := clitest.Run(t, "", strings.Fields(tt.args)...)
			if status != 0 || stderr != tt.stderr {
				t.Errorf("status %d, standard error %q; want 0, %q", status, stderr, tt.stderr)
			}
		})
	}
}
