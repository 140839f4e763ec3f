package pattern

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	noLatest = `{"spec":{"template":{"spec":{"containers":[{"image":"!*:latest"}]}}}}`

	withAnchors = `{"metadata":{"=(annotations)":{"X(skip.example/*)":"null"}},"spec":{"replicas":">=2","template":{
		"metadata":{"labels":{"app.kubernetes.io/*":"?*"}},
		"spec":{"=(hostNetwork)":false,"^(containers)":[{"name":"c4"}],"containers":[{"(image)":"registry.example/*",
			"image":"!*:latest","resources":{"limits":{"memory":">=16Mi & <=1Gi","cpu":"100m-2"}},
			"=(securityContext)":{"=(privileged)":false}}]}}}}`
)

// deployment is one of about 5 KB, whose last container has the image given.
func deployment(tb testing.TB, image string) any {
	tb.Helper()
	var containers []any
	for i := range 5 {
		var env []any
		for j := range 12 {
			env = append(env, map[string]any{"name": fmt.Sprintf("SETTING_%d", j), "value": fmt.Sprintf("value-%d-of-container-%d", j, i)})
		}
		containers = append(containers, map[string]any{
			"name": fmt.Sprintf("c%d", i), "image": "registry.example/shop/web:1.2.3", "env": env,
			"resources":       map[string]any{"limits": map[string]any{"memory": "512Mi", "cpu": "500m"}},
			"securityContext": map[string]any{"runAsNonRoot": true, "privileged": false, "capabilities": map[string]any{"drop": []any{"ALL"}}},
			"ports":           []any{map[string]any{"containerPort": 8080 + i, "protocol": "TCP"}},
		})
	}
	containers[4].(map[string]any)["image"] = image
	labels := map[string]any{"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop", "tier": "front"}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": labels, "annotations": map[string]any{"note": "hello"}},
		"spec": map[string]any{"replicas": 3, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": containers}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(data) < 4500 || len(data) > 6500 {
		tb.Fatalf("the deployment has %d bytes", len(data))
	}
	value, ok := tree(data)
	if !ok {
		tb.Fatal("the deployment is not a tree")
	}
	return value
}

func mustCompile(tb testing.TB, text string) *Pattern {
	tb.Helper()
	value, ok := tree([]byte(text))
	if !ok {
		tb.Fatalf("no JSON: %s", text)
	}
	p, errs := Compile(value, field.NewPath("pattern"))
	if len(errs) > 0 {
		tb.Fatal(errs.ToAggregate())
	}
	return p
}

func BenchmarkCompile(b *testing.B) {
	for name, text := range map[string]string{"small": noLatest, "anchors": withAnchors} {
		value, _ := tree([]byte(text))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Compile(value, nil)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	right, wrong := deployment(b, "registry.example/shop/log:7"), deployment(b, "registry.example/shop/log:latest")
	for _, bench := range []struct {
		name, pattern string
		resource      any
		want          Outcome
	}{
		{"small/pass", noLatest, right, Pass},
		{"small/fail", noLatest, wrong, Fail},
		{"anchors/pass", withAnchors, right, Pass},
		{"anchors/fail", withAnchors, wrong, Fail},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p := mustCompile(b, bench.pattern)
			if got := p.Match(bench.resource); got.Outcome != bench.want {
				b.Fatalf("%+v", got)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Match(bench.resource)
			}
		})
	}
}

// TestPassAllocatesNothing holds that what complies costs no memory.
func TestPassAllocatesNothing(t *testing.T) {
	resource := deployment(t, "registry.example/shop/log:7")
	for name, text := range map[string]string{"small": noLatest, "anchors": withAnchors} {
		p := mustCompile(t, text)
		if got := testing.AllocsPerRun(100, func() { p.Match(resource) }); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
