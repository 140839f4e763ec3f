package match

import (
	"errors"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// userConditions are what a filter asks of the user.
type userConditions struct {
	// hasSubjects, roles and clusterRoles say what is given.
	hasSubjects     bool
	users, groups   glob.List
	roles           []role
	hasClusterRoles bool
	clusterRoles    glob.List
}

// role is a pattern for Roles, whose names can hold colons; their namespaces
// cannot.
type role struct{ namespace, name part }

func (c *userConditions) matchSubject(user *request.User) bool {
	if !c.hasSubjects || c.users.Match(user.Name) {
		return true
	}
	for _, group := range user.Groups {
		if c.groups.Match(group) {
			return true
		}
	}
	return false
}

// matchRoles reports whether the roles of the user are among those asked for.
// Without a user, whatever is asked cannot be known.
func (c *userConditions) matchRoles(r *reading) (bool, error) {
	if r.User == nil {
		return false, ErrNoUser
	}
	if c.roles == nil && !c.hasClusterRoles {
		return true, nil
	}
	roles, clusterRoles, err := r.bound()
	if err != nil {
		return false, err
	}
	return (c.roles == nil || c.anyRole(roles)) && (!c.hasClusterRoles || c.anyClusterRole(clusterRoles)), nil
}

func (c *userConditions) anyRole(bound []string) bool {
	for _, full := range bound {
		namespace, name, _ := strings.Cut(full, ":")
		for i := range c.roles {
			if c.roles[i].namespace.match(namespace) && c.roles[i].name.match(name) {
				return true
			}
		}
	}
	return false
}

func (c *userConditions) anyClusterRole(bound []string) bool {
	for _, name := range bound {
		if c.clusterRoles.Match(name) {
			return true
		}
	}
	return false
}

// compileUserConditions compiles the conditions of a filter that stands at path.
func compileUserConditions(f *v1alpha1.ResourceFilter, path *field.Path) (*userConditions, field.ErrorList) {
	var errs field.ErrorList
	c := &userConditions{hasSubjects: f.Subjects != nil, hasClusterRoles: f.ClusterRoles != nil}
	for _, list := range []struct {
		name         string
		given, empty bool
	}{
		{"subjects", f.Subjects != nil, len(f.Subjects) == 0},
		{"roles", f.Roles != nil, len(f.Roles) == 0},
		{"clusterRoles", f.ClusterRoles != nil, len(f.ClusterRoles) == 0},
	} {
		if list.given && list.empty {
			errs = append(errs, field.Required(path.Child(list.name), "an empty list matches nothing; name one or more, or leave the field out"))
		}
	}
	var users, groups []string
	for i := range f.Subjects {
		s := &f.Subjects[i]
		errs = append(errs, checkSubject(s, path.Child("subjects").Index(i))...)
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			users = append(users, "system:serviceaccount:"+s.Namespace+":"+s.Name)
		}
	}
	c.users, c.groups = glob.NewList(users), glob.NewList(groups)
	for i, entry := range f.Roles {
		namespace, name, _ := strings.Cut(entry, ":")
		if err := checkRole(namespace, name); err != nil {
			errs = append(errs, field.Invalid(path.Child("roles").Index(i), entry, err.Error()))
			continue
		}
		c.roles = append(c.roles, role{namespace: newPart(namespace), name: newPart(name)})
	}
	for i, entry := range f.ClusterRoles {
		if err := checkRoleName(entry); err != nil {
			errs = append(errs, field.Invalid(path.Child("clusterRoles").Index(i), entry, err.Error()))
		}
	}
	c.clusterRoles = glob.NewList(f.ClusterRoles)
	return c, errs
}

func checkRole(namespace, name string) error {
	if namespace == "" || name == "" {
		return errors.New("names no Role: write namespace:name, such as team-a:deployer; a ClusterRole belongs in clusterRoles")
	}
	if err := CheckNamespacePattern(namespace); err != nil {
		return err
	}
	return checkRoleName(name)
}

// checkRoleName refuses what no Role and no ClusterRole is called.
func checkRoleName(name string) error {
	if name == "" || strings.ContainsAny(name, "/%") {
		return errors.New("matches no role: names of roles are not empty and hold no / and no %")
	}
	return nil
}

func checkSubject(s *rbacv1.Subject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	apiGroup := rbacv1.GroupName
	switch s.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
		if s.Namespace != "" {
			errs = append(errs, field.Forbidden(path.Child("namespace"), fmt.Sprintf("a %s is in no namespace", s.Kind)))
		}
	case rbacv1.ServiceAccountKind:
		apiGroup = ""
		errs = append(errs, checkServiceAccount(s, path)...)
	default:
		errs = append(errs, field.NotSupported(path.Child("kind"), s.Kind, []string{rbacv1.UserKind, rbacv1.GroupKind, rbacv1.ServiceAccountKind}))
	}
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "an empty name matches nobody"))
	}
	if s.APIGroup != "" && s.APIGroup != apiGroup {
		errs = append(errs, field.NotSupported(path.Child("apiGroup"), s.APIGroup, []string{apiGroup}))
	}
	return errs
}

func checkServiceAccount(s *rbacv1.Subject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), "a ServiceAccount is in a namespace; name it"))
	}
	for _, part := range []struct {
		name, value string
		problems    []string
	}{
		{"namespace", s.Namespace, validation.IsDNS1123Label(s.Namespace)},
		{"name", s.Name, validation.IsDNS1123Subdomain(s.Name)},
	} {
		switch {
		case part.value == "":
		case glob.IsPattern(part.value):
			errs = append(errs, field.Invalid(path.Child(part.name), part.value,
				"a ServiceAccount takes no wildcards; name the Group system:serviceaccounts:NAMESPACE, or the User system:serviceaccount:NAMESPACE:PATTERN"))
		case len(part.problems) > 0:
			errs = append(errs, field.Invalid(path.Child(part.name), part.value, strings.Join(part.problems, "; ")))
		}
	}
	return errs
}
