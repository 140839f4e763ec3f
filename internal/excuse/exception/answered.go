package exception

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

type (
	sourcedRequest  = source.Of[*v1alpha1.PolicyExceptionRequest]
	sourcedResponse = source.Of[*v1alpha1.PolicyExceptionResponse]
)

// answered compiles requests, and what was approved of them.
//
// Nothing is taken from the status of a request, which is there for people: a
// request excuses what its spec says as long as a response approves that very
// version of it.
func (c *compiler) answered(requests []sourcedRequest, responses []sourcedResponse) {
	byName := map[identity][]sourcedResponse{}
	namespaces := make(map[string][]string, len(requests))
	for _, q := range requests {
		namespaces[q.Object.Name] = append(namespaces[q.Object.Name], q.Object.Namespace)
	}
	for _, r := range responses {
		id := identity{KindResponse, "", r.Object.Name}
		if c.ending(id, r.Object.DeletionTimestamp != nil) {
			continue
		}
		if !c.take(id, r.Origin, checkResponse(r.Object)) {
			continue
		}
		request, err := findRequest(r.Object, namespaces)
		if err != nil {
			// In a cluster the request may come later, or be gone: the response is
			// stale then, and the controller cleans it up.
			c.set.states[id] = State{Problem: err}
			if r.Origin != "" {
				c.problems = append(c.problems, source.Problem{Origin: r.Origin, Kind: KindResponse, Name: r.Object.Name, Path: "spec.name", Detail: err.Error()})
			}
			continue
		}
		byName[request] = append(byName[request], r)
	}
	for _, r := range requests {
		id := identity{KindRequest, r.Object.Namespace, r.Object.Name}
		if c.ending(id, r.Object.DeletionTimestamp != nil) {
			continue
		}
		passes, errs := c.request(r, byName[id])
		if !c.take(id, r.Origin, errs) {
			continue
		}
		for _, p := range passes {
			c.add(p)
		}
	}
}

// checkResponse checks what a response says by itself.
func checkResponse(r *v1alpha1.PolicyExceptionResponse) (errs field.ErrorList) {
	defer source.Recovered(&errs)
	at := field.NewPath("spec")
	if r.Spec.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), "name the PolicyExceptionRequest that is answered"))
	}
	if r.Spec.Status != v1alpha1.ResponseApproved && r.Spec.Status != v1alpha1.ResponseDenied {
		errs = append(errs, field.NotSupported(at.Child("status"), r.Spec.Status, []v1alpha1.ResponseStatus{v1alpha1.ResponseApproved, v1alpha1.ResponseDenied}))
	}
	switch strings.ToLower(r.Spec.ApprovalPolicy) {
	case "", "manual", "automatic":
	default:
		errs = append(errs, field.NotSupported(at.Child("approvalPolicy"), r.Spec.ApprovalPolicy, []string{"Manual", "Automatic"}))
	}
	return errs
}

// findRequest finds the request that a response names; namespaces has those of
// all requests by their names.
func findRequest(r *v1alpha1.PolicyExceptionResponse, namespaces map[string][]string) (identity, error) {
	var found []string
	for _, namespace := range namespaces[r.Spec.Name] {
		if r.Spec.Namespace == "" || namespace == r.Spec.Namespace {
			found = append(found, namespace)
		}
	}
	name := r.Spec.Name
	if r.Spec.Namespace != "" {
		name = r.Spec.Namespace + "/" + name
	}
	switch len(found) {
	case 1:
		return identity{KindRequest, found[0], r.Spec.Name}, nil
	case 0:
		return identity{}, fmt.Errorf("there is no PolicyExceptionRequest %s", name)
	default:
		slices.Sort(found)
		return identity{}, fmt.Errorf("several PolicyExceptionRequests are called %s, in namespaces %s; give spec.namespace", name, strings.Join(found, ", "))
	}
}

