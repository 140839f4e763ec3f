package expression_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// cluster answers reads, and remembers them.
type cluster struct {
	tree  map[string]any
	err   error
	reads []hostcall.Read
}

func (c *cluster) Tree(_ context.Context, read *hostcall.Read) (map[string]any, error) {
	c.reads = append(c.reads, *read)
	return c.tree, c.err
}

// onlyNamespaces grants only namespaces.
func onlyNamespaces(apiVersion, kind string) string {
	if apiVersion == "v1" && kind == "Namespace" {
		return ""
	}
	return "it is not listed"
}

func reading(t testing.TB, v *v1alpha1.CELValidation) *expression.Validation {
	t.Helper()
	compiled, problems := expression.CompileReadingValidation(v, onlyNamespaces, field.NewPath("cel"))
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return compiled
}

func TestClusterReads(t *testing.T) {
	t.Parallel()
	get, list, one := hostcall.GetResource, hostcall.ListAll, hostcall.ListByNamespace
	read := func(o hostcall.Operation, change func(*hostcall.Read)) []hostcall.Read {
		r := hostcall.Read{Operation: o, APIVersion: "v1", Kind: "Namespace"}
		if change != nil {
			change(&r)
		}
		return []hostcall.Read{r}
	}
	named := func(r *hostcall.Read) { r.Name = "a" }
	for name, c := range map[string]struct {
		expression string
		want       []hostcall.Read
	}{
		"get":                {`cluster.get('v1', 'Namespace', 'a') != null`, read(get, named)},
		"get in a namespace": {`cluster.get('v1', 'Namespace', 'n', 'a') != null`, read(get, func(r *hostcall.Read) { r.Namespace, r.Name = "n", "a" })},
		"get, options":       {`cluster.get('v1', 'Namespace', 'a', {'cache': 'false', 'fields': 'spec, status'}) != null`, read(get, func(r *hostcall.Read) { r.Name, r.DisableCache, r.FieldMasks = "a", true, []string{"spec", "status"} })},
		"get, all":           {`cluster.get('v1', 'Namespace', 'n', 'a', {'cache': true}) != null`, read(get, func(r *hostcall.Read) { r.Namespace, r.Name = "n", "a" })},
		"get, typed":         {`cluster.get('v1', 'Namespace', 'a', {'cache': dyn(false), 'fields': dyn(['spec'])}) != null`, read(get, func(r *hostcall.Read) { r.Name, r.DisableCache, r.FieldMasks = "a", true, []string{"spec"} })},
		"list":               {`cluster.list('v1', 'Namespace').size() == 2`, read(list, nil)},
		"list one":           {`cluster.list('v1', 'Namespace', 'n').size() == 2`, read(one, func(r *hostcall.Read) { r.Namespace = "n" })},
		"list, selected":     {`cluster.list('v1', 'Namespace', {'labelSelector': 'a=b', 'fieldSelector': 'metadata.name=a'}).size() == 2`, read(list, func(r *hostcall.Read) { r.LabelSelector, r.FieldSelector = "a=b", "metadata.name=a" })},
		"list one, selected": {`cluster.list('v1', 'Namespace', 'n', {'labelSelector': 'a=b'}).size() == 2`, read(one, func(r *hostcall.Read) { r.Namespace, r.LabelSelector = "n", "a=b" })},
		"the same twice":     {`cluster.list('v1', 'Namespace') == cluster.list('v1', 'Namespace')`, read(list, nil)},
		"of the input":       {`cluster.get('v1', 'Namespace', object.metadata.namespace) != null`, read(get, func(r *hostcall.Read) { r.Name = "shop" })},
		"in a variable":      {`variables.namespaces.exists(n, n.kind == 'Namespace')`, read(list, nil)},
		"passed on":          {`[cluster].all(c, c.list('v1', 'Namespace').size() == 2)`, read(list, nil)},
		"not evaluated":      {`true || cluster.list('v1', 'Namespace').size() == 2`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := reading(t, withVariables(requirements(c.expression), "namespaces", `cluster.list('v1', 'Namespace')`))
			in := &cluster{tree: map[string]any{"items": []any{map[string]any{"kind": "Namespace"}, map[string]any{"kind": "Namespace"}}}}
			about := input(t)
			about.Cluster = in
			violations, err := v.Evaluate(t.Context(), about)
			if err != nil || len(violations) > 0 {
				t.Errorf("%v, %v", violations, err)
			}
			if diff := cmp.Diff(c.want, in.reads); diff != "" {
				t.Error(diff)
			}
			if !v.ReadsCluster() {
				t.Error("does not read the cluster")
			}
		})
	}
}

