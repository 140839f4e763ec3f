package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// Status is what a check came to.
type Status string

// What a check can come to.
const (
	OK Status = "ok"
	// Warning is what may be meant, and what does less than it could.
	Warning Status = "warn"
	// Problem is what keeps Sallyport from guarding, or the cluster from working.
	Problem Status = "fail"
	// Unknown is what could not be found out, for lack of a right or of an answer.
	Unknown Status = "skip"
)

// Finding is what a check says: one where all is well or nothing is known, and else one
// for each thing that was found.
type Finding struct {
	Group  string `json:"group"`
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Object is the one that was found, by its kind and name, and Path the field in it;
	// empty where no single one is.
	Object string `json:"object,omitempty"`
	Path   string `json:"path,omitempty"`
	// Message says what was found, and Hint what to do about it; empty where nothing is.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Summary counts findings.
type Summary struct {
	OK      int `json:"ok"`
	Warning int `json:"warn"`
	Problem int `json:"fail"`
	Unknown int `json:"skip"`
}

// Report is what all checks say, in their order.
type Report struct {
	Summary Summary   `json:"summary"`
	Checks  []Finding `json:"checks"`
	// Incomplete is set where something is not known that has to be for all to be sound.
	Incomplete bool `json:"incomplete"`
}

// add takes what a check says.
func (r *Report) add(found []Finding) {
	for i := range found {
		f := &found[i]
		f.Message, f.Hint = decision.Clean(f.Message), decision.Clean(f.Hint)
		switch f.Status {
		case OK:
			r.Summary.OK++
		case Warning:
			r.Summary.Warning++
		case Problem:
			r.Summary.Problem++
		default:
			r.Summary.Unknown++
		}
	}
	r.Checks = append(r.Checks, found...)
}

// says collects what one check says.
type says struct{ found []Finding }

func (s *says) put(status Status, object, path, hint, format string, args ...any) {
	s.found = append(s.found, Finding{Status: status, Object: object, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (s *says) warn(object, path, hint, format string, args ...any) {
	s.put(Warning, object, path, hint, format, args...)
}

func (s *says) problem(object, path, hint, format string, args ...any) {
	s.put(Problem, object, path, hint, format, args...)
}

// ok says that nothing was found, if nothing was.
func (s *says) ok(format string, args ...any) {
	if len(s.found) == 0 {
		s.put(OK, "", "", "", format, args...)
	}
}

// unknown says why something could not be found out, and which right is missing where
// it is one.
func (s *says) unknown(what string, err error) {
	hint := "Try again; sallyport doctor reads only, and says more where the API server answers."
	if status := apierrors.APIStatus(nil); apierrors.IsForbidden(err) && errors.As(err, &status) {
		hint = "Run it as somebody who may: " + rightMissing(status) + "The ClusterRole sallyport-doctor (config/rbac/people/doctor.yaml) has what is read."
	}
	s.put(Unknown, "", "", hint, "%s: %s", what, err)
}

// rightMissing words the right that an API server misses.
func rightMissing(status apierrors.APIStatus) string {
	_, after, found := strings.Cut(status.Status().Message, " cannot ")
	if !found {
		return ""
	}
	return after + ". "
}

// some lists the first of what is said.
func some(said []string, most int) string {
	if len(said) > most {
		said = append(slices.Clone(said[:most]), fmt.Sprintf("and %d more", len(said)-most))
	}
	return strings.Join(said, ", ")
}
