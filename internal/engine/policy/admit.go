package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Add decodes an object of the group sallyport.io strictly and adds it to the
// sources. Unknown fields, and kinds and versions that are not known, are
// problems.
func (s *Sources) Add(gvk schema.GroupVersionKind, raw []byte, origin string) stored.Problems {
	decode := func(into any) stored.Problems {
		var problems stored.Problems
		for _, err := range apijson.ErrorsOf(apijson.UnmarshalStrict(raw, into)) {
			problem := stored.Problem{Origin: origin, Kind: gvk.Kind, Path: err.Path, Detail: clusterpolicy.WithoutContext(gvk.Kind, err.Path, err.Detail)}
			problem.Namespace, problem.Name = nameIn(raw)
			problems = append(problems, problem)
		}
		return problems
	}
	if gvk.Version != v1alpha1.GroupVersion.Version {
		problem := stored.Problem{Origin: origin, Kind: gvk.Kind, Path: "apiVersion", Detail: fmt.Sprintf("%q is not a version that is read here; write %s", gvk.GroupVersion(), v1alpha1.GroupVersion)}
		problem.Namespace, problem.Name = nameIn(raw)
		return stored.Problems{problem}
	}
	add := adders[gvk.Kind]
	if add == nil {
		problem := stored.Problem{Origin: origin, Kind: gvk.Kind, Path: "kind", Detail: fmt.Sprintf("%q is not a kind of %s that is known here; known are %s", gvk.Kind, v1alpha1.GroupVersion, strings.Join(append(slices.Clone(kinds), clusterconfig.Kind), ", "))}
		problem.Namespace, problem.Name = nameIn(raw)
		return stored.Problems{problem}
	}
	if problems := emptyDurations(gvk.Kind, origin, raw); problems != nil {
		return problems
	}
	if problems := lostNulls(gvk.Kind, origin, raw); problems != nil {
		return problems
	}
	return add(s, decode, gvk.Kind, origin)
}

// adder decodes an object of a kind and adds it to the sources.
type adder func(s *Sources, decode func(any) stored.Problems, kind, origin string) stored.Problems

var adders = map[string]adder{
	stored.KindDenyPolicy:    addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.DenyPolicy] { return &s.DenyPolicies }, false),
	stored.KindClusterPolicy: addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.ClusterPolicy] { return &s.ClusterPolicies }, false),
	stored.KindPolicy:        addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.Policy] { return &s.Policies }, true),
	stored.KindClusterAdmissionPolicy: addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.ClusterAdmissionPolicy] {
		return &s.ClusterAdmissionPolicies
	}, false),
	stored.KindAdmissionPolicy: addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.AdmissionPolicy] { return &s.AdmissionPolicies }, true),
	stored.KindPolicyServer:    addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.PolicyServer] { return &s.PolicyServers }, false),
	stored.KindPodKind:         addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.PodKind] { return &s.PodKinds }, false),
	breakglass.KindEscalation:  addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.BreakglassEscalation] { return &s.Escalations }, false),
	breakglass.KindSession:     addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.BreakglassSession] { return &s.Sessions }, false),
	identity.KindSource:        addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.IdentitySource] { return &s.Identities }, false),
	exception.KindException:    addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.PolicyException] { return &s.Exceptions.Exceptions }, true),
	exception.KindClusterException: addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.ClusterPolicyException] {
		return &s.Exceptions.ClusterExceptions
	}, false),
	exception.KindRequest:         addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.PolicyExceptionRequest] { return &s.Exceptions.Requests }, true),
	exception.KindResponse:        addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.PolicyExceptionResponse] { return &s.Exceptions.Responses }, false),
	exception.KindExceptionPolicy: addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.ExceptionPolicy] { return &s.Exceptions.ExceptionPolicies }, false),
	clusterconfig.Kind:            addTo(func(s *Sources) *[]stored.Sourced[*v1alpha1.ClusterConfig] { return &s.Clusters }, false),
}

func addTo[T any, P interface {
	*T
	metav1.Object
}](list func(*Sources) *[]stored.Sourced[P], namespaced bool) adder {
	return func(s *Sources, decode func(any) stored.Problems, kind, origin string) stored.Problems {
		object := P(new(T))
		if problems := decode(object); problems != nil {
			return problems
		}
		into := list(s)
		*into = append(*into, stored.Sourced[P]{Object: object, Origin: origin})
		name := object.GetName()
		if name == "" && origin == "" {
			// The API server makes the name after it has asked.
			name = object.GetGenerateName()
		}
		return checkMeta(kind, object.GetNamespace(), name, origin, namespaced)
	}
}

// checkMeta refuses a policy without a name, and a namespace in the wrong place.
func checkMeta(kind, namespace, name, origin string, namespaced bool) stored.Problems {
	problem := stored.Problem{Origin: origin, Kind: kind, Namespace: namespace, Name: name}
	var problems stored.Problems
	if name == "" {
		problem.Path, problem.Detail = "metadata.name", "is missing; a policy needs a name"
		problems = append(problems, problem)
	}
	switch {
	case namespaced && namespace == "":
		problem.Path, problem.Detail = "metadata.namespace", "is missing; a Policy holds only for its own namespace (use a ClusterPolicy for all)"
		problems = append(problems, problem)
	case !namespaced && namespace != "":
		problem.Path, problem.Detail = "metadata.namespace", fmt.Sprintf("is %q, but a %s has no namespace; remove it", namespace, kind)
		problems = append(problems, problem)
	}
	return problems
}

