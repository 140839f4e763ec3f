package wiring

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
)

// Question is what an API server asks its authorizers.
type Question struct {
	User                               string
	Groups                             []string
	Verb, Group, Resource, Subresource string
	Namespace, Name                    string
}

// Asks reports whether an authorizer is asked a question: whether all of its match
// conditions hold.
func Asks(webhook *apiserverv1.WebhookConfiguration, q Question) (bool, error) {
	env, err := cel.NewEnv(cel.Variable("request", cel.DynType))
	if err != nil {
		return false, err
	}
	groups := make([]any, len(q.Groups))
	for i, g := range q.Groups {
		groups[i] = g
	}
	request := map[string]any{"request": map[string]any{"user": q.User, "groups": groups, "resourceAttributes": map[string]any{
		"verb": q.Verb, "group": q.Group, "resource": q.Resource, "subresource": q.Subresource, "namespace": q.Namespace, "name": q.Name,
	}}}
	for _, condition := range webhook.MatchConditions {
		ast, issues := env.Compile(condition.Expression)
		if issues.Err() != nil {
			return false, fmt.Errorf("the match condition %q cannot be read: %w", strings.TrimSpace(condition.Expression), issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			return false, err
		}
		value, _, err := program.Eval(request)
		if err != nil {
			return false, fmt.Errorf("the match condition %q cannot be worked out: %w", strings.TrimSpace(condition.Expression), err)
		}
		if holds, ok := value.Value().(bool); !ok || !holds {
			return false, nil
		}
	}
	return true, nil
}
