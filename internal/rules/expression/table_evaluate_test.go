package expression_test

import (
	"context"
	"testing"
)

// evaluations are expressions about web, each with whether it is true, or what
// the error says.
var evaluations = []struct {
	name, expression string
	want             bool
	err              string
}{
	{name: "a field", expression: `object.metadata.name == 'web-0'`, want: true},
	{name: "a field that is another", expression: `object.metadata.name == 'db-0'`},
	{name: "a bool", expression: `!object.spec.hostNetwork`, want: true},
	{name: "an int", expression: `object.spec.replicas == 3`, want: true},
	{name: "an int is compared to a double", expression: `object.spec.replicas > 2.5`, want: true},
	{name: "a double", expression: `object.spec.ratio < 1.0`, want: true},
	{name: "an int is an int", expression: `type(object.spec.replicas) == int`, want: true},
	{name: "null", expression: `object.spec.nothing == null`, want: true},
	{name: "a missing field", expression: `object.spec.missing == 1`, err: "no such key: missing"},
	{name: "a missing field that is not reached", expression: `false && object.spec.missing == 1`},
	{name: "false decides over an error ahead of it", expression: `object.spec.missing == 1 && false`},
	{name: "true decides over an error ahead of it", expression: `object.spec.missing == 1 || true`, want: true},
	{name: "true does not hide an error in a conjunction", expression: `object.spec.missing == 1 && true`, err: "no such key: missing"},
	{name: "has of a field", expression: `has(object.metadata.labels)`, want: true},
	{name: "has of a missing field", expression: `has(object.spec.missing)`},
	{name: "has of a null field", expression: `has(object.spec.nothing)`, want: true},
	{name: "has below a missing field", expression: `has(object.spec.missing.more)`, err: "no such key: missing"},
	{name: "optional below a missing field", expression: `object.?spec.?missing.?more.orValue(1) == 1`, want: true},
	{name: "optional value", expression: `object.metadata.?labels[?'app'].orValue('') == 'web'`, want: true},
	{name: "a label by index", expression: `object.metadata.labels['tier'] == 'front'`, want: true},
	{name: "an annotation with a slash", expression: `object.metadata.annotations['example.com/owner'].endsWith('@example.com')`, want: true},
	{name: "in a map", expression: `'app' in object.metadata.labels`, want: true},
	{name: "in a list", expression: `'sidecar' in object.spec.containers.map(c, c.name)`, want: true},
	{name: "index beyond the end", expression: `object.spec.containers[7].name == ''`, err: "index out of bounds: 7"},
	{name: "all", expression: `object.spec.containers.all(c, c.image.startsWith('registry.example/'))`, want: true},
	{name: "exists", expression: `object.spec.containers.exists(c, has(c.resources))`, want: true},
	{name: "exists_one", expression: `object.spec.containers.exists_one(c, c.name == 'web')`, want: true},
	{name: "filter and size", expression: `object.spec.containers.filter(c, !has(c.resources)).size() == 1`, want: true},
	{name: "two variables", expression: `object.metadata.labels.all(k, v, k != v)`, want: true},
	{name: "a string where a bool belongs", expression: `object.metadata.name && true`, err: "no such overload"},
	{name: "a string times an int", expression: `object.metadata.name * 2 == 4`, err: "no such overload"},
	{name: "division by zero", expression: `1 / (object.spec.replicas - 3) == 1`, err: "division by zero"},
	{name: "overflow", expression: `object.spec.replicas * 9223372036854775807 > 0`, err: "overflow"},
	{name: "the old object", expression: `oldObject.spec.replicas < object.spec.replicas`, want: true},
	{name: "objects compared", expression: `object.spec.containers == oldObject.spec.containers`, want: true},
	{name: "objects that differ", expression: `object == oldObject`},
	{name: "operation", expression: `request.operation == 'UPDATE'`, want: true},
	{name: "request kind of the core group", expression: `request.kind.group == '' && request.kind.version == 'v1' && request.kind.kind == 'Pod'`, want: true},
	{name: "requestKind follows kind", expression: `request.requestKind == request.kind && request.requestResource == request.resource`, want: true},
	{name: "resource", expression: `request.resource.resource == 'pods' && request.resource.version == 'v1'`, want: true},
	{name: "no subresource", expression: `has(request.subResource)`},
	{name: "namespace of the request", expression: `request.namespace == object.metadata.namespace`, want: true},
	{name: "name of the request", expression: `request.name == 'web-0'`, want: true},
	{name: "user name", expression: `request.userInfo.username == 'jane'`, want: true},
	{name: "user uid", expression: `request.userInfo.uid == '7'`, want: true},
	{name: "user groups", expression: `'ops' in request.userInfo.groups && !('admins' in request.userInfo.groups)`, want: true},
	{name: "user extra", expression: `request.userInfo.extra['scopes'] == ['a', 'b']`, want: true},
	{name: "user extra that is missing", expression: `request.userInfo.extra['other'] == []`, err: "no such key: other"},
	{name: "dry run", expression: `request.dryRun`},
	{name: "options", expression: `request.options.fieldManager == 'kubectl'`, want: true},
	{name: "namespace label", expression: `namespaceObject.metadata.labels['env'] == 'prod'`, want: true},
	{name: "namespace name and uid", expression: `namespaceObject.metadata.name == 'shop' && namespaceObject.metadata.uid == '42'`, want: true},
	{name: "namespace phase", expression: `namespaceObject.status.phase == 'Active'`, want: true},
	{name: "namespace without annotations", expression: `has(namespaceObject.metadata.annotations)`},
	{name: "managed fields of the namespace are hidden", expression: `has(dyn(namespaceObject).metadata.managedFields)`},
	{name: "quantity", expression: `quantity(object.spec.containers[0].resources.limits.memory).isLessThan(quantity('1Gi'))`, want: true},
	{name: "quantity that is none", expression: `quantity(object.metadata.name).isLessThan(quantity('1Gi'))`, err: "quantities must match"},
	{name: "cpu", expression: `quantity(object.spec.containers[0].resources.limits.cpu).asApproximateFloat() == 0.25`, want: true},
	{name: "regular expression", expression: `object.spec.containers[0].image.matches('^registry[.]example/[a-z]+:')`, want: true},
	{name: "find", expression: `object.spec.containers[0].image.find('[0-9.]+$') == '1.2'`, want: true},
	{name: "split and join", expression: `object.metadata.name.split('-').join('+') == 'web+0'`, want: true},
	{name: "sets", expression: `sets.contains(['web', 'db'], [object.metadata.labels.app])`, want: true},
	{name: "ip", expression: `cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))`, want: true},
	{name: "url", expression: `url('https://example.com:8443/a').getPort() == '8443'`, want: true},
	{name: "semver", expression: `semver('1.2.3').isLessThan(semver('1.10.0'))`, want: true},
	{name: "format", expression: `!format.dns1123Label().validate(object.metadata.name).hasValue()`, want: true},
	{name: "duration", expression: `duration('90m') > duration('1h')`, want: true},
	{name: "timestamp", expression: `timestamp('2026-01-02T03:04:05Z').getFullYear() == 2026`, want: true},
	{name: "lists", expression: `[3, 1, 2].max() == 3 && [1, 2].isSorted()`, want: true},
	{name: "ternary", expression: `object.spec.replicas > 5 ? false : true`, want: true},
	{name: "line breaks and a comment", expression: "object.spec.replicas == 3 // three\n  && true", want: true},
}