// TestClusterErrors makes sure that what cannot be read is an error, and what is
// not there is null.
func TestClusterErrors(t *testing.T) {
	t.Parallel()
	many := `lists.range(300).all(i, cluster.get('v1', 'Namespace', string(i)) == null)`
	for name, c := range map[string]struct {
		expression string
		err        error
		says       string
	}{
		"not there":                {`cluster.get('v1', 'Namespace', 'a') == null`, contextgate.ErrNotFound, ""},
		"a field of what is not":   {`cluster.get('v1', 'Namespace', 'a').metadata.name == 'a'`, contextgate.ErrNotFound, "no such"},
		"denied":                   {`cluster.list('v1', 'Namespace').size() == 0`, errors.New("denied"), "cluster.list: denied"},
		"denied, and passed over":  {`cluster.list('v1', 'Namespace').size() == 0 || true`, errors.New("denied"), ""},
		"empty name":               {`cluster.get('v1', 'Namespace', '') == null`, nil, "argument 3 is empty"},
		"empty namespace":          {`cluster.list('v1', 'Namespace', object.metadata.?nothing.orValue('')) == []`, nil, "argument 3 is empty"},
		"selected by name":         {`cluster.get('v1', 'Namespace', 'a', {'labelSelector': 'a=b'}) == null`, nil, "cluster.list"},
		"unknown option, computed": {`cluster.list('v1', 'Namespace', {'lab' + 'el': 'a=b'}) == []`, nil, "option \"label\" is not known"},
		"selector is not text":     {`cluster.list('v1', 'Namespace', {'labelSelector': 1}) == []`, nil, "labelSelector is int"},
		"selector is empty":        {`cluster.list('v1', 'Namespace', {'labelSelector': ''}) == []`, nil, "labelSelector is empty"},
		"cache is not a bool":      {`cluster.list('v1', 'Namespace', {'cache': 'no'}) == []`, nil, "cache is string"},
		"fields is not a list":     {`cluster.list('v1', 'Namespace', {'fields': 1}) == []`, nil, "fields is int"},
		"a field is empty":         {`cluster.list('v1', 'Namespace', {'fields': 'a,'}) == []`, nil, "a field in it is"},
		"fields of numbers":        {`cluster.list('v1', 'Namespace', {'fields': [1]}) == []`, nil, "has to be list(string)"},
		"fields is empty":          {`cluster.list('v1', 'Namespace', {'fields': []}) == []`, nil, "fields is empty"},
		"dyn arguments":            {`cluster.list(dyn('v1'), dyn(1)) == []`, nil, "no such overload"},
		"too many":                 {many, contextgate.ErrNotFound, "256 different things"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			about := input(t)
			about.Cluster = &cluster{err: c.err, tree: map[string]any{}}
			violations, err := reading(t, requirements(c.expression)).Evaluate(t.Context(), about)
			if len(violations) > 0 {
				t.Error(violations)
			}
			if c.says == "" {
				hasAll(t, err)
			} else {
				hasAll(t, err, c.says)
			}
		})
	}
	about := input(t)
	if _, err := reading(t, requirements(`cluster.list('v1', 'Namespace') == []`)).Evaluate(t.Context(), about); err == nil || !strings.Contains(err.Error(), "no cluster") {
		t.Errorf("%v; there is no cluster", err)
	}
}

// TestClusterRefused makes sure that an author learns early what will not be read.
func TestClusterRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`cluster.list('v1', 'Secret') == []`:                                              "cluster.list may not read Secret of v1: it is not listed",
		`cluster.get('apps/v1', 'Namespace', 'a') == null`:                                "may not read Namespace of apps/v1",
		`true || cluster.list('v1', 'Secret', 'n').size() > 0`:                            "may not read",
		`[cluster].all(c, c.list('v1', 'Secret') == [])`:                                  "may not read",
		`cluster.list('v1', 'Namespace', {'label': 'a=b'}) == []`:                         `option "label" is not known; there are cache`,
		`cluster.list('v1', 'Namespace', {'cache': false, 'labelSelector': 'a=b'}) == []`: "cache can be written 'false'",
		`cluster.list('v1') == []`:                                                        "no matching overload",
		`cluster.watch('v1', 'Namespace') == []`:                                          "undeclared reference",
		`cluster == cluster && cluster.items == []`:                                       "does not support field selection",
		`cluster.get('v1', 'Namespace', 'a', {'cache': true}, 'b') == null`:               "no matching overload",
	} {
		_, problems := expression.CompileReadingValidation(requirements(text), onlyNamespaces, field.NewPath("cel"))
		if err := problems.ToAggregate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	// Nowhere else is there a cluster.
	const list = `cluster.list('v1', 'Namespace') == []`
	for where, problems := range map[string]field.ErrorList{
		"validation": second(expression.CompileValidation(requirements(list), field.NewPath("cel"))),
		"condition":  secondOf(expression.CompileCondition(list, field.NewPath("cel"))),
		"approval":   secondOf(expression.CompileApproval(list, field.NewPath("cel"))),
	} {
		if err := problems.ToAggregate(); err == nil || !strings.Contains(err.Error(), "spec.contextAware") {
			t.Errorf("%s: %v", where, err)
		}
	}
}

func second(_ *expression.Validation, problems field.ErrorList) field.ErrorList { return problems }
func secondOf(_ *expression.Conditions, problems field.ErrorList) field.ErrorList {
	return problems
}
