package risk

import (
	"math/bits"
	"slices"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Input is one access to one pod.
type Input struct {
	// Pod that is entered, and what is known of it. Without an Assessment, Judge
	// makes one; give it where several policies judge the same pod.
	Pod        *pod.Pod
	Assessment *Assessment
	// Container that is entered, or that is added by ephemeralcontainers; empty
	// where it is not known.
	Container string
	// ContainerName is what the reason calls the container; Container if empty.
	ContainerName string
	// Subresource as a policy names it: exec, or nodes/proxy.
	Subresource string
	// Namespace and Name of the pod, User and Cluster as the reason names them.
	Namespace, Name, User, Cluster string
	// Powers say what makes the pod's service account powerful, one sentence
	// each. They are needed if NeedsPowers.
	Powers []string
}

// Verdict is what rules say of an access.
type Verdict struct {
	Action v1alpha1.RiskAction
	// Score is the sum of the weights, if Scored: a block list scores nothing.
	Score  int
	Scored bool
	// Threshold is the place of the threshold that was reached, -1 where a block
	// factor or a score above all thresholds decided.
	Threshold int
	// Factors are those that the pod has and the policy weighs or blocks, in the
	// order of RiskFactors; those that it does neither with do not speak against
	// the pod. Blocked are those among them that deny whatever the score is.
	Factors, Blocked []string
	// Findings are the places of the Factors. They are given where the access is
	// not allowed as it is; Explain gives them always.
	Findings []decision.Finding
	// Reason says in words what decided; users read it.
	Reason string

	rules *Rules
	in    Input
	view  view
	// caps are the capabilities among the Factors.
	caps capabilitySet
}

// Judge judges an access that no exemption is for: block factors first, then the
// score against the thresholds.
func (r *Rules) Judge(in Input) Verdict {
	if in.Assessment == nil {
		in.Assessment = Assess(in.Pod)
	}
	v := Verdict{Action: v1alpha1.ActionAllow, Threshold: -1, rules: r, in: in}
	v.view = in.Assessment.viewFor(r.scope, &in)
	s := in.Assessment.see(&v.view)
	if len(in.Powers) > 0 {
		s.factors.add(PowerfulServiceAccount)
	}
	if s.added.has(capAll) {
		s.added |= r.weighedCaps | r.blockedCaps
	}

	s.added &^= r.exemptCaps
	v.caps = s.added & (r.weighedCaps | r.blockedCaps)
	blockedCaps := s.added & r.blockedCaps
	if r.blocked.has(Capabilities) {
		v.caps, blockedCaps = s.added, s.added
	}
	v.Factors = names(s.factors&(r.weighed|r.blocked), v.caps, s.unknown)
	v.Blocked = names(s.factors&r.blocked, blockedCaps, s.unknown)
	if len(r.thresholds) > 0 {
		v.Scored, v.Score = true, r.score(&s)
	}
	v.decide()
	if v.Action != v1alpha1.ActionAllow {
		v.Findings = v.Explain()
	}
	return v
}

// score is the sum of the weights of what is seen: host paths once a volume,
// capabilities once a name, everything else once.
func (r *Rules) score(s *sight) int {
	sum := s.writable*r.weights[HostPathWritable] + s.readOnly*r.weights[HostPathReadOnly]
	once := s.factors & r.weighed &^ (1<<HostPathWritable | 1<<HostPathReadOnly)
	for ; once != 0; once &= once - 1 {
		sum += r.weights[bits.TrailingZeros32(uint32(once))]
	}
	for caps := s.added & r.weighedCaps; caps != 0; caps &= caps - 1 {
		sum += r.capabilityWeights[bits.TrailingZeros64(uint64(caps))]
	}
	return sum
}

// names lists factors, with the capabilities in place of Capabilities.
// Capabilities that are not known go by that name together, so that a pod cannot
// make up names that are counted by.
func names(found factorSet, caps capabilitySet, unknownCaps bool) []string {
	single := found &^ (1 << Capabilities)
	n := bits.OnesCount32(uint32(single)) + caps.len()
	other := found.has(Capabilities) && unknownCaps
	if other {
		n++
	}
	if n == 0 {
		return nil
	}
	list := make([]string, 0, n)
	for f := range numFactors {
		switch {
		case f == Capabilities:
			if other {
				list = append(list, f.String())
			}
			for ; caps != 0; caps &= caps - 1 {
				list = append(list, capabilityFactors[bits.TrailingZeros64(uint64(caps))])
			}
		case single.has(f):
			list = append(list, f.String())
		}
	}
	return list
}

// decide sets Action, Threshold and Reason.
func (v *Verdict) decide() {
	switch {
	case len(v.Blocked) > 0:
		v.Action, v.Reason = v1alpha1.ActionDeny, v.blockedReason()
		return
	case !v.Scored:
		v.Reason = "No blocked factor found"
		return
	}
	i := v.rules.thresholdOf(v.Score)
	if i < 0 {
		v.Action, v.Reason = v1alpha1.ActionDeny, v.exceededReason()
		return
	}
	v.Action, v.Threshold, v.Reason = v.rules.thresholds[i].action, i, v.thresholdReason(i)
}

// thresholdOf is the index of the threshold that a score falls under; -1 where it is
// above all of them, which denies.
func (r *Rules) thresholdOf(score int) int {
	return slices.IndexFunc(r.thresholds, func(t threshold) bool { return score <= t.most })
}

// Worse reports whether v leads to more than other does, or to the same with a
// higher score.
func (v *Verdict) Worse(other *Verdict) bool {
	if a, b := severity(v.Action), severity(other.Action); a != b {
		return a > b
	}
	return v.Score > other.Score
}

func severity(action v1alpha1.RiskAction) int {
	switch action {
	case v1alpha1.ActionAllow:
		return 0
	case v1alpha1.ActionWarn:
		return 1
	case v1alpha1.ActionRequireApproval:
		return 2
	default:
		return 3
	}
}
