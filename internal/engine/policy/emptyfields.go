package policy

import (
	"fmt"
	"regexp"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// emptyDuration finds out quickly whether a duration is given and empty.
var emptyDuration = regexp.MustCompile(`(?:d|maxD)uration"\s*:\s*""`)

// emptyDurations refuses durations of exceptions, and of rules about them, that
// are given and empty: once decoded, they could not be told from ones that are not
// given, which stand forever.
func emptyDurations(kind, origin string, raw []byte) stored.Problems {
	if (!exception.InWorkflow(kind) && kind != exception.KindExceptionPolicy) || !emptyDuration.Match(raw) {
		return nil
	}
	tree, err := apijson.Tree(raw)
	if err != nil {
		return nil
	}
	var problems stored.Problems
	var look func(at string, value any)
	look = func(at string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range []string{"duration", "maxDuration"} {
				if text, ok := value[key].(string); ok && text == "" {
					p := stored.Problem{Origin: origin, Kind: kind, Path: at + "." + key, Detail: `is empty; write a time such as 30d, or leave the field out`}
					p.Namespace, p.Name = nameIn(raw)
					problems = append(problems, p)
				}
			}
			look(at+".exceptions", value["exceptions"])
		case []any:
			for i := range value {
				look(fmt.Sprintf("%s[%d]", at, i), value[i])
			}
		}
	}
	look("spec", tree["spec"])
	return problems
}
