package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/request"
)

// userFlags say who asks, in the words of kubectl.
type userFlags struct {
	name   string
	uid    string
	groups []string
	extra  []string
}

func (f *userFlags) add(cmd *cobra.Command, unnamed string) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "as", "", "user who asks; not given: "+unnamed)
	flags.StringArrayVar(&f.groups, "as-group", nil, "group that the user is in (repeatable)")
	flags.StringVar(&f.uid, "as-uid", "", "UID of the user")
	flags.StringArrayVar(&f.extra, "as-extra", nil, "extra value of the user, as key=value (repeatable)")
}

// user is the user that the flags name.
func (f *userFlags) user() (request.User, error) {
	u := request.User{Name: f.name, UID: f.uid, Groups: f.groups}
	if f.name == "" && (f.uid != "" || len(f.groups) > 0 || len(f.extra) > 0) {
		return u, usagef("--as-group, --as-uid and --as-extra say more about a user; name the user with --as")
	}
	for _, pair := range f.extra {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return u, usagef("--as-extra is %q; key=value is expected", pair)
		}
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		// The API server takes the keys of extra values in lower case.
		key = strings.ToLower(key)
		u.Extra[key] = append(u.Extra[key], value)
	}
	if f.name != "" {
		u.Groups = withStandardGroup(f.name, u.Groups)
	}
	return u, nil
}

// withStandardGroup adds the group that the API server puts everybody into whom
// it lets pass, or does not.
func withStandardGroup(name string, groups []string) []string {
	standard := "system:authenticated"
	if name == "system:anonymous" {
		standard = "system:unauthenticated"
	}
	for _, g := range groups {
		if g == standard {
			return groups
		}
	}
	return append(groups[:len(groups):len(groups)], standard)
}
