package risk

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// blockedReason names the factors that deny by themselves.
func (v *Verdict) blockedReason() string {
	if len(v.Blocked) == 1 {
		return "Blocked factor detected: " + v.Blocked[0]
	}
	return "Blocked factors detected: " + strings.Join(v.Blocked, ", ")
}

// exceededReason is that of a score above the last threshold.
func (v *Verdict) exceededReason() string {
	last := v.rules.thresholds[len(v.rules.thresholds)-1].most
	return "Risk score " + strconv.Itoa(v.Score) + " exceeds all thresholds (the last is " + strconv.Itoa(last) + ")" + v.because()
}

// thresholdReason is the reason that the policy gives for its threshold i, or
// what follows from the numbers where it gives none.
func (v *Verdict) thresholdReason(i int) string {
	t := &v.rules.thresholds[i]
	reason := ""
	if t.reason != nil {
		// A template cannot fail once it is parsed; if one does, the reason that
		// stands for a missing one is right as well.
		reason, _ = v.reasonValues().render(t.reason)
	}
	if reason == "" {
		reason = v.defaultReason(i)
	}
	if t.action == v1alpha1.ActionRequireApproval {
		// What a policy's own reason says may leave that out.
		reason = strings.TrimRight(reason, ". ") + ". An approval is needed, by a breakglass session: denied"
	}
	return reason
}

func (v *Verdict) reasonValues() reasonValues {
	return reasonValues{
		score: v.Score, factors: strings.Join(v.Factors, ", "),
		pod: v.in.Name, namespace: v.in.Namespace, container: cmp.Or(v.in.ContainerName, v.in.Container),
		user: v.in.User, subresource: v.in.Subresource, cluster: v.in.Cluster,
	}
}

func (v *Verdict) defaultReason(i int) string {
	t := &v.rules.thresholds[i]
	from, to := "0", strconv.Itoa(t.most)
	if i > 0 {
		from = strconv.Itoa(v.rules.thresholds[i-1].most + 1)
	}
	verb := ""
	switch t.action {
	case v1alpha1.ActionAllow:
		return "Risk score " + strconv.Itoa(v.Score) + " is allowed (" + from + " to " + to + " is)"
	case v1alpha1.ActionWarn:
		verb = " is high (" + from + " to " + to + " is allowed with a warning)"
	case v1alpha1.ActionRequireApproval:
		verb = " needs an approval (" + from + " to " + to + " does)"
	default:
		verb = " is denied (" + from + " to " + to + " is)"
	}
	return "Risk score " + strconv.Itoa(v.Score) + verb + v.because()
}

func (v *Verdict) because() string {
	if len(v.Factors) == 0 {
		return ""
	}
	return ". Factors: " + strings.Join(v.Factors, ", ")
}
