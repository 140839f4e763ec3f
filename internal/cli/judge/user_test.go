package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStandardGroups puts users into the groups that the API server would.
func TestStandardGroups(t *testing.T) {
	for name, want := range map[string][]string{
		"alice":                         {"devs", "system:authenticated"},
		"system:anonymous":              {"devs", "system:unauthenticated"},
		"system:serviceaccount:dev:bot": {"devs", "system:serviceaccounts", "system:serviceaccounts:dev", "system:authenticated"},
		"system:serviceaccount:dev":     {"devs", "system:authenticated"},
	} {
		flags := User{Name: name, groups: []string{"devs"}}
		got, err := flags.User()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Groups); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	twice := User{Name: "alice", groups: []string{"system:authenticated"}}
	if got, _ := twice.User(); len(got.Groups) != 1 {
		t.Errorf("groups %v", got.Groups)
	}
}