// request compiles a request, and makes passes of it if it is approved.
func (c *compiler) request(r sourcedRequest, responses []sourcedResponse) ([]*Exception, field.ErrorList) {
	response, why := c.answer(r, responses)
	id := identity{KindRequest, r.Object.Namespace, r.Object.Name}
	if response == nil && r.Origin != "" && len(responses) > 0 {
		c.set.warnings = append(c.set.warnings, source.Problem{
			Origin: r.Origin, Kind: KindRequest, Namespace: id.namespace, Name: id.name, Path: "spec", Detail: "excuses nothing: " + why,
		})
	}
	c.set.states[id] = State{Unanswered: why, Answered: response != nil, Effective: response != nil && response.Object.Spec.Status == v1alpha1.ResponseApproved}
	if response != nil {
		rid := identity{KindResponse, "", response.Object.Name}
		state := c.set.states[rid]
		state.Effective = response.Object.Spec.Status == v1alpha1.ResponseApproved
		c.set.states[rid] = state
	}
	if n := len(r.Object.Spec.Exceptions); n > maxRules {
		return nil, field.ErrorList{field.TooMany(field.NewPath("spec", "exceptions"), n, maxRules)}
	}
	var answer *v1alpha1.PolicyExceptionResponse
	if response != nil {
		answer = response.Object
	}
	made := c.part(r.Object, answer, func(made *part) {
		for _, e := range c.entries(made, r, response) {
			c.compile(made, e)
		}
	})
	c.include(made)
	passes, errs := made.passes, made.errs
	if len(errs) == 0 {
		state := c.set.states[id]
		state.Reach = reach(passes)
		c.set.states[id] = state
	}
	if len(errs) > 0 && response != nil {
		rid := identity{KindResponse, "", response.Object.Name}
		c.set.states[rid] = State{Problem: errs.ToAggregate()}
	}
	if response == nil || response.Object.Spec.Status != v1alpha1.ResponseApproved {
		return nil, errs
	}
	return passes, errs
}

// maxAnswered bounds the entries of an answer: each policy that was named can have
// been meant in several kinds.
var maxAnswered = len(excusables) * maxRules

// entries are the parts of a request, each with what holds for it.
func (c *compiler) entries(made *part, r sourcedRequest, response *sourcedResponse) []*entry {
	at := field.NewPath("spec")
	spec := &r.Object.Spec
	if response != nil && response.Origin == "" && len(response.Object.Spec.Exceptions) > 0 {
		// What was approved stands in the response, with the kinds of policies that
		// were meant.
		approved := *spec
		approved.Exceptions = response.Object.Spec.Exceptions
		spec = &approved
		if len(spec.Exceptions) > maxAnswered {
			spec.Exceptions = nil
		}
	}
	id := identity{KindRequest, r.Object.Namespace, r.Object.Name}
	if len(spec.Exceptions) == 0 {
		return []*entry{{id: id, meta: &r.Object.ObjectMeta, rulesAt: at.Child("exceptions"), match: &v1alpha1.Match{}, matchAt: at.Child("exclude"), at: at, unanchored: true}}
	}
	var entries []*entry
	for i := range spec.Exceptions {
		given := &spec.Exceptions[i]
		own := at.Child("exceptions").Index(i)
		x := Inherit(*given, spec)
		e := &entry{
			id: id, meta: &r.Object.ObjectMeta, rules: []v1alpha1.ExceptedRules{x.ExceptedRules}, rulesAt: at.Child("exceptions"),
			match: x.Exclude, matchAt: at.Child("exclude"), at: at, reason: x.Reason,
			conditions: spec.Conditions, podSecurity: spec.PodSecurity, requester: strings.Join(spec.Requesters, ", "),
			times: times{duration: x.Duration, expiresAt: x.ExpiresAt}, askedBy: r.Object.Spec.Requesters,
			file: r.Origin != "", answered: response != nil && response.Origin == "",
		}
		// Problems are told where the entry got it from.
		if given.Exclude != nil {
			e.matchAt = own.Child("exclude")
		}
		if given.Duration != "" || given.ExpiresAt != nil {
			e.at = own
		}
		if e.match == nil {
			e.match = &v1alpha1.Match{}
		}
		switch {
		case response == nil:
			// How long it will hold is checked as if it began now.
			begins := c.options.Began
			if begins.IsZero() {
				begins = r.Object.CreationTimestamp.Time
			}
			if begins.IsZero() {
				begins = epoch
				e.unanchored = e.times.expiresAt != nil
			}
			e.times.begins, e.begins = begins, begins
			e.approved = true
		default:
			a := &response.Object.Spec
			e.granted = a.Status == v1alpha1.ResponseApproved
			e.approver, e.approved = a.Approver, !isAutomatic(a)
			if a.ExpiresAt != nil {
				e.ends = a.ExpiresAt.Time
			}
			if a.ApprovalTime != nil {
				e.times.begins, e.approvedAt = a.ApprovalTime.Time, a.ApprovalTime.Time
			} else if e.times.begins = c.options.Began; x.Duration != "" {
				c.countedFromNow(made, e.id, r.Origin, e.at.Child("duration"), x.Duration)
			}
			e.begins = e.times.begins
		}
		entries = append(entries, e)
	}
	return entries
}

