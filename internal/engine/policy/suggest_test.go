package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestSuggest says for which results an exception is suggested, and for what.
func TestSuggest(t *testing.T) {
	entry := func(*testing.T) *request.Request { return exec(clusterOf(t), "shop", "web") }
	object := func(name, generateName string) func(*testing.T) *request.Request {
		return func(*testing.T) *request.Request {
			return &request.Request{Object: &pod.Object{Meta: &metav1.ObjectMeta{Name: name, GenerateName: generateName}}}
		}
	}
	web := object("web", "")
	for name, c := range map[string]struct {
		request func(*testing.T) *request.Request
		change  func(*decision.Result)
		// want are the kind and the name; empty for nothing.
		want string
	}{
		"a refusal": {web, func(*decision.Result) {}, "Pod web"},
		"a warning": {web, func(r *decision.Result) { r.Status = decision.Warn }, "Pod web"},
		"a pass":    {web, func(r *decision.Result) { r.Status = decision.Pass }, ""},
		"a skip":    {web, func(r *decision.Result) { r.Status = decision.Skip }, ""},
		"an error":  {web, func(r *decision.Result) { r.Status = decision.Error }, ""},

		"of a kind that nothing excuses":        {web, func(r *decision.Result) { r.Kind = "Sallyport" }, ""},
		"about a policy that cannot work":       {web, func(r *decision.Result) { r.Rule = stored.RuleWorks }, ""},
		"about a label that exempts":            {web, func(r *decision.Result) { r.Rule = stored.RuleExemptLabels }, ""},
		"about labels of a namespace":           {web, func(r *decision.Result) { r.Rule = stored.RuleNamespaceLabels }, ""},
		"about no resource":                     {web, func(r *decision.Result) { r.Resource.Kind = "" }, ""},
		"about a mark":                          {web, func(r *decision.Result) { r.Kind, r.Rule = identity.KindSource, identityrule.RuleTemplateJudged }, ""},
		"about an identity":                     {web, func(r *decision.Result) { r.Kind, r.Rule = identity.KindSource, identityrule.RuleUse }, "Pod web"},
		"of a policy with a rule of that name":  {web, func(r *decision.Result) { r.Rule = identityrule.RuleTemplateJudged }, "Pod web"},
		"a way in, by a DenyPolicy":             {entry, func(r *decision.Result) { r.Kind = stored.KindDenyPolicy }, "Pod/exec web"},
		"a way in, by an identity":              {entry, func(r *decision.Result) { r.Kind, r.Rule = identity.KindSource, identityrule.RuleUse }, "Pod/exec web"},
		"a way in, by a ClusterPolicy":          {entry, func(*decision.Result) {}, "Pod web"},
		"an object, by a DenyPolicy":            {web, func(r *decision.Result) { r.Kind = stored.KindDenyPolicy }, "Pod web"},
		"a name that is generated":              {object("", "web-"), func(r *decision.Result) { r.Resource.Name = "web-" }, "Pod web-*"},
		"a name like that of which it is made":  {object("web-", "web-"), func(r *decision.Result) { r.Resource.Name = "web-" }, "Pod web-"},
		"another name than that it is made of":  {object("", "other-"), func(*decision.Result) {}, "Pod web"},
		"no name, where every name is meant so": {web, func(r *decision.Result) { r.Resource.Name = "" }, "Pod "},
	} {
		t.Run(name, func(t *testing.T) {
			result := decision.Result{Policy: "p", Rule: "r", Kind: stored.KindClusterPolicy, Status: decision.Fail}
			result.Resource.Kind, result.Resource.Namespace, result.Resource.Name = "Pod", "shop", "web"
			c.change(&result)
			got := ""
			if s := Suggest(c.request(t), &result); s != nil {
				about := s.Spec.Exclude.Any[0].Resources
				got = strings.Join(about.Kinds, ",") + " " + strings.Join(about.Names, ",")
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestSuggestedExclusions narrows an exception to what was found, each once, and
// to nothing where some of it cannot be said.
func TestSuggestedExclusions(t *testing.T) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	container := func(name, image, capability string) string {
		return "{name: " + name + ", image: '" + image + "', securityContext: {privileged: true, capabilities: {add: [" + capability + "]}}}"
	}
	document := "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {hostPID: true, hostNetwork: true, containers: [" +
		strings.Join([]string{container("a", "one:1", "SYS_ADMIN"), container("b", "two:1", "NET_ADMIN"), container("c", "two:1", "SYS_TIME"), container("d", "two:1", "SYS_TIME")}, ", ") + "]}}"
	r := created(t, clusterOf(t, namespace("shop", nil)), gvk, "pods", document)
	result := only(t, setOf(t, podSecurity("[Pod]", "{level: baseline}", "Enforce")).Decide(t.Context(), r))
	said := func(r *request.Request, result *decision.Result) []string {
		var lines []string
		for _, e := range Suggest(r, result).Spec.PodSecurity {
			lines = append(lines, fmt.Sprintf("%s %v %s %v", e.ControlName, e.Images, e.RestrictedField, e.Values))
		}
		slices.Sort(lines)
		return lines
	}
	want := []string{
		"Capabilities [one:1] spec.containers[*].securityContext.capabilities.add[*] [SYS_ADMIN]",
		"Capabilities [two:1] spec.containers[*].securityContext.capabilities.add[*] [NET_ADMIN]",
		"Capabilities [two:1] spec.containers[*].securityContext.capabilities.add[*] [SYS_TIME]",
		"Host Namespaces [] spec.hostNetwork [true]",
		"Host Namespaces [] spec.hostPID [true]",
		"Privileged Containers [one:1] spec.containers[*].securityContext.privileged [true]",
		"Privileged Containers [two:1] spec.containers[*].securityContext.privileged [true]",
	}
	if got := said(r, &result); !slices.Equal(got, want) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for name, change := range map[string]func(*request.Request, *decision.Finding){
		"no object":                  func(r *request.Request, _ *decision.Finding) { r.Object = nil },
		"no control":                 func(_ *request.Request, f *decision.Finding) { f.Control = "" },
		"a control that is unknown":  func(_ *request.Request, f *decision.Finding) { f.Control = "Odd" },
		"a field beside the pod":     func(_ *request.Request, f *decision.Finding) { f.Path = "other.hostPID" },
		"a field with a longer name": func(_ *request.Request, f *decision.Finding) { f.Path = "specs.hostPID" },
	} {
		t.Run(name, func(t *testing.T) {
			other, changed := *r, result
			changed.Findings = slices.Clone(result.Findings)
			change(&other, &changed.Findings[0])
			if got := said(&other, &changed); got != nil {
				t.Errorf("%q is narrowed, which excuses less than is asked for", got)
			}
		})
	}
}

// TestSameExclusions takes two for one only where they say the same.
func TestSameExclusions(t *testing.T) {
	one := v1alpha1.PodSecurityExclusion{ControlName: "Capabilities", Images: []string{"a"}, RestrictedField: "f", Values: []string{"v"}}
	for name, change := range map[string]func(*v1alpha1.PodSecurityExclusion){
		"":                func(*v1alpha1.PodSecurityExclusion) {},
		"another control": func(e *v1alpha1.PodSecurityExclusion) { e.ControlName = "Volume Types" },
		"another image":   func(e *v1alpha1.PodSecurityExclusion) { e.Images = []string{"b"} },
		"another field":   func(e *v1alpha1.PodSecurityExclusion) { e.RestrictedField = "g" },
		"another value":   func(e *v1alpha1.PodSecurityExclusion) { e.Values = nil },
	} {
		other := one
		change(&other)
		if got := sameExclusion(&one, &other); got != (name == "") {
			t.Errorf("%q: %v", name, got)
		}
	}
}