func TestEvaluate(t *testing.T) {
	in := input(t)
	for _, tt := range evaluations {
		t.Run(tt.name, func(t *testing.T) {
			violations, err := compiled(t, requirements(tt.expression)).Evaluate(context.Background(), in)
			if tt.err != "" {
				hasAll(t, err, "cel.expressions[0].expression (", "cannot be evaluated", tt.err)
				if len(violations) > 0 {
					t.Errorf("violations %v beside the error", violations)
				}
				return
			}
			if err != nil || (len(violations) == 0) != tt.want {
				t.Errorf("violations %v, error %v, want it to be %v", violations, err, tt.want)
			}
		})
	}
}

// TestEvaluateAboutNothing holds what is absent to be null, and no panic.
func TestEvaluateAboutNothing(t *testing.T) {
	for _, tt := range []struct{ name, expression, err string }{
		{"no object", `object == null`, ""},
		{"no old object", `oldObject == null`, ""},
		{"no request", `request == null`, ""},
		{"no namespace", `namespaceObject == null`, ""},
		{"a field of no object", `object.spec == null`, "no such key: spec"},
		{"a field of no request", `request.name == ''`, "no such key: name"},
		{"a field of no namespace", `namespaceObject.metadata.name == ''`, "no such key: metadata"},
		{"optional field of no object", `!object.?spec.hasValue()`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := compiled(t, requirements(tt.expression))
			violations, err := v.Evaluate(context.Background(), nil)
			if tt.err != "" {
				hasAll(t, err, tt.err)
			} else if err != nil || len(violations) > 0 {
				t.Errorf("violations %v, error %v, want none", violations, err)
			}
		})
	}
}
