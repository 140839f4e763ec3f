package clusterpolicy

import (
	"maps"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// celRule is a compiled validate.cel.
type celRule struct {
	validation *expression.Validation
	// context is what its policy may read of the cluster, if it reads any of it.
	context *contextgate.Policy
}

// judge evaluates the expressions for the object, or for each pod that it makes
// as if it were made now.
func (e *celRule) judge(c *call.Call, r *Rule, f form, base decision.Result, results []decision.Result) []decision.Result {
	inputs, err := expressionInputs(c, f, e.validation.NeedsNamespace())
	if err != nil {
		return append(results, r.Unjudged(base, err))
	}
	if len(inputs) == 0 {
		base.Status, base.Message = decision.Skip, "not applied: expressions ask about whole pods, and whoever makes these adds to what stands here; the pods that come of it are asked about"
		return append(results, base)
	}
	base.Message = "every expression holds"
	ctx, recorder := e.recorded(c)
	var failed error
	for i := range inputs {
		inputs[i].Cluster = e.reader(c)
		// What is false stays false, whatever else could not be evaluated.
		violations, err := e.validation.Evaluate(ctx, inputs[i].Input)
		if failed == nil {
			failed = err
		}
		for _, v := range violations {
			base.Status = decision.Fail
			detail := v.Message
			if v.Evaluated {
				detail = c.Runs().Text(detail)
			}
			if detail == "" {
				detail = "must hold: " + v.Expression
			}
			base.Findings = append(base.Findings, decision.Finding{Path: inputs[i].path, Detail: detail})
		}
	}
	if recorder != nil {
		base.Context = c.SafeContext(recorder.Context())
	}
	switch {
	case base.Status == decision.Pass && failed != nil:
		return append(results, r.Unjudged(base, c.Runs().Error(failed)))
	case base.Status == decision.Pass:
		return append(results, base)
	}
	base.Message = r.Message
	if base.Message == "" {
		base.Message = "an expression does not hold"
	}
	return append(results, Excuse(c, r, base))
}

// expressionInput is what expressions are evaluated with, and the path of what
// they see as the object.
type expressionInput struct {
	*expression.Input
	path string
}

// expressionInputs makes the input of expressions: one for the object itself, or
// one for each pod that it makes whole.
func expressionInputs(c *call.Call, f form, namespace bool) ([]expressionInput, error) {
	input, err := c.ExpressionInput(namespace)
	if err != nil {
		return nil, err
	}
	if f == Direct {
		return []expressionInput{{Input: input}}, nil
	}
	var inputs []expressionInput
	for i := range c.Request.Object.Pods {
		at := &c.Request.Object.Pods[i]
		if at.Completed {
			continue
		}
		made := *input
		if made.Object, err = AsPod(at, input.Object, c.Request.Namespace); err != nil {
			return nil, err
		}
		made.OldObject = nil
		if input.OldObject != nil {
			if old := podAt(c.Request.OldObject, at.Path); old != nil {
				if made.OldObject, err = AsPod(old, input.OldObject, c.Request.Namespace); err != nil {
					return nil, err
				}
			}
		}
		inputs = append(inputs, expressionInput{Input: &made, path: at.Path})
	}
	return inputs, nil
}

func podAt(object *pod.Object, path string) *pod.Pod {
	for i := range object.Pods {
		if object.Pods[i].Path == path {
			return &object.Pods[i]
		}
	}
	return nil
}

// AsPod is the tree of the Pod that a template makes.
func AsPod(p *pod.Pod, tree map[string]any, namespace string) (map[string]any, error) {
	subtree, err := p.Subtree(tree)
	if err != nil {
		return nil, err
	}
	made := make(map[string]any, len(subtree)+2)
	maps.Copy(made, subtree)
	made["apiVersion"], made["kind"] = "v1", "Pod"
	metadata := map[string]any{}
	if given, ok := made["metadata"].(map[string]any); ok {
		maps.Copy(metadata, given)
	} else if made["metadata"] != nil {
		return made, nil
	}
	// Whatever the template says, the pod is made in the namespace of its object.
	metadata["namespace"] = namespace
	made["metadata"] = metadata
	return made, nil
}
