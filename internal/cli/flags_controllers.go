package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// controllerFlags say which accounts make objects from the templates of others.
type controllerFlags struct {
	accounts []string
	shared   []string
	keyFile  string
}

func (f *controllerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.accounts, "controller-account", nil, "an account that makes what an owner of a kind owns, as KIND.GROUP=USER, such as Rollout.argoproj.io=system:serviceaccount:argo:rollouts (repeatable; built-in kinds have theirs)")
	flags.StringArrayVar(&f.shared, "shared-controller-account", nil, "an account as which the controllers of every kind work, such as system:kube-controller-manager (repeatable)")
	flags.StringVar(&f.keyFile, "template-key-file", "", "secret of the marks on templates that were judged, the same for every replica; with none, a mark is worth what the webhooks are that keep others from writing it")
}

// minKey is how long the secret must be, in bytes.
const minKey = 16

// controllers are what the flags come to.
func (f *controllerFlags) controllers() (*request.Controllers, error) {
	c := &request.Controllers{Accounts: map[schema.GroupKind][]string{}, Shared: f.shared}
	for _, pair := range f.accounts {
		kind, user, ok := strings.Cut(pair, "=")
		gk := schema.ParseGroupKind(kind)
		if !ok || gk.Kind == "" || user == "" || strings.ToUpper(gk.Kind[:1]) != gk.Kind[:1] {
			return nil, usagef("--controller-account is %q; KIND.GROUP=USER is expected, such as Rollout.argoproj.io=system:serviceaccount:argo:rollouts", pair)
		}
		c.Accounts[gk] = append(c.Accounts[gk], user)
	}
	for _, user := range f.shared {
		if user == "" {
			return nil, usagef("--shared-controller-account names nobody")
		}
	}
	if f.keyFile == "" {
		return c, nil
	}
	key, err := os.ReadFile(f.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--template-key-file cannot be read: %w", err)
	}
	if c.Key = bytes.TrimSpace(key); len(c.Key) < minKey {
		return nil, usagef("--template-key-file %s holds %d bytes; at least %d are needed for a secret that nobody guesses", f.keyFile, len(c.Key), minKey)
	}
	return c, nil
}
