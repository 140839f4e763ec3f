package risk

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// A reason is short on both ends: what is written, what comes out of it, and each
// value that goes in. Nothing that a user or a pod is called makes it grow.
const (
	maxReasonText   = 4 << 10
	maxReasonOutput = 8 << 10
	maxReasonValue  = 512
)

// kind is the kind of a value in a reason.
type kind uint8

const (
	textKind kind = iota
	numberKind
	boolKind
)

// reasonFields are what a reason can name.
var reasonFields = map[string]kind{
	"score": numberKind, "factors": textKind, "pod": textKind, "namespace": textKind,
	"container": textKind, "user": textKind, "subresource": textKind, "cluster": textKind,
}

// parseReason parses the template of a reason. Beyond text it holds {{.field}},
// and {{if}} with comparisons: no loops, definitions, variables or calls, so that
// it ends, its length is bounded and it cannot fail once it is parsed.
func parseReason(text string) (*template.Template, error) {
	if len(text) > maxReasonText {
		return nil, fmt.Errorf("is %d bytes long; %d are allowed", len(text), maxReasonText)
	}
	t, err := template.New("line").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("is not a template: %s", strings.ReplaceAll(strings.TrimPrefix(err.Error(), "template: "), "line:", "line "))
	}
	if t.Tree == nil || len(t.Templates()) > 1 {
		return nil, errors.New("defines a template of its own; write what it holds where it is used")
	}
	if err := checkNode(t.Tree.Root); err != nil {
		return nil, err
	}
	for _, sample := range []reasonValues{{}, {score: 100, factors: "hostNetwork", pod: "web-0", namespace: "default", container: "web", user: "jane", subresource: "exec", cluster: "prod"}} {
		if _, err := sample.render(t); err != nil {
			return nil, fmt.Errorf("does not work: %w", err)
		}
	}
	return t, nil
}

// reasonValues are the values of the fields.
type reasonValues struct {
	score                                                          int
	factors, pod, namespace, container, user, subresource, cluster string
}

// render executes a template that parseReason returned.
func (v reasonValues) render(t *template.Template) (string, error) {
	var out boundedBuffer
	err := t.Execute(&out, map[string]any{
		"score": v.score, "factors": decision.Clean(v.factors), "pod": clean(v.pod), "namespace": clean(v.namespace),
		"container": clean(v.container), "user": clean(v.user), "subresource": clean(v.subresource), "cluster": clean(v.cluster),
	})
	if err != nil && !errors.Is(err, errFull) {
		return "", err
	}
	return strings.ToValidUTF8(strings.TrimSpace(out.text.String()), ""), nil
}

// clean makes a name fit for a text that is shown to people.
func clean(name string) string {
	if len(name) > maxReasonValue {
		name = name[:maxReasonValue] + "..."
	}
	return decision.Clean(name)
}

var errFull = errors.New("the text is long enough")

// boundedBuffer takes what fits and ends the writing there.
type boundedBuffer struct{ text bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	room := maxReasonOutput - b.text.Len()
	if len(p) <= room {
		return b.text.Write(p)
	}
	n, _ := b.text.Write(p[:room])
	return n, errFull
}

// checkNode refuses what a reason cannot hold.
func checkNode(n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, child := range n.Nodes {
			if err := checkNode(child); err != nil {
				return err
			}
		}
		return nil
	case *parse.TextNode, *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		_, err := kindOf(n.Pipe)
		return err
	case *parse.IfNode:
		if _, err := kindOf(n.Pipe); err != nil {
			return err
		}
		if err := checkNode(n.List); err != nil {
			return err
		}
		return checkNode(n.ElseList)
	default:
		return fmt.Errorf("%s cannot be used; a reason holds {{.field}}, and {{if}} with comparisons", shorten(n.String()))
	}
}

func shorten(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}
