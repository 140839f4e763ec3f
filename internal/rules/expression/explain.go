package expression

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
)

// maxIssues is how many complaints of the compiler about one expression are
// shown.
const maxIssues = 3

// foreign are names of a ValidatingAdmissionPolicy that there are not here, with
// what to do instead.
var foreign = map[string]string{
	"authorizer": "authorizer is not available; ask about request.userInfo, or match by subjects, roles or clusterRoles",
	clusterName:  "cluster is known only in validate.cel of a ClusterPolicy, and only where its spec.contextAware lists what may be read",
	"params":     "params is not available; write the values into the expression, or into variables",
}

// explain words what the compiler says about text, in one line.
func explain(issues *cel.Issues, text string) string {
	found := issues.Errors()
	var said []string
	for i, issue := range found {
		if i == maxIssues {
			said = append(said, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		message := strings.ReplaceAll(cut(issue.Message), " (in container '')", "")
		if hint := hintFor(message, text); hint != "" {
			message += ": " + hint
		}
		if line := issue.Location.Line(); line > 0 {
			message = fmt.Sprintf("%d:%d: %s", line, issue.Location.Column()+1, message)
		}
		said = append(said, message)
	}
	return strings.Join(said, "; ")
}

// hintFor says what would be right where a name is not known.
func hintFor(message, text string) string {
	if name, ok := quoted(message, "undeclared reference to '"); ok {
		if hint := foreign[name]; hint != "" {
			return hint
		}
		return "there are object, oldObject, request, namespaceObject and variables"
	}
	if _, ok := quoted(message, "expected type '"); ok && strings.Contains(text, clusterName+".") {
		return "the values of one map have one type; among the options of a read, cache can be written 'false', and fields as one text with commas"
	}
	if name, ok := quoted(message, "undefined field '"); ok && strings.Contains(text, variablesName+"."+name) {
		return "a variable has to be defined, ahead of where it is used"
	}
	return ""
}

// quoted returns what stands between prefix and the next quotation mark.
func quoted(message, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(message, prefix)
	if !ok {
		return "", false
	}
	name, _, ok := strings.Cut(rest, "'")
	return name, ok
}
