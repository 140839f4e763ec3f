package chart_test

import (
	"maps"
	"strings"

	"github.com/sallyport-io/sallyport/test/lab"
)

// account is who the pods of the chart are.
const account = "system:serviceaccount:" + guard + ":sallyport"

// used are the rights that an account made use of.
func (c *runningChart) used(account string) *lab.Used {
	c.Helper()
	used := &lab.Used{Users: []string{account}}
	if err := used.Read(c.lab.AuditLog()); err != nil {
		c.Fatal(err)
	}
	return used
}

// rights holds what the account asked for to what the chart gives it: nothing was refused.
// What was given and not asked for is only said: whether each right is made use of at all is
// seen where every feature is tried.
func (c *runningChart) rights(values ...string) {
	c.Helper()
	used := c.used(account)
	if refused := used.Refused(); len(refused) > 0 {
		c.Errorf("%d requests of the account were refused, such as %v", len(refused), refused[:min(len(refused), 5)])
	}
	given := map[lab.Right]bool{}
	for name, role := range rightsOf(c.T, documents(render(c.T, guard, values...))).roles {
		namespace := ""
		if strings.HasPrefix(name, "Role ") {
			namespace = role.Namespace
		}
		maps.Copy(given, lab.RightsOf(role.Rules, namespace))
	}
	unused := used.Unused(given)
	c.Logf("of %d rights that are given, %d were not used:\n%s", len(given), len(unused), strings.Join(unused, "\n"))
}
