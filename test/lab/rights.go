package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Right is one verb on one resource, in one namespace where a Role gives it.
type Right struct{ Verb, Group, Resource, Namespace string }

func (r Right) String() string {
	in := ""
	if r.Namespace != "" {
		in = " in " + r.Namespace
	}
	return strings.TrimSuffix(strings.TrimSpace(r.Verb+" "+r.Resource+"."+r.Group), ".") + in
}

// RightsOf are the rights that rules give, in a namespace or, without one, everywhere.
func RightsOf(rules []rbacv1.PolicyRule, namespace string) map[Right]bool {
	all := map[Right]bool{}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					all[Right{verb, group, resource, namespace}] = true
				}
			}
		}
	}
	return all
}

// Used collects, by audit logs, which rights users make use of, and what is refused them.
// Labs that are given it add to it when they end, or when Read is called.
type Used struct {
	// Users are those whose requests count. Nothing is logged of others where the lab
	// has no audit log of its own.
	Users []string

	mu      sync.Mutex
	rights  map[Right]bool
	refused []string
}

// policy is the audit policy that logs what they ask for.
func (u *Used) policy() string {
	users, _ := json.Marshal(u.Users)
	return fmt.Sprintf("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- {level: Metadata, users: %s}\n- {level: None}\n", users)
}

// Read takes in an audit log.
func (u *Used) Read(file string) error {
	log, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("the rights that were used are not known: %w", err)
	}
	defer log.Close()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.rights == nil {
		u.rights = map[Right]bool{}
	}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || !slices.Contains(u.Users, e.User.Username) || e.ObjectRef == nil {
			continue
		}
		if e.Annotations["authorization.k8s.io/decision"] != "allow" {
			u.refused = append(u.refused, e.Verb+" "+e.RequestURI)
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		verbs := []string{e.Verb}
		if e.Verb == "patch" && e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusCreated {
			// To apply what is not there takes the right to create it as well.
			verbs = append(verbs, "create")
		}
		for _, verb := range verbs {
			// What a ClusterRole gives counts in every namespace.
			u.rights[Right{verb, e.ObjectRef.APIGroup, resource, ""}] = true
			u.rights[Right{verb, e.ObjectRef.APIGroup, resource, e.ObjectRef.Namespace}] = true
		}
	}
	return lines.Err()
}

// Refused are the requests that were refused.
func (u *Used) Refused() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.refused)
}

// Unused are those of the rights that nobody made use of, as texts, in order.
func (u *Used) Unused(given map[Right]bool) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	unused := map[string]bool{}
	for r := range given {
		if !u.rights[r] {
			unused[r.String()] = true
		}
	}
	return slices.Sorted(maps.Keys(unused))
}
