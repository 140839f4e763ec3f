package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// ReasonPlaceholder stands in a request that is suggested, where whoever asks
// writes why.
const ReasonPlaceholder = "say why"

// Suggest makes the request that would ask for an exception to a result which
// refuses a request: for this rule and this resource, and, for a Pod Security
// Standard, for the very fields and values that were found. It is nil for what no
// exception excuses.
func Suggest(r *request.Request, result *decision.Result) *v1alpha1.PolicyExceptionRequest {
	if result.Status != decision.Fail && result.Status != decision.Warn || !exception.CanBeExcused(result.Kind) ||
		result.Kind == identity.KindSource && !slices.Contains(identityrule.IdentityRules, result.Rule) || result.Rule == stored.RuleWorks || result.Rule == stored.RuleExemptLabels || result.Rule == stored.RuleNamespaceLabels || result.Resource.Kind == "" {
		return nil
	}
	asked := &v1alpha1.PolicyExceptionRequest{}
	asked.APIVersion, asked.Kind = v1alpha1.GroupVersion.String(), exception.KindRequest
	asked.Namespace = result.Resource.Namespace
	if asked.Namespace == "" {
		asked.Namespace = metav1.NamespaceDefault
	}
	name := strings.TrimRight(result.Resource.Name, "-")
	policy := result.Policy
	if result.PolicyNamespace != "" {
		// A ClusterPolicy may have the same name.
		policy = result.PolicyNamespace + "-" + policy
	}
	asked.Name = objectName(policy + "-" + strings.ToLower(result.Resource.Kind) + "-" + name)
	excepted := v1alpha1.ExceptedRules{PolicyName: result.Policy, PolicyKind: result.Kind, RuleNames: []string{result.Rule}}
	if result.PolicyNamespace != "" {
		excepted.PolicyName = result.PolicyNamespace + "/" + result.Policy
	}
	asked.Spec.Exceptions = []v1alpha1.RequestedException{{ExceptedRules: excepted}}
	asked.Spec.Reason = ReasonPlaceholder
	kind := result.Resource.Kind
	if a, ok := call.AccessOf(r); ok && (result.Kind == stored.KindDenyPolicy || result.Kind == identity.KindSource) {
		kind += "/" + a.Subresource
	}
	description := v1alpha1.ResourceDescription{Kinds: []string{kind}}
	if result.Resource.Name != "" {
		description.Names = []string{result.Resource.Name}
		if r.Object != nil && r.Object.Meta.Name == "" && r.Object.Meta.GenerateName == result.Resource.Name {
			description.Names[0] += "*"
		}
	}
	if result.Resource.Namespace != "" {
		description.Namespaces = []string{result.Resource.Namespace}
	}
	asked.Spec.Exclude = &v1alpha1.Match{Any: []v1alpha1.ResourceFilter{{Resources: &description}}}
	asked.Spec.PodSecurity = exclusionsFor(r, result)
	return asked
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// objectName makes the name of an object out of a text.
func objectName(text string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(text), "-")
	if len(name) > 63 {
		name = name[:63]
	}
	return strings.Trim(name, "-")
}

var anyIndex = regexp.MustCompile(`\[[0-9]+\]`)

// exclusionsFor narrows an exception to what was found of a Pod Security
// Standard; nil where that cannot be said, so that the whole rule is meant.
func exclusionsFor(r *request.Request, result *decision.Result) []v1alpha1.PodSecurityExclusion {
	if r.Object == nil {
		return nil
	}
	var list []v1alpha1.PodSecurityExclusion
	for i := range result.Findings {
		f := &result.Findings[i]
		e := v1alpha1.PodSecurityExclusion{ControlName: f.Control}
		p, relative := podOf(r.Object, f.Path)
		if p == nil {
			return nil
		}
		for c := range p.Containers() {
			if strings.HasPrefix(relative, fmt.Sprintf("spec.%s[%d].", c.Kind.Field(), c.Index)) {
				e.Images = []string{c.Image}
			}
		}
		narrow := e
		narrow.RestrictedField, narrow.Values = anyIndex.ReplaceAllString(relative, "[*]"), []string{f.Value}
		switch {
		case works(narrow):
			e = narrow
		case !works(e):
			return nil
		}
		if !slices.ContainsFunc(list, func(o v1alpha1.PodSecurityExclusion) bool { return sameExclusion(&o, &e) }) {
			list = append(list, e)
		}
	}
	return list
}

func works(e v1alpha1.PodSecurityExclusion) bool {
	_, errs := standard.CompileExclusions([]v1alpha1.PodSecurityExclusion{e}, field.NewPath("podSecurity"))
	return len(errs) == 0
}

func sameExclusion(a, b *v1alpha1.PodSecurityExclusion) bool {
	return a.ControlName == b.ControlName && a.RestrictedField == b.RestrictedField && slices.Equal(a.Images, b.Images) && slices.Equal(a.Values, b.Values)
}

// podOf finds the pod of the object that a path leads into, and the path from the
// pod on.
func podOf(object *pod.Object, path string) (*pod.Pod, string) {
	for i := range object.Pods {
		p := &object.Pods[i]
		if relative, ok := p.Relative(path); ok {
			return p, relative
		}
	}
	return nil, ""
}
