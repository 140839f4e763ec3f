package judge

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// User are the flags that say who asks, in the words of kubectl.
type User struct {
	Name   string
	uid    string
	groups []string
	extra  []string
}

// Add adds the flags. unnamed says what holds where nobody is named.
func (f *User) Add(cmd *cobra.Command, unnamed string) {
	flags := cmd.Flags()
	flags.StringVar(&f.Name, "as", "", "user who asks; not given: "+unnamed)
	flags.StringArrayVar(&f.groups, "as-group", nil, "group that the user is in (repeatable)")
	flags.StringVar(&f.uid, "as-uid", "", "UID of the user")
	flags.StringArrayVar(&f.extra, "as-extra", nil, "extra value of the user, as key=value (repeatable)")
}

// User is the user that the flags name.
func (f *User) User() (request.User, error) {
	u := request.User{Name: f.Name, UID: f.uid, Groups: f.groups}
	if f.Name == "" && (f.uid != "" || len(f.groups) > 0 || len(f.extra) > 0) {
		return u, usage.Errorf("--as-group, --as-uid and --as-extra say more about a user; name the user with --as")
	}
	for _, pair := range f.extra {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return u, usage.Errorf("--as-extra is %q; key=value is expected", pair)
		}
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		// The API server takes the keys of extra values in lower case.
		key = strings.ToLower(key)
		u.Extra[key] = append(u.Extra[key], value)
	}
	if f.Name != "" {
		u.Groups = withStandardGroups(f.Name, u.Groups)
	}
	return u, nil
}

// withStandardGroups adds the groups that the API server puts a user into by
// itself: those of whom it lets pass, or does not, and those of a service account.
func withStandardGroups(name string, groups []string) []string {
	standard := []string{user.AllAuthenticated}
	if name == user.Anonymous {
		standard = []string{user.AllUnauthenticated}
	}
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
		standard = append(serviceaccount.MakeGroupNames(namespace), standard...)
	}
	groups = slices.Clone(groups)
	for _, group := range standard {
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return groups
}
