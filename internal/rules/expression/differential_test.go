package expression_test

import (
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	limits "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// peer is the part of a ValidatingAdmissionPolicy that compiles and evaluates.
type peer struct {
	compiler   *plugin.CompositedCompiler
	attributes *admission.VersionedAttributes
	request    *admissionv1.AdmissionRequest
	in         *expression.Input
}

type celExpression string

func (e celExpression) GetExpression() string      { return string(e) }
func (e celExpression) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.BoolType} }

type celVariable struct{ name, expression string }

func (v celVariable) GetName() string          { return v.name }
func (v celVariable) GetExpression() string    { return v.expression }
func (celVariable) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType, celgo.DynType} }

func newPeer(t *testing.T, in *expression.Input) *peer {
	t.Helper()
	compiler, err := plugin.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	r := in.Request
	who := &user.DefaultInfo{Name: r.UserInfo.Name, UID: r.UserInfo.UID, Groups: r.UserInfo.Groups, Extra: r.UserInfo.Extra}
	options := &metav1.UpdateOptions{TypeMeta: metav1.TypeMeta{Kind: "UpdateOptions", APIVersion: "meta.k8s.io/v1"}, FieldManager: "kubectl"}
	object, old := &unstructured.Unstructured{Object: in.Object}, &unstructured.Unstructured{Object: in.OldObject}
	attributes := admission.NewAttributesRecord(object, old, r.Kind, r.Namespace, r.Name, r.Resource, r.SubResource, admission.Operation(r.Operation), options, r.DryRun, who)
	versioned, err := admission.NewVersionedAttributes(attributes, r.Kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &peer{
		compiler: compiler, attributes: versioned, in: in,
		request: plugin.CreateAdmissionRequest(attributes, metav1.GroupVersionResource(r.Resource), metav1.GroupVersionKind(r.Kind)),
	}
}

// evaluate returns what an expression gives, or the errors of compiling and of
// evaluating it.
func (p *peer) evaluate(t *testing.T, text string) (holds bool, compileErr, evalErr error) {
	t.Helper()
	condition := p.compiler.CompileCondition([]plugin.ExpressionAccessor{celExpression(text)}, plugin.OptionalVariableDeclarations{}, environment.StoredExpressions)
	if errs := condition.CompilationErrors(); len(errs) > 0 {
		return false, errs[0], nil
	}
	results, _, err := condition.ForInput(t.Context(), p.attributes, p.request, plugin.OptionalVariableBindings{}, plugin.CreateNamespaceObject(p.in.Namespace), limits.RuntimeCELCostBudget)
	if err != nil {
		return false, nil, err
	}
	return results[0].EvalResult == types.True, nil, results[0].Error
}

// sameButFor are the expressions that a ValidatingAdmissionPolicy judges in
// another way, on purpose: there, a namespace has UID, which has no value.
var sameButFor = []string{"UID of the namespace", "namespace name and uid"}

// TestAsValidatingAdmissionPolicy holds every expression of the tables, and more,
// against the code that judges them in an API server.
func TestAsValidatingAdmissionPolicy(t *testing.T) {
	in := input(t)
	in.Request.SubResource = "resize"
	p := newPeer(t, in)
	texts := map[string]string{}
	for _, e := range evaluations {
		texts[e.name] = e.expression
	}
	for _, r := range refused {
		if r.cel != nil && len(r.cel.Expressions) == 1 && r.cel.Expressions[0].MessageExpression == "" && r.cel.Variables == nil {
			texts[r.name] = r.cel.Expressions[0].Expression
		}
	}
	for _, more := range []string{
		`has(request.name) && has(request.namespace) && has(request.subResource) && has(request.dryRun)`,
		`has(request.options) && request.options.kind == 'UpdateOptions'`, `request.requestSubResource == 'resize'`,
		`has(request.userInfo.extra) && has(request.userInfo.groups)`,
		`has(namespaceObject.spec) && has(namespaceObject.spec.finalizers)`, `has(namespaceObject.status.conditions)`,
		`has(namespaceObject.metadata.creationTimestamp)`, `has(namespaceObject.metadata.generateName)`,
		`namespaceObject.metadata.labels.all(k, k == 'env')`, `has(namespaceObject.metadata.generation)`,
		`request.kind == {'group': '', 'version': 'v1', 'kind': 'Pod'}`, `dyn(request).kind == {'group': '', 'version': 'v1', 'kind': 'Pod'}`,
		`type(object.metadata.name) == string && type(object.spec.ratio) == double`,
		`object.metadata.labels == {'app': 'web', 'tier': 'front'}`, `object.spec.containers.map(c, c.name) == ['web', 'sidecar']`,
		`namespaceObject.__namespace__ == ''`, `dyn(request).size() > 0`,
	} {
		texts[more] = more
	}
	for _, name := range sameButFor {
		delete(texts, name)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			want, compileErr, evalErr := p.evaluate(t, text)
			v, problems := expression.CompileValidation(requirements(text), nil)
			if (len(problems) > 0) != (compileErr != nil) {
				t.Fatalf("errors in compiling: %v; the peer has %v", problems.ToAggregate(), compileErr)
			}
			if compileErr != nil {
				return
			}
			violations, err := v.Evaluate(t.Context(), in)
			if (err != nil) != (evalErr != nil) || err == nil && want != (len(violations) == 0) {
				t.Errorf("violations %v, error %v; the peer has %v, %v", violations, err, want, evalErr)
			}
			if err != nil && evalErr != nil {
				_, reason, _ := strings.Cut(evalErr.Error(), "resulted in error: ")
				hasAll(t, err, reason)
			}
		})
	}
}