func nameIn(raw []byte) (namespace, name string) {
	var object struct {
		Metadata struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	if apijson.Unmarshal(raw, &object) != nil {
		return "", ""
	}
	return object.Metadata.Namespace, object.Metadata.Name
}

// admitPolicyObject refuses an object of ours that cannot do what it says, so
// that nobody relies on a policy that is not there, and warns of one that does
// less than it may look.
func (s *Set) admitPolicyObject(c *call.Call, results []decision.Result) []decision.Result {
	object := c.Request.Object
	if object.GVK.Group != v1alpha1.GroupVersion.Group || c.Request.Subresource != "" || keepsSpec(c) {
		return results
	}
	var sources Sources
	problems := sources.Add(object.GVK, object.Raw, "")
	var warnings stored.Problems
	if len(problems) == 0 {
		problems, warnings = s.tryOut(c, &sources)
	}
	if s.filesOnly {
		warnings = append(warnings, stored.Problem{Detail: "it is not in force here: this Sallyport takes what it judges by from files only; start it with --watch-policies, or put this into the files of --from"})
	}
	// To foresee is to ask the API server, and to go on asking.
	if s.foresee != nil && len(problems) == 0 && !c.Request.Unauthenticated {
		if alone, none := Compile(sources, s.Pods(), exception.Options{}); len(none) == 0 {
			for _, said := range s.foresee(c.Ctx, alone) {
				warnings = append(warnings, stored.Problem{Detail: said})
			}
		}
	}
	what := "policy"
	if !isPolicy(object.GVK.Kind) {
		what = "object"
	}
	result := decision.Result{
		Policy: c.Request.Name, PolicyNamespace: c.Request.Namespace, Rule: stored.RuleWorks, Kind: object.GVK.Kind,
		Resource: c.Resource(), Status: decision.Pass, Action: decision.Enforce,
		Message: "the " + what + " can do what it says", Source: c.Request.Source, Remedy: decision.RemedyCorrect,
	}
	switch {
	case len(problems) > 0:
		result.Status, result.Message = decision.Fail, "the "+what+" cannot do what it says"
		for _, p := range problems {
			result.Message += "; " + p.At()
			result.Findings = append(result.Findings, decision.Finding{Path: p.Path, Detail: p.Detail})
		}
	case len(warnings) > 0:
		result.Status, result.Action, result.Message = decision.Warn, decision.ActionWarn, "the "+what+" works, but may do less than it looks"
		for _, p := range warnings {
			result.Message += "; " + p.At()
			result.Findings = append(result.Findings, decision.Finding{Path: p.Path, Detail: p.Detail})
		}
	}
	return append(results, result)
}

// keepsSpec reports whether an update of an object about exceptions changes
// nothing that it says. One that lost its effect can be labelled, and let go of by
// its finalizers.
func keepsSpec(c *call.Call) bool {
	return exception.InWorkflow(c.Request.Object.GVK.Kind) && c.SameSpec()
}

// tryOut compiles one object beside the rules about exceptions that are in force.
func (s *Set) tryOut(c *call.Call, sources *Sources) (problems, warnings stored.Problems) {
	alone := sources.Exceptions
	if !alone.Empty() {
		sources.Exceptions = s.Excusing.WithRules(alone)
	}
	options := s.Excusing.Options()
	options.Ledger, options.Trial = nil, true
	if options.Began.IsZero() {
		options.Began = c.Request.Time
	}
	registered := *sources
	registered.PodKinds = nil
	compiled, problems := Compile(registered, s.Pods(), options)
	problems = append(append(problems, s.tryPodKinds(sources)...), s.taken(c, sources)...)
	kind := c.Request.Object.GVK.Kind
	about := func(p stored.Problem) bool { return p.Kind == kind }
	problems = filter(problems, about)
	// What exceptions name is looked up among the policies in force.
	named := *s
	named.Excusing, named.warnings = compiled.Excusing, compiled.warnings
	if len(compiled.Modules.All) > 0 {
		named.Modules, named.names = compiled.Modules, nil
	}
	warnings = append(filter(named.Warnings(), about), filter(compiled.notes, func(p stored.Problem) bool { return p.Reason == "" })...)
	if len(problems) == 0 {
		refused, more := s.tryModules(c, compiled)
		problems, warnings = refused, append(warnings, more...)
	}
	return problems, warnings
}

// isPolicy reports whether a kind is a policy, in contrast to what is about
// exceptions or identities.
func isPolicy(kind string) bool {
	return kind != identity.KindSource && kind != stored.KindPodKind && kind != clusterconfig.Kind && !slices.Contains(exception.Kinds, kind)
}

func filter(problems stored.Problems, keep func(stored.Problem) bool) stored.Problems {
	var kept stored.Problems
	for _, p := range problems {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}
