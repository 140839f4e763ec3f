package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// hostOf answers reads from objects.
func hostOf(t testing.TB, documents ...string) *contexthost.Host {
	t.Helper()
	var given []inventory.Given
	for _, document := range documents {
		var object struct{ APIVersion, Kind string }
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err == nil {
			err = yaml.Unmarshal(raw, &object)
		}
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, inventory.Given{Kind: schema.FromAPIVersionAndKind(object.APIVersion, object.Kind), JSON: raw})
	}
	static, err := inventory.NewStatic(given, nil, func() time.Time { return judgedAt })
	if err != nil {
		t.Fatal(err)
	}
	files := &contexthost.Files{}
	files.Set(static)
	return contexthost.NewForFiles(files, contexthost.Options{})
}

const (
	shop   = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: blue}, annotations: {secret: hidden}}}`
	office = `{apiVersion: v1, kind: Namespace, metadata: {name: office}}`
	web    = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: shop}, spec: {rules: [{host: a.example}]}}`
	token  = `{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: shop, labels: {public: "yes"}}, type: Opaque, data: {a: YWJj}}`
	secret = `{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, type: Opaque, data: {a: YWJj}}`
)

// readingPolicy is a ClusterPolicy whose one rule has an expression.
func readingPolicy(grants, expression string) string {
	return fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: reads}
