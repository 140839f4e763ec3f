package wiring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/yaml"
)

// leavesOut is where authorization-config-all.yaml begins to say what is not asked about.
const leavesOut = "|| !(request.user in "

// askFurther adds what else is asked about to the condition that says what is, except for
// what is never asked about: while Sallyport is away the cluster goes on.
func (a *Authorizer) askFurther(conditions []apiserverv1.WebhookMatchCondition) error {
	var all apiserverv1.AuthorizationConfiguration
	if err := yaml.UnmarshalStrict(authorizationConfigAll, &all); err != nil {
		return fmt.Errorf("authorization-config-all.yaml: %w", err)
	}
	whole := all.Authorizers[0].Webhook.MatchConditions
	_, out, found := strings.Cut(whole[len(whole)-1].Expression, leavesOut)
	if !found {
		return errors.New("authorization-config-all.yaml does not say what is not asked about")
	}
	rules := make([]string, len(a.Further))
	for i, r := range a.Further {
		rules[i] = r.expression()
	}
	last := &conditions[len(conditions)-1].Expression
	*last += " || ((" + strings.Join(rules, " || ") + ") && " + strings.TrimPrefix(leavesOut, "|| ") + out + ")"
	return nil
}

// expression says whether a question is about the resource. A * stands in questions that
// are about all of something.
func (r Resource) expression() string {
	in := func(field string, values ...string) string {
		return "request.resourceAttributes." + field + " in [" + quoted(append(values, "*")) + "]"
	}
	all := []string{in("group", r.Group), in("resource", r.Resource), in("subresource", r.Subresource)}
	if r.Verbs != nil {
		all = append(all, in("verb", slices.Sorted(slices.Values(r.Verbs))...))
	}
	return "(" + strings.Join(all, " && ") + ")"
}

// place puts the namespaces into an expression.
func (a *Authorizer) place(expression *string) {
	own := a.Namespace
	if own == "" {
		own = Namespace
	}
	start := append([]string{startNamespace}, a.Start...)
	*expression = strings.NewReplacer(
		"['"+startNamespace+"', '"+Namespace+"']", "["+quoted(append(start, own))+"]",
		"'system:serviceaccount:"+Namespace+":", "'system:serviceaccount:"+own+":",
		"'"+Namespace+"'", "'"+own+"'",
	).Replace(*expression)
}
