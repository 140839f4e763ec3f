package match

import (
	"fmt"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/glob"
)

// Kind is a compiled entry of a list of kinds: Kind, version/Kind or
// group/version/Kind, each part with * and ?.
type Kind struct {
	group, version, kind string
	anyGroup, anyVersion bool
}

// ParseKind parses an entry of a list of kinds. Kind alone stands for every
// group and version; version/Kind for every group.
func ParseKind(entry string) (Kind, error) {
	parts := strings.Split(entry, "/")
	for _, part := range parts {
		if part == "" || strings.TrimSpace(part) != part {
			return Kind{}, fmt.Errorf("is not a kind: write Kind, version/Kind or group/version/Kind, such as Pod, v1/Pod or apps/v1/Deployment")
		}
	}
	k := Kind{kind: parts[len(parts)-1]}
	switch len(parts) {
	case 1:
		k.anyGroup, k.anyVersion = true, true
	case 2:
		k.anyGroup, k.version = true, parts[0]
	case 3:
		k.group, k.version = parts[0], parts[1]
		// The core group has no name in apiVersion; "core" is how people write it.
		if k.group == "core" {
			k.group = ""
		}
	default:
		return Kind{}, fmt.Errorf("has %d parts: write Kind, version/Kind or group/version/Kind", len(parts))
	}
	if first := rune(k.kind[0]); !unicode.IsUpper(first) && first != '*' && first != '?' {
		return Kind{}, fmt.Errorf("names no kind: kinds begin with a capital letter (Pod, not pods or pod), and a subresource cannot be named here")
	}
	return k, nil
}

// Exact returns the name of the kind if it is written without wildcards.
func (k *Kind) Exact() (string, bool) { return k.kind, !glob.IsPattern(k.kind) }

// Match reports whether the entry is about the kind.
func (k *Kind) Match(gvk schema.GroupVersionKind) bool {
	return glob.Match(k.kind, gvk.Kind) &&
		(k.anyVersion || glob.Match(k.version, gvk.Version)) &&
		(k.anyGroup || glob.Match(k.group, gvk.Group))
}

// OnlyPods reports whether the entry is about the core kind Pod and nothing
// else.
func (k *Kind) OnlyPods() bool {
	return k.kind == "Pod" && (k.anyGroup || k.group == "") && (k.anyVersion || k.version == "v1")
}
