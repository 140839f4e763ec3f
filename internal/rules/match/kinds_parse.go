package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

const kindForms = "write Kind, version/Kind or group/version/Kind, such as Pod, v1/Pod or apps/v1/Deployment, each also with /subresource, such as Pod/exec"

// ParseKind parses an entry of a list of kinds. A bare Kind stands for every
// group and version; version/Kind for every group. The parts tell themselves
// apart: kinds begin with a capital or a wildcard, subresources are lower case,
// versions look like v1. An entry that can match nothing is an error, which reads
// on from the entry.
func ParseKind(entry string) (Kind, error) {
	parts := strings.Split(entry, "/")
	for _, p := range parts {
		if p == "" || strings.TrimSpace(p) != p {
			return Kind{}, errors.New("is not a kind: " + kindForms)
		}
	}
	var texts kindTexts
	var err error
	switch len(parts) {
	case 1:
		texts = kindTexts{group: "*", version: "*", kind: parts[0]}
	case 2:
		texts, err = splitTwo(parts[0], parts[1])
	case 3:
		texts, err = splitThree(parts[0], parts[1], parts[2])
	case 4:
		texts = kindTexts{group: parts[0], version: parts[1], kind: parts[2], subresource: parts[3]}
	default:
		err = fmt.Errorf("has %d parts: %s", len(parts), kindForms)
	}
	if err == nil {
		err = texts.check()
	}
	if err != nil {
		return Kind{}, err
	}
	// The core group has no name in apiVersion; "core" is how people write it.
	if texts.group == "core" {
		texts.group = ""
	}
	k := Kind{group: newPart(texts.group), version: newPart(texts.version), kind: newPart(texts.kind), subresource: newPart(texts.subresource)}
	if err := k.checkExists(); err != nil {
		return Kind{}, err
	}
	return k, nil
}

// kindTexts are the parts of an entry as they are written.
type kindTexts struct{ group, version, kind, subresource string }

// splitTwo tells version/Kind from Kind/subresource.
func splitTwo(a, b string) (kindTexts, error) {
	ofVersion := kindTexts{group: "*", version: a, kind: b}
	ofSubresource := kindTexts{group: "*", version: "*", kind: a, subresource: b}
	switch {
	case hasCapital(a):
		// Such as Pod/exec and *Set/scale.
		return ofSubresource, nil
	case hasCapital(b):
		if !isVersionPart(a) {
			return kindTexts{}, fmt.Errorf("has a group without a version (%q is not a version): write %s/*/%s", a, a, b)
		}
		return ofVersion, nil
	case beginsWild(b) && a[0] == 'v' && isVersionPart(a):
		return ofVersion, nil
	case beginsWild(b) && !beginsWild(a):
		return kindTexts{}, fmt.Errorf("begins with neither a version nor a kind: for every kind of the group %q write %s/*/%s", a, a, b)
	case beginsWild(b) && strings.Trim(a, "*") != "":
		return kindTexts{}, fmt.Errorf("can be read as version/Kind and as Kind/subresource: write it out as group/version/Kind/subresource, such as */%s/%s or */*/%s/%s", a, b, a, b)
	case !beginsWild(a):
		return kindTexts{}, noKind()
	}
	return ofSubresource, nil
}

// splitThree tells group/version/Kind from version/Kind/subresource.
func splitThree(a, b, c string) (kindTexts, error) {
	withGroup := kindTexts{group: a, version: b, kind: c}
	withSubresource := kindTexts{group: "*", version: a, kind: b, subresource: c}
	if isCapital(a[0]) {
		return kindTexts{}, fmt.Errorf("begins with the kind %q and has two parts after it: %s", a, kindForms)
	}
	subresource := !beginsWild(c) || hasCapital(b) || a[0] == 'v' && isVersionPart(a)
	if hasCapital(c) && !hasCapital(b) || !subresource {
		return withGroup, nil
	}
	switch {
	case !isCapital(b[0]) && !beginsWild(b):
		return kindTexts{}, noKind()
	case !isVersionPart(a):
		return kindTexts{}, fmt.Errorf("has a group without a version (%q is not a version): write %s/*/%s/%s", a, a, b, c)
	}
	return withSubresource, nil
}

// check refuses parts that no group, version, kind or subresource can match.
func (t *kindTexts) check() error {
	const lower = "abcdefghijklmnopqrstuvwxyz0123456789-*?"
	switch {
	case !only(t.group, lower+"."):
		return fmt.Errorf("has a group that cannot exist: %q; groups hold lower-case letters, digits, - and dots", t.group)
	case !only(t.version, lower):
		return fmt.Errorf("has a version that cannot exist: %q; versions look like v1 or v1beta1", t.version)
	case !isCapital(t.kind[0]) && !beginsWild(t.kind):
		return noKind()
	case !only(t.kind, lower+"ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
		return fmt.Errorf("has a kind that cannot exist: %q; kinds hold letters and digits", t.kind)
	case !only(t.subresource, lower):
		return fmt.Errorf("has a subresource that cannot exist: %q; subresources are in lower case, such as Pod/exec or Pod/portforward", t.subresource)
	}
	return nil
}

func noKind() error {
	return errors.New("names no kind: kinds begin with an upper case letter (Pod, not pods or pod); " + kindForms)
}

// isVersionPart reports whether a part can stand for a version: v and a digit, or
// a pattern for it.
func isVersionPart(s string) bool {
	if strings.Contains(s, ".") || hasCapital(s) {
		return false
	}
	if beginsWild(s) {
		return true
	}
	return s[0] == 'v' && len(s) > 1 && (s[1] >= '0' && s[1] <= '9' || beginsWild(s[1:]))
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

func hasCapital(s string) bool { return strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") }

func beginsWild(s string) bool { return glob.IsPattern(s[:1]) }

func only(s, allowed string) bool { return strings.Trim(s, allowed) == "" }
