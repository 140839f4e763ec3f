// Package policiesfile reads files in which the policies of a server stand by their
// ids, as the document "Context Aware Policies" has them and as Kubewarden's policy
// servers read them.
package policiesfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// longestID is as long as the name of an object may be.
const longestID = 253

// Read reads a file of policies, whose path is named in problems: a map of ids to
// policies, as YAML or JSON. A file that holds nothing has no policies. Each policy
// becomes a ClusterAdmissionPolicy, or an AdmissionPolicy where it has a namespace.
// As long as there is a problem, what was read must not be used.
func Read(path string, data []byte) (policy.Sources, stored.Problems) {
	r := reader{path: path, entries: map[string]*entry{}}
	r.sources.ModuleRules = map[*v1alpha1.AdmissionPolicySpec]bool{}
	content, err := load.Single(data)
	if err != nil {
		r.fail("", err)
	}
	if content == nil {
		return r.sources, r.problems
	}
	policies := map[string]apijson.Raw{}
	if err := apijson.UnmarshalStrict(content, &policies); err != nil {
		r.fail("", err)
		return r.sources, r.problems
	}
	for _, id := range slices.Sorted(maps.Keys(policies)) {
		r.entry(id, policies[id])
	}
	r.compile()
	return r.sources, r.problems
}

type reader struct {
	path     string
	sources  policy.Sources
	problems stored.Problems
	// entries are those that were read, by where they come from.
	entries map[string]*entry
}

// fail appends the errors about an entry; id is empty for the whole file.
func (r *reader) fail(id string, err error) {
	for _, e := range apijson.ErrorsOf(err) {
		r.problem(id, e.Path, e.Detail)
	}
}

func (r *reader) problem(id, path, detail string) {
	if id != "" {
		id = apijson.Child("", id)
		if path != "" && !strings.HasPrefix(path, "[") {
			id += "."
		}
	}
	r.problems = append(r.problems, stored.Problem{Origin: r.path, Path: id + path, Detail: detail})
}

// origin names the entry, for what is said of it later.
func (r *reader) origin(id string) string { return r.path + ", policy " + id }

func (r *reader) entry(id string, raw apijson.Raw) {
	if wrong := checkID(id); wrong != "" {
		r.problem(id, "", wrong)
		return
	}
	if raw.IsNull() {
		r.problem(id, "", "is empty; give at least the url of its module")
		return
	}
	e := &entry{}
	if err := apijson.UnmarshalStrict(raw, e); err != nil {
		r.fail(id, err)
		return
	}
	if wrong := e.check(id); len(wrong) > 0 {
		for _, w := range wrong {
			r.problem(id, w.path, w.detail)
		}
		return
	}
	r.add(id, e)
}

// checkID says what is wrong with an id; empty if nothing is.
func checkID(id string) string {
	odd := func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || c == '/' || c == unicode.ReplacementChar
	}
	switch {
	case id == "" || strings.TrimPrefix(id, clusterwide) == "":
		return "is not an id; a policy needs a name"
	case strings.ContainsFunc(id, odd):
		return "is not an id: there is a slash, a space or a control character in it"
	case len(id) > longestID:
		return fmt.Sprintf("is longer than the %d bytes that a name may have", longestID)
	}
	return ""
}

// add adds the policy of an entry.
func (r *reader) add(id string, e *entry) {
	meta := metav1.ObjectMeta{Name: e.nameOf(id), Namespace: e.Namespace}
	origin := r.origin(id)
	r.entries[origin] = e
	var spec *v1alpha1.AdmissionPolicySpec
	if e.Namespace != "" {
		p := &v1alpha1.AdmissionPolicy{ObjectMeta: meta, Spec: e.spec()}
		p.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(stored.KindAdmissionPolicy))
		r.sources.AdmissionPolicies = append(r.sources.AdmissionPolicies, stored.Sourced[*v1alpha1.AdmissionPolicy]{Object: p, Origin: origin})
		spec = &p.Spec
	} else {
		p := &v1alpha1.ClusterAdmissionPolicy{ObjectMeta: meta, Spec: v1alpha1.ClusterAdmissionPolicySpec{
			AdmissionPolicySpec: e.spec(), ContextAware: e.grants(), Capabilities: e.Capabilities, NamespaceSelector: e.NamespaceSelector,
		}}
		p.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(stored.KindClusterAdmissionPolicy))
		r.sources.ClusterAdmissionPolicies = append(r.sources.ClusterAdmissionPolicies, stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]{Object: p, Origin: origin})
		spec = &p.Spec.AdmissionPolicySpec
	}
	if e.Rules == nil {
		r.sources.ModuleRules[spec] = true
	}
}

// compile finds out whether the policies can do what they say, and says of each
// that cannot which field of the file is at fault.
func (r *reader) compile() {
	_, problems := policy.Compile(r.sources, pod.Default(), exception.Options{})
	for _, p := range problems {
		id := strings.TrimPrefix(p.Origin, r.origin(""))
		e := r.entries[p.Origin]
		if e == nil {
			r.problems = append(r.problems, p)
			continue
		}
		r.problem(id, e.field(p.Path), p.Detail)
	}
}

// Assign has a PolicyServer host the policies: a file says what a server judges by,
// and not which one it is.
func Assign(sources *policy.Sources, server string) {
	for _, p := range sources.ClusterAdmissionPolicies {
		p.Object.Spec.PolicyServer = server
	}
	for _, p := range sources.AdmissionPolicies {
		p.Object.Spec.PolicyServer = server
	}
}
