package option

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Controllers are the flags that say which accounts make objects from the templates of others.
type Controllers struct {
	accounts []string
	shared   []string
	KeyFile  string
}

// Add adds the flags.
func (f *Controllers) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.accounts, "controller-account", nil, "an account that makes what an owner of a kind owns, as KIND.GROUP=USER, such as Rollout.argoproj.io=system:serviceaccount:argo:rollouts (repeatable; built-in kinds have theirs)")
	flags.StringArrayVar(&f.shared, "shared-controller-account", nil, "an account as which the controllers of every kind work, such as system:kube-controller-manager (repeatable)")
	flags.StringVar(&f.KeyFile, "template-key-file", "", "secret of the marks on templates that were judged, the same for every replica; with none, a mark is worth what the webhooks are that keep others from writing it")
}

// minKey is how long the secret must be, in bytes.
const minKey = 16

// Read gives what the flags come to. The error says which of them is wrong, or that the
// file of the key cannot be read.
func (f *Controllers) Read() (*request.Controllers, error) {
	c := &request.Controllers{Accounts: map[schema.GroupKind][]string{}, Shared: f.shared}
	for _, pair := range f.accounts {
		kind, user, ok := strings.Cut(pair, "=")
		gk := schema.ParseGroupKind(kind)
		if !ok || gk.Kind == "" || user == "" || strings.ToUpper(gk.Kind[:1]) != gk.Kind[:1] {
			return nil, usage.Errorf("--controller-account is %q; KIND.GROUP=USER is expected, such as Rollout.argoproj.io=system:serviceaccount:argo:rollouts", pair)
		}
		c.Accounts[gk] = append(c.Accounts[gk], user)
	}
	for _, user := range f.shared {
		if user == "" {
			return nil, usage.Errorf("--shared-controller-account names nobody")
		}
	}
	if f.KeyFile == "" {
		return c, nil
	}
	key, err := os.ReadFile(f.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("--template-key-file cannot be read: %w", err)
	}
	if c.Key = bytes.TrimSpace(key); len(c.Key) < minKey {
		return nil, usage.Errorf("--template-key-file %s holds %d bytes; at least %d are needed for a secret that nobody guesses", f.KeyFile, len(c.Key), minKey)
	}
	return c, nil
}
