package chart_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// right is one verb on one resource, in one namespace where a Role gives it.
type right struct{ verb, group, resource, namespace string }

func (r right) String() string {
	in := ""
	if r.namespace != "" {
		in = " in " + r.namespace
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s.%s%s", r.verb, r.resource, r.group, in))
}

// used are the rights that an account used, by the audit log, and the requests of it that
// were refused.
func (c *runningChart) used(account string) (used map[right]bool, refused []string) {
	c.Helper()
	log, err := os.Open(c.lab.AuditLog())
	if err != nil {
		c.Fatal(err)
	}
	defer log.Close()
	used = map[right]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.User.Username != account || e.ObjectRef == nil {
			continue
		}
		if e.Annotations["authorization.k8s.io/decision"] != "allow" {
			refused = append(refused, e.Verb+" "+e.RequestURI)
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		// What a ClusterRole gives counts in every namespace.
		used[right{e.Verb, e.ObjectRef.APIGroup, resource, ""}] = true
		used[right{e.Verb, e.ObjectRef.APIGroup, resource, e.ObjectRef.Namespace}] = true
	}
	if err := lines.Err(); err != nil {
		c.Fatal(err)
	}
	return used, refused
}

// rights holds what the account asked for to what the chart gives it: nothing was refused.
// What was given and not asked for is only said, as it depends on what the test does.
func (c *runningChart) rights(values ...string) {
	c.Helper()
	used, refused := c.used("system:serviceaccount:" + guard + ":sallyport")
	if len(refused) > 0 {
		c.Errorf("%d requests of the account were refused, such as %v", len(refused), refused[:min(len(refused), 5)])
	}
	given := rightsOf(c.T, documents(render(c.T, guard, values...)))
	of, unused := 0, map[string]bool{}
	for name, role := range given.roles {
		namespace := ""
		if strings.HasPrefix(name, "Role ") {
			namespace = role.Namespace
		}
		for r := range each(role.Rules, namespace) {
			of++
			if !used[r] {
				unused[r.String()] = true
			}
		}
	}
	c.Logf("of %d rights that are given, %d were not used:\n%s", of, len(unused), strings.Join(slices.Sorted(maps.Keys(unused)), "\n"))
}

func each(rules []rbacv1.PolicyRule, namespace string) map[right]bool {
	all := map[right]bool{}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					all[right{verb, group, resource, namespace}] = true
				}
			}
		}
	}
	return all
}