spec:
  contextAware: [%s]
  rules:
  - name: rule
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {cel: {variables: [{name: secret, expression: "'Sec' + 'ret'"}], expressions: [{expression: %q}]}}
`, grants, expression)
}

func configMap(t testing.TB, host request.Host) *request.Request {
	r := created(t, nil, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}")
	r.Host = host
	return r
}

// TestGateOfExpressions is the matrix of what was granted and what is read, for
// expressions: what is not granted is an error of the rule and stands in its
// result, whatever the expression makes of it.
func TestGateOfExpressions(t *testing.T) {
	t.Parallel()
	host := hostOf(t, shop, office, web, token, secret)
	reads := map[string]string{
		"get":        `cluster.get('v1', variables.secret, 'shop', 'token') != null`,
		"list":       `cluster.list('v1', variables.secret).size() > 0`,
		"list one":   `cluster.list('v1', variables.secret, 'shop').size() > 0`,
		"list other": `cluster.list('v1', variables.secret, 'office').size() == 0`,
		"by label":   `cluster.list('v1', variables.secret, {'labelSelector': 'public=yes'}).size() == 1`,
		"by field":   `cluster.list('v1', variables.secret, {'fieldSelector': 'data.a=YWJj'}).size() > 0`,
		"no cache":   `cluster.list('v1', variables.secret, {'cache': 'false'}).size() > 0`,
	}
	all := []string{"get", "list", "list one", "list other", "by label", "by field", "no cache"}
	for name, c := range map[string]struct {
		grants  string
		granted []string
	}{
		"another resource":      {"{version: v1, resource: configmaps}", nil},
		"another group":         {"{group: apps, version: v1, resource: secrets}", nil},
		"this resource":         {"{version: v1, resource: secrets}", all},
		"this resource by kind": {"{apiVersion: v1, kind: Secret}", all},
		"narrowed by namespace": {"{version: v1, resource: secrets, namespaces: [shop]}", []string{"get", "list", "list one", "by label", "by field", "no cache"}},
		"narrowed by name":      {"{version: v1, resource: secrets, names: [token]}", all},
		"narrowed by label":     {"{version: v1, resource: secrets, labelSelector: {matchLabels: {public: \"yes\"}}}", all},
		"narrowed by fields":    {"{version: v1, resource: secrets, fields: [type, metadata.labels]}", []string{"get", "list", "list one", "list other", "by label", "no cache"}},
	} {
		for read, expression := range reads {
			t.Run(name+"/"+read, func(t *testing.T) {
				t.Parallel()
				result := only(t, setOf(t, readingPolicy(c.grants, expression)).Decide(t.Context(), configMap(t, host)))
				granted := strings.Contains("|"+strings.Join(c.granted, "|")+"|", "|"+read+"|")
				if granted != (result.Status == decision.Pass) || granted == result.Refused() || result.Status == decision.Fail {
					t.Errorf("%s: %s, %+v", result.Status, result.Message, result.Context)
				}
				if !granted && (result.Status != decision.Error || !result.Blocks() || !strings.Contains(result.Message, "this was reported to the administrator")) {
					t.Errorf("%s: %s", result.Status, result.Message)
				}
				// The expression may pass over the error; the report stays.
				result = only(t, setOf(t, readingPolicy(c.grants, "true || "+expression+" || "+expression)).Decide(t.Context(), configMap(t, host)))
				if result.Status != decision.Pass || result.Context != nil {
					t.Errorf("what is not evaluated was read: %+v", result)
				}
				result = only(t, setOf(t, readingPolicy(c.grants, expression+" || true")).Decide(t.Context(), configMap(t, host)))
				if result.Status != decision.Pass || granted == result.Refused() {
					t.Errorf("passed over: %s, %+v", result.Status, result.Context)
				}
			})
		}
	}
}

// TestReadsOfExpressions makes sure that expressions see what was granted, and that
// it is recorded.
func TestReadsOfExpressions(t *testing.T) {
	t.Parallel()
	host := hostOf(t, shop, office, web, token, secret)
	for name, c := range map[string]struct {
		grants, expression string
		status             decision.Status
		says               string
		objects            int
	}{
		"selected":         {"{version: v1, resource: namespaces}", `cluster.list('v1', 'Namespace', {'labelSelector': 'team=blue'}).map(n, n.metadata.name) == ['shop']`, decision.Pass, "", 1},
		"narrowed":         {"{version: v1, resource: namespaces, fields: [metadata.labels]}", `cluster.list('v1', 'Namespace').all(n, !has(n.metadata.annotations))`, decision.Pass, "", 2},
		"wanted":           {"{version: v1, resource: namespaces}", `!has(cluster.get('v1', 'Namespace', 'shop', {'fields': 'metadata.labels'}).metadata.annotations)`, decision.Pass, "", 1},
		"false":            {"{version: v1, resource: namespaces}", `cluster.get('v1', 'Namespace', request.namespace).metadata.labels.team == 'red'`, decision.Fail, "does not hold", 1},
		"not there":        {"{version: v1, resource: namespaces}", `cluster.get('v1', 'Namespace', 'none') == null`, decision.Pass, "", 0},
		"forgotten null":   {"{version: v1, resource: namespaces}", `cluster.get('v1', 'Namespace', 'none').metadata.name == 'none'`, decision.Error, "cannot be judged", 0},
		"not in the files": {"{version: v1, resource: nodes}", `cluster.list('v1', 'Node').size() == 0`, decision.Error, "the files hold none", 0},
		"no namespace":     {"{version: v1, resource: secrets}", `cluster.get('v1', 'Secret', 'token') == null`, decision.Error, "without its namespace", 0},
		"other version":    {"{group: networking.k8s.io, version: v1, resource: ingresses}", `cluster.list('networking.k8s.io/v1beta1', 'Ingress').size() == 0`, decision.Error, "nothing converts", 0},
		"hidden":           {"{version: v1, resource: secrets, labelSelector: {matchLabels: {public: \"yes\"}}}", `cluster.get('v1', 'Secret', 'shop', 'key') == null`, decision.Pass, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := only(t, setOf(t, readingPolicy(c.grants, c.expression)).Decide(t.Context(), configMap(t, host)))
			if result.Status != c.status || !strings.Contains(result.Message, c.says) {
				t.Errorf("%s: %s", result.Status, result.Message)
			}
			objects := 0
			if result.Context != nil {
				for _, r := range result.Context.Reads {
					objects += r.Objects
					if !r.At.Equal(judgedAt) || r.Verb == "" || r.Resource == "" {
						t.Errorf("read %+v", r)
					}
				}
			}
			if objects != c.objects || (name == "hidden") != result.Refused() {
				t.Errorf("%+v", result.Context)
			}
		})
	}
	result := only(t, setOf(t, readingPolicy("{version: v1, resource: namespaces}", `cluster.list('v1', 'Namespace').size() > 0`)).Decide(t.Context(), configMap(t, nil)))
	if result.Status != decision.Error || !strings.Contains(result.Message, clusterpolicy.ErrNoHost.Error()) {
		t.Errorf("%+v", result)
	}
}

// TestBadContext has each policy that cannot read what it says, and why.
func TestBadContext(t *testing.T) {
	t.Parallel()
	namespaced := strings.Replace(strings.Replace(readingPolicy("{version: v1, resource: namespaces}", "true"), "ClusterPolicy", "Policy", 1), "name: reads", "name: reads, namespace: shop", 1)
	without := strings.Replace(readingPolicy("", `cluster.list('v1', 'Namespace') == []`), "contextAware: []", "background: true", 1)
	const fine = `cluster.list('v1', 'Namespace') == []`
	for name, c := range map[string]struct{ document, path, says string }{
		"in a Policy":              {namespaced, "spec.contextAware", "a ClusterPolicy may have it"},
		"Policy with cluster":      {strings.Replace(strings.Replace(without, "ClusterPolicy", "Policy", 1), "name: reads", "name: reads, namespace: shop", 1), "spec.rules[0].validate.cel.expressions[0].expression", "spec.contextAware"},
		"no grants":                {without, "spec.rules[0].validate.cel.expressions[0].expression", "cluster is known only in validate.cel of a ClusterPolicy"},
		"nothing of it granted":    {readingPolicy("{version: v1, resource: namespaces}", `cluster.list('v1', 'Secret') == []`), "spec.rules[0].validate.cel.expressions[0].expression", "does not list secrets"},
		"no such group":            {readingPolicy("{version: v1, resource: namespaces}", `cluster.list('apps/v1', 'Deployment') == []`), "spec.rules[0].validate.cel.expressions[0].expression", "nothing of that group"},
		"no apiVersion":            {readingPolicy("{version: v1, resource: namespaces}", `cluster.list('a/b/c', 'Namespace') == []`), "spec.rules[0].validate.cel.expressions[0].expression", "is an apiVersion"},
		"an empty apiVersion":      {readingPolicy("{version: v1, resource: namespaces}", `cluster.list('', 'Namespace') == []`), "spec.rules[0].validate.cel.expressions[0].expression", "is an apiVersion"},
		"an empty kind":            {readingPolicy("{version: v1, resource: namespaces}", `cluster.list('v1', '') == []`), "spec.rules[0].validate.cel.expressions[0].expression", "is a kind"},
		"no kind":                  {readingPolicy("{version: v1, resource: namespaces}", `cluster.list('v1', 'pods/log') == []`), "spec.rules[0].validate.cel.expressions[0].expression", "is a kind"},
		"everything":               {readingPolicy(`{version: v1, resource: "*"}`, fine), "spec.contextAware[0].resource", "names no single one"},
		"every group":              {readingPolicy(`{group: "*", version: v1, resource: namespaces}`, fine), "spec.contextAware[0].group", "names no single one"},
		"no resource":              {readingPolicy(`{version: v1}`, fine), "spec.contextAware[0].resource", "give group, version and resource"},
		"both":                     {readingPolicy(`{version: v1, resource: namespaces, kind: Namespace}`, fine), "spec.contextAware[0].kind", "stands beside resource"},
		"no version":               {readingPolicy(`{resource: namespaces}`, fine), "spec.contextAware[0].version", "is missing"},
		"kind without apiVersion":  {readingPolicy(`{kind: Namespace}`, fine), "spec.contextAware[0].apiVersion", "is not an apiVersion"},
		"apiVersion with resource": {readingPolicy(`{apiVersion: v1, version: v1, resource: namespaces}`, fine), "spec.contextAware[0].apiVersion", "belongs to kind"},
		"group with kind":          {readingPolicy(`{apiVersion: v1, group: apps, kind: Namespace}`, fine), "spec.contextAware[0].apiVersion", "belong to resource"},
		"upper case letters":       {readingPolicy(`{version: v1, resource: Namespaces}`, fine), "spec.contextAware[0].resource", "upper case letters"},
		"a pattern of namespaces":  {readingPolicy(`{version: v1, resource: secrets, namespaces: ["team-*"]}`, "true"), "spec.contextAware[0].namespaces[0]", "is a pattern"},
		"a pattern of names":       {readingPolicy(`{version: v1, resource: secrets, names: ["a?"]}`, "true"), "spec.contextAware[0].names[0]", "is a pattern"},
		"a bad selector":           {readingPolicy(`{version: v1, resource: secrets, labelSelector: {matchLabels: {"a b": c}}}`, "true"), "spec.contextAware[0].labelSelector", "a b"},
		"a bad field":              {readingPolicy(`{version: v1, resource: secrets, fields: [a..b]}`, "true"), "spec.contextAware[0].fields", "a..b"},
		"unknown in a grant":       {readingPolicy(`{version: v1, resource: secrets, verbs: [watch]}`, "true"), "spec.contextAware[0].verbs", "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sources Sources
			problems := addYAML(t, &sources, c.document)
			if len(problems) == 0 {
				_, problems = Compile(sources, pod.Default(), exception.Options{})
			}
			if len(problems) != 1 || problems[0].Path != c.path || !strings.Contains(problems[0].Detail, c.says) {
				t.Errorf("%+v", problems)
			}
		})
	}
}

// TestContextsOfSets makes sure that a set says what its policies may read, and
// warns of what nobody reads.
func TestContextsOfSets(t *testing.T) {
	t.Parallel()
	set := setOf(t, readingPolicy("{version: v1, resource: namespaces}", "true"), scoped)
	var names []string
	for _, p := range set.Contexts() {
		names = append(names, p.String())
	}
	if diff := cmp.Diff([]string{"ClusterPolicy/reads"}, names); diff != "" {
		t.Error(diff)
	}
	const namespaces = "{version: v1, resource: namespaces}"
	for name, c := range map[string]struct {
		document string
		warned   bool
	}{
		"a kind whose plural is not guessed": {readingPolicy("{group: example.com, version: v1, resource: mice}", `cluster.list('example.com/v1', 'Mouse') == []`), false},
		"expressions that read nothing":      {readingPolicy(namespaces, "variables.secret != ''"), true},
		"expressions that read":              {readingPolicy(namespaces, `cluster.list('v1', 'Namespace').size() > 0`), false},
		"a pattern":                          {strings.Replace(scoped, "spec: {", "spec: {contextAware: ["+namespaces+"], ", 1), true},
		"nothing granted":                    {scoped, false},
	} {
		w := setOf(t, c.document).Warnings()
		if (len(w) == 1 && w[0].Path == "spec.contextAware") != c.warned || len(w) > 1 {
			t.Errorf("%s: warnings %v", name, w)
		}
	}
	here := setOf(t, cap0("here"), cap0("there", "policyServer: there")).Run(&modules{})
	if got := here.Contexts(); len(got) != 1 || got[0].String() != "ClusterAdmissionPolicy/here" {
		t.Errorf("of modules: %v", got)
	}
}

// scoped is a policy that reads nothing.
const scoped = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: plain}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}
`