func isAutomatic(a *v1alpha1.PolicyExceptionResponseSpec) bool {
	return strings.EqualFold(a.ApprovalPolicy, "Automatic")
}

// answer finds the response that answers the request as it is now. why says,
// where there is none, what stands in the way.
func (c *compiler) answer(r sourcedRequest, responses []sourcedResponse) (response *sourcedResponse, why string) {
	why = "it was not answered yet"
	slices.SortStableFunc(responses, func(a, b sourcedResponse) int { return cmp.Compare(a.Object.Name, b.Object.Name) })
	for i := range responses {
		a := &responses[i]
		if problem := c.answers(r, a); problem != "" {
			why = "PolicyExceptionResponse " + a.Object.Name + " " + problem
			continue
		}
		if response != nil && response.Object.Spec.Status == v1alpha1.ResponseApproved && a.Object.Spec.Status == v1alpha1.ResponseApproved {
			return nil, "it is answered twice, by PolicyExceptionResponses " + response.Object.Name + " and " + a.Object.Name + "; remove one of them"
		}
		// A denial counts over an approval that came beside it.
		if response == nil || a.Object.Spec.Status == v1alpha1.ResponseDenied {
			response, why = a, ""
		}
	}
	return response, why
}

// answers reports what keeps a response from answering the request; empty if
// nothing does. A response of a file need not hold what only an API server fills
// in, and what it holds counts.
func (c *compiler) answers(r sourcedRequest, a *sourcedResponse) string {
	spec, live := &a.Object.Spec, a.Origin == ""
	if live && spec.RequestUID == "" {
		return "does not say which version of the request it answers; it did not pass through admission"
	}
	if spec.RequestUID != "" && spec.RequestUID != r.Object.UID {
		return "answers another request of that name"
	}
	if (live || spec.RequestGeneration != 0) && spec.RequestGeneration != r.Object.Generation {
		return fmt.Sprintf("answers version %d of the request, which is at version %d now", spec.RequestGeneration, r.Object.Generation)
	}
	if !live && spec.RequestResourceVersion != "" && r.Object.ResourceVersion != "" && spec.RequestResourceVersion != r.Object.ResourceVersion {
		return fmt.Sprintf("answers version %s of the request, which is at version %s now", spec.RequestResourceVersion, r.Object.ResourceVersion)
	}
	if spec.Status != v1alpha1.ResponseApproved {
		return ""
	}
	if !live && len(spec.Exceptions) > 0 && !sameRules(spec.Exceptions, r.Object.Spec.Exceptions) {
		return "approves other exceptions than the request asks for"
	}
	if live && (spec.Approver == "" || spec.ApprovalTime == nil) {
		return "does not say who approved it and when; it did not pass through admission"
	}
	if a.Object.Generation > 1 {
		return "was changed after it was made"
	}
	if slices.Contains(r.Object.Spec.Requesters, spec.Approver) && !c.set.rules.AllowsSelfApproval(r.Object) {
		return "was made by " + spec.Approver + ", who asked for it"
	}
	return ""
}

// sameRules reports whether two lists name the same rules.
func sameRules(a, b []v1alpha1.RequestedException) bool {
	names := func(list []v1alpha1.RequestedException) []string {
		var names []string
		for i := range list {
			names = append(names, list[i].PolicyName+"\x00"+strings.Join(list[i].RuleNames, "\x00"))
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	return slices.Equal(names(a), names(b))
}