// TestVariablesAsValidatingAdmissionPolicy does so for expressions on variables.
func TestVariablesAsValidatingAdmissionPolicy(t *testing.T) {
	in := input(t)
	for _, tt := range []struct {
		variables []string
		text      string
	}{
		{[]string{"a", "object.spec.replicas", "b", "variables.a + 1"}, "variables.b == 4"},
		{[]string{"a", "object.spec.missing"}, "variables.a == 4"},
		{[]string{"a", "object.spec.missing"}, "has(variables.a)"},
		{[]string{"a", "1"}, "has(variables.a)"},
		{[]string{"a", "1"}, "has(variables.b)"},
		{[]string{"a", "1"}, "variables.a == 'x'"},
		{[]string{"a", "1"}, "variables['a'] == 1"},
		{[]string{"a", "1"}, "dyn(variables)['b'] == 1"},
		{[]string{"a", "object.?spec.?missing"}, "variables.a.orValue(4) == 4"},
		{[]string{"a", "quantity('1Gi')"}, "variables.a.isGreaterThan(quantity('1Mi'))"},
		{[]string{"a", "{'x': [1]}"}, "variables.a['x'][0] == 1"},
		{[]string{"a", "{'x': [1]}"}, "variables.a.x.all(n, n == 'y')"},
		{[]string{"a", "request.userInfo"}, "variables.a.username == 'jane'"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			p := newPeer(t, in)
			for i := 0; i < len(tt.variables); i += 2 {
				p.compiler.CompileAndStoreVariable(celVariable{tt.variables[i], tt.variables[i+1]}, plugin.OptionalVariableDeclarations{}, environment.StoredExpressions)
			}
			want, compileErr, evalErr := p.evaluate(t, tt.text)
			v, problems := expression.CompileValidation(withVariables(requirements(tt.text), tt.variables...), nil)
			if (len(problems) > 0) != (compileErr != nil) {
				t.Fatalf("errors in compiling: %v; the peer has %v", problems.ToAggregate(), compileErr)
			}
			if compileErr != nil {
				return
			}
			violations, err := v.Evaluate(t.Context(), in)
			if (err != nil) != (evalErr != nil) || err == nil && want != (len(violations) == 0) {
				t.Errorf("violations %v, error %v; the peer has %v, %v", violations, err, want, evalErr)
			}
		})
	}
}
