package expression_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// usual is what a policy says: that images come from one place and every
// container has a limit of its memory.
func usual() *v1alpha1.CELValidation {
	return withVariables(&v1alpha1.CELValidation{Expressions: []v1alpha1.CELExpression{
		{
			Expression:        "variables.containers.all(c, c.image.startsWith('registry.example/'))",
			MessageExpression: "'images from elsewhere: ' + variables.containers.filter(c, !c.image.startsWith('registry.example/')).map(c, c.name).join(', ')",
		},
		{Expression: "variables.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits)", Message: "a limit of the memory is missing"},
	}}, "containers", "object.spec.containers + object.spec.?initContainers.orValue([])")
}

// largePod is a pod of about 5 KB as JSON.
func largePod(b *testing.B) map[string]any {
	pod := tree(b, web)
	var containers []any
	for i := range 8 {
		containers = append(containers, tree(b, fmt.Sprintf(`
name: c%d
image: registry.example/team/service-%d@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
command: [/bin/service, --config=/etc/service/config.yaml, --verbose]
env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
ports: [{name: http, containerPort: 8080, protocol: TCP}]
resources: {limits: {memory: 512Mi, cpu: "1"}, requests: {memory: 256Mi, cpu: 100m}}
securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
volumeMounts: [{name: config, mountPath: /etc/service, readOnly: true}]
`, i, i)))
	}
	pod["spec"].(map[string]any)["containers"] = containers
	if data, err := json.Marshal(pod); err != nil || len(data) < 4500 || len(data) > 5500 {
		b.Fatalf("the pod has %d bytes, error %v", len(data), err)
	}
	return pod
}

func BenchmarkCompile(b *testing.B) {
	for _, bb := range []struct {
		name string
		cel  *v1alpha1.CELValidation
	}{
		{"simple", requirements("object.spec.replicas <= 5")},
		{"usual", usual()},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, problems := expression.CompileValidation(bb.cel, nil); len(problems) > 0 {
					b.Fatal(problems.ToAggregate())
				}
			}
		})
	}
}

func BenchmarkEvaluate(b *testing.B) {
	pod := largePod(b)
	bad := largePod(b)
	bad["spec"].(map[string]any)["containers"].([]any)[7].(map[string]any)["image"] = "elsewhere.example/x"
	for _, bb := range []struct {
		name       string
		cel        *v1alpha1.CELValidation
		object     map[string]any
		violations int
	}{
		{"simple", requirements("object.spec.replicas <= 5"), pod, 0},
		{"usual/true", usual(), pod, 0},
		{"usual/false", usual(), bad, 1},
		{"request", requirements("request.operation == 'CREATE' || request.userInfo.username != 'mallory'"), pod, 0},
		{"namespace", requirements("namespaceObject.metadata.labels['env'] == 'prod'"), pod, 0},
	} {
		b.Run(bb.name, func(b *testing.B) {
			v := compiled(b, bb.cel)
			in := input(b)
			in.Object = bb.object
			// A request always has a deadline.
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			b.ReportAllocs()
			for b.Loop() {
				if violations, err := v.Evaluate(ctx, in); err != nil || len(violations) != bb.violations {
					b.Fatal(violations, err)
				}
			}
		})
	}
}

func BenchmarkHold(b *testing.B) {
	c, problems := expression.CompileConditions(named("a", "object.metadata.labels.app == 'web'", "b", "'ops' in request.userInfo.groups"), nil)
	if len(problems) > 0 {
		b.Fatal(problems.ToAggregate())
	}
	in := input(b)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if holds, _, err := c.Hold(ctx, in); !holds || err != nil {
			b.Fatal(holds, err)
		}
	}
}
