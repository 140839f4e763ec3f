package exception

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Period is the time that an exception is valid for: from From, which is zero
// for always, until before Until, which is zero forever.
type Period struct{ From, Until time.Time }

// Holds reports whether now lies in the period. A zero now lies in none: a
// request whose time is not known is excused by nothing.
func (p Period) Holds(now time.Time) bool {
	return !now.IsZero() && !now.Before(p.From) && (p.Until.IsZero() || now.Before(p.Until))
}

// why says why the period does not hold.
func (p Period) why(now time.Time) error {
	if now.Before(p.From) {
		return fmt.Errorf("it is not valid before %s", p.From.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("it ended at %s", p.Until.UTC().Format(time.RFC3339))
}

// Expired reports whether the period is over.
func (p Period) Expired(now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

// times are the fields that a period is read from.
type times struct {
	duration             string
	expiresAt, notBefore *metav1.Time
	// begins is when the duration counts from where notBefore is not given: the
	// creation of an exception, or its approval. Zero where it is not known.
	begins time.Time
}

// period works out the period of fields that stand below path.
func (t times) period(path *field.Path) (Period, field.ErrorList) {
	var p Period
	if t.notBefore != nil {
		p.From = t.notBefore.Time
	}
	if t.expiresAt != nil && t.duration != "" {
		return p, field.ErrorList{field.Invalid(path.Child("duration"), t.duration, "cannot be used together with expiresAt; remove one of the two")}
	}
	if t.expiresAt != nil {
		p.Until = t.expiresAt.Time
	}
	if t.duration != "" {
		duration, err := ParseDuration(t.duration)
		if err != nil {
			return p, field.ErrorList{field.Invalid(path.Child("duration"), t.duration, err.Error())}
		}
		base := p.From
		if base.IsZero() {
			base = t.begins
		}
		if base.IsZero() {
			return p, field.ErrorList{field.Invalid(path.Child("duration"), t.duration,
				"counts from the creation of the object, which a file does not hold; give expiresAt")}
		}
		p.Until = base.Add(duration)
	}
	if !p.Until.IsZero() && !p.From.Before(p.Until) {
		return p, field.ErrorList{field.Invalid(path.Child("notBefore"), p.From.UTC().Format(time.RFC3339), "is not before the exception ends, so that it would never be valid")}
	}
	return p, nil
}
