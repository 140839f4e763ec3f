package e2e

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/config/rbac"
	"github.com/sallyport-io/sallyport/test/lab"
)

// used learns what Sallyport asks the API servers of all labs for.
var used = &lab.Used{Users: []string{lab.SallyportUser}}

// startLab starts a lab that says which rights Sallyport made use of.
func startLab(ctx context.Context, options lab.Options) (*lab.Lab, error) {
	options.Used = used
	return lab.Start(ctx, options)
}

// everyTest reports whether none of the tests is left out.
func everyTest() bool {
	for name, all := range map[string]string{"test.run": "", "test.skip": "", "test.short": "false", "test.list": "", "test.failfast": "false"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != all {
			return false
		}
	}
	return true
}

// allUsed fails where Sallyport is given a right that it made use of in no test: it is
// superfluous, or what needs it is not tested.
func allUsed() error {
	account, err := rbac.OfAccount()
	if err != nil {
		return err
	}
	given := lab.RightsOf(slices.Concat(account.Everywhere, account.Own, account.FeaturesEverywhere, account.FeaturesOwn), "")
	if unused := used.Unused(given); len(unused) > 0 {
		return fmt.Errorf("config/rbac gives %d rights, of which no test made use of:\n%s", len(given), strings.Join(unused, "\n"))
	}
	return nil
}
