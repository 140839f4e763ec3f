package call

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// missingError says which object is not there. What needs several objects to
// judge must not blame one for another.
type missingError struct {
	// what the object is, such as "namespace shop".
	what string
	err  error
}

// Error is one sentence.
func (e *missingError) Error() string { return e.what + " is not there" }

// Unwrap gives the error of the cluster.
func (e *missingError) Unwrap() error { return e.err }

// Reading words the error of reading the object that what names.
func Reading(what string, err error) error {
	if apierrors.IsNotFound(err) {
		return &missingError{what, err}
	}
	return err
}

// Unread words why something could not be judged. If that is because an object
// is not there, nothing else is said: it is neither a fault nor of use to try
// again.
func Unread(err error) string {
	var missing *missingError
	if errors.As(err, &missing) {
		return missing.Error()
	}
	return err.Error()
}
