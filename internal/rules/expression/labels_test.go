package expression

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Which labels of the namespace an expression reads, * for any, and whether it goes
// by nothing else.
func TestLabelsThatAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		keys string
		only bool
	}{
		`true`:                              {"", false},
		`object.metadata.labels.env == 'a'`: {"", false},
		`namespaceObject.metadata.name == 'shop'`:                                                                    {"", true},
		`namespaceObject.metadata.annotations['a'] == 'b'`:                                                           {"", true},
		`namespaceObject.status.phase == 'Active'`:                                                                   {"", true},
		`namespaceObject == null`:                                                                                    {"", true},
		`has(namespaceObject.metadata.labels)`:                                                                       {"", true},
		`has(namespaceObject.metadata.labels.env)`:                                                                   {"env", true},
		`namespaceObject.metadata.labels.env == 'a'`:                                                                 {"env", true},
		`namespaceObject.metadata.labels['a/b'] == 'a'`:                                                              {"a/b", true},
		`'a/b' in namespaceObject.metadata.labels`:                                                                   {"a/b", true},
		`object.metadata.name in namespaceObject.metadata.labels`:                                                    {"*", false},
		`namespaceObject.metadata.labels[object.metadata.name] == 'a'`:                                               {"*", false},
		`namespaceObject.metadata.?labels[?'a'].orValue('') == ''`:                                                   {"a", true},
		`namespaceObject.?metadata.?labels.?a.orValue('') == ''`:                                                     {"a", true},
		`namespaceObject.metadata.labels == object.metadata.labels`:                                                  {"*", false},
		`namespaceObject.metadata.labels.exists(k, k == 'a')`:                                                        {"*", true},
		`namespaceObject.metadata.labels.size() > 1`:                                                                 {"*", true},
		`[namespaceObject].exists(n, n.metadata.labels['a'] == 'b')`:                                                 {"*", true},
		`dyn(namespaceObject).metadata.labels.a == 'b'`:                                                              {"*", true},
		`namespaceObject.metadata.labels.a == 'x' && request.userInfo.username == 'x'`:                               {"a", false},
		`object.spec.containers.all(c, c.image.startsWith(namespaceObject.metadata.labels.registry))`:                {"registry", false},
		`{'a': namespaceObject.metadata.labels.x}.a == (has(object.b) ? 'a' : namespaceObject.metadata.labels['y'])`: {"x,y", false},
	} {
		c, errs := CompileCondition(text, field.NewPath("expression"))
		if len(errs) > 0 {
			t.Errorf("%s: %v", text, errs)
			continue
		}
		keys := c.LabelKeys()
		got := strings.Join(slices.Sorted(slices.Values(keys.Names)), ",")
		if keys.All {
			got = "*"
		}
		if got != want.keys || c.list[0].onlyNamespace != want.only {
			t.Errorf("%s: reads %q, and only the namespace %v; want %q, %v", text, got, c.list[0].onlyNamespace, want.keys, want.only)
		}
	}
}

func TestConditionsOfOtherLabels(t *testing.T) {
	t.Parallel()
	of := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}}
	}
	none, prod, dev := of(nil), of(map[string]string{"env": "prod"}), of(map[string]string{"env": "dev"})
	const isProd, named = `namespaceObject.metadata.?labels[?'env'].orValue('') == 'prod'`, `object.metadata.name == namespaceObject.metadata.?labels[?'env'].orValue('')`
	for _, tt := range []struct {
		name          string
		expressions   []string
		before, after *corev1.Namespace
		want          bool
	}{
		{"it was not met", []string{isProd}, none, dev, false},
		{"it is met no more", []string{isProd}, prod, dev, true},
		{"it comes to be met", []string{isProd}, dev, prod, false},
		{"what is not known", []string{named}, prod, dev, true},
		{"what is not known, where another was not met", []string{named, isProd}, dev, none, false},
		{"what fails", []string{`namespaceObject.metadata.labels.env == 'prod'`}, prod, none, true},
		{"what reads others", []string{`namespaceObject.metadata.?labels[?'x'].orValue('') == ''`}, prod, dev, false},
	} {
		var list []v1alpha1.CELCondition
		for i, text := range tt.expressions {
			list = append(list, v1alpha1.CELCondition{Name: string(rune('a' + i)), Expression: text})
		}
		c, errs := CompileConditions(list, field.NewPath("conditions"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got := c.MayEnd(t.Context(), tt.before, tt.after, []string{"env"}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	var nothing *Conditions
	if nothing.MayEnd(t.Context(), prod, dev, []string{"env"}) || !nothing.MayHold(t.Context(), dev) || nothing.LabelKeys().All {
		t.Error("no conditions end")
	}
	v, errs := CompileValidation(&v1alpha1.CELValidation{Expressions: []v1alpha1.CELExpression{{Expression: isProd}}}, field.NewPath("cel"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if v.MayWeaken(t.Context(), prod, dev, []string{"env"}) || !v.MayWeaken(t.Context(), dev, prod, []string{"env"}) || v.MayWeaken(t.Context(), dev, prod, []string{"x"}) {
		t.Error("what is asked only of the namespace is not told apart")
	}
}
