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
	// Features is what features need.
	Features []rbacv1.PolicyRule
}

// OfAccount reads what is shipped for the account. It fails only where a file is not YAML.
func OfAccount() (*Account, error) {
	a := &Account{}
	var err error
	if a.Everywhere, err = rulesOf("clusterrole.yaml", ClusterRole); err != nil {
		return nil, err
	}
	if a.Own, err = rulesOf("leases.yaml", Leases); err != nil {
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
		rules, err := rulesOf(path, string(text))
		a.Features = append(a.Features, rules...)
		return err
	})
	return a, err
}

// rulesOf are the rules of all roles of a file.
func rulesOf(name, text string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal([]byte(document), role); err != nil {
			return nil, fmt.Errorf("config/rbac/%s: %w", name, err)
		}
		if role.Kind == "Role" || role.Kind == "ClusterRole" {
			rules = append(rules, role.Rules...)
		}
	}
	return rules, nil
}
