package match

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Subjects is a compiled list of users, groups and service accounts. An empty
// list, and the nil Subjects, match nobody.
type Subjects struct{ conditions *userConditions }

// CompileSubjects compiles a list that stands at path.
func CompileSubjects(subjects []rbacv1.Subject, path *field.Path) (*Subjects, field.ErrorList) {
	var errs field.ErrorList
	for i := range subjects {
		errs = append(errs, checkSubject(&subjects[i], path.Index(i))...)
	}
	if len(errs) > 0 || len(subjects) == 0 {
		return &Subjects{}, errs
	}
	conditions, _ := compileUserConditions(&v1alpha1.ResourceFilter{Subjects: subjects}, path)
	return &Subjects{conditions}, nil
}

// Match reports whether the user is one of the subjects.
func (s *Subjects) Match(user *request.User) bool {
	return s != nil && s.conditions != nil && user != nil && s.conditions.matchSubject(user)
}
