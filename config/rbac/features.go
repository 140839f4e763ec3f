package rbac

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed features/*.yaml
var features embed.FS

// Account is what the account is given: what everything needs, and what features need
// beside it.
type Account struct {
	// Everywhere is what everything needs in the whole cluster, and Own in Sallyport's
	// own namespace.
	Everywhere, Own []rbacv1.PolicyRule
	// FeaturesEverywhere and FeaturesOwn are what features need beside it.
	FeaturesEverywhere, FeaturesOwn []rbacv1.PolicyRule
}

// OfAccount reads what is shipped for the account. It fails only where a file is not YAML.
func OfAccount() (*Account, error) {
	a := &Account{}
	var err error
	if a.Everywhere, _, err = rulesOf("clusterrole.yaml", ClusterRole); err != nil {
		return nil, err
	}
	if _, a.Own, err = rulesOf("leases.yaml", Leases); err != nil {
		return nil, err
	}
	err = fs.WalkDir(features, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := features.ReadFile(path)
		if err != nil {
			return err
		}
		everywhere, own, err := rulesOf(path, string(text))
		a.FeaturesEverywhere, a.FeaturesOwn = append(a.FeaturesEverywhere, everywhere...), append(a.FeaturesOwn, own...)
		return err
	})
	return a, err
}

// rulesOf are the rules of all ClusterRoles and of all Roles of a file.
func rulesOf(name, text string) (everywhere, own []rbacv1.PolicyRule, err error) {
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal([]byte(document), role); err != nil {
			return nil, nil, fmt.Errorf("config/rbac/%s: %w", name, err)
		}
		switch role.Kind {
		case "ClusterRole":
			everywhere = append(everywhere, role.Rules...)
		case "Role":
			own = append(own, role.Rules...)
		}
	}
	return everywhere, own, nil
}
