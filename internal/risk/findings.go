package risk

import (
	"slices"
	"strconv"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/pod"
)

// Explain lists every place that holds one of the verdict's factors: by factor,
// in the order of Factors, then by its place in the pod.
func (v *Verdict) Explain() []decision.Finding {
	a := v.in.Assessment
	e := explainer{
		verdict:    v,
		pod:        a.pod,
		containers: slices.Collect(a.pod.Containers()),
		uses:       a.uses(&v.view, nil),
	}
	counted := v.rules.weighed | v.rules.blocked
	for f := range numFactors {
		if f == Capabilities {
			e.capabilities()
			continue
		}
		if !counted.has(f) {
			continue
		}
		if f == PowerfulServiceAccount {
			e.powers()
			continue
		}
		e.spots(f)
		e.volumes(f)
	}
	return e.findings
}

type explainer struct {
	verdict    *Verdict
	pod        *pod.Pod
	containers []pod.Container
	uses       []use
	findings   []decision.Finding
}

func (e *explainer) add(path, value, detail string) {
	e.findings = append(e.findings, decision.Finding{Path: path, Value: value, Detail: detail})
}

// standing says of a factor what the policy does with it: "hostPID, weight 70".
func (e *explainer) standing(f Factor) string {
	text := f.String()
	if e.verdict.rules.blocked.has(f) {
		text += ", blocked"
	}
	if weight := e.verdict.rules.weights[f]; weight > 0 {
		text += ", weight " + strconv.Itoa(weight)
	}
	return text
}

// spots explains a factor of the pod or of containers. What several containers
// inherit is one field, and one finding.
func (e *explainer) spots(f Factor) {
	a := e.verdict.in.Assessment
	inherited := false
	for i := range a.spots {
		s := &a.spots[i]
		if s.factor != f || !e.verdict.view.counts(s) {
			continue
		}
		if s.origin == podField || s.origin == podAnnotation {
			if inherited {
				continue
			}
			inherited = true
		}
		path, value, what := e.place(s)
		e.add(path, value, e.standing(f)+": "+what)
	}
}

func (e *explainer) capabilities() {
	a, rules := e.verdict.in.Assessment, e.verdict.rules
	for i := range a.spots {
		s := &a.spots[i]
		if s.factor != Capabilities || !e.verdict.view.counts(s) {
			continue
		}
		standing := ""
		switch {
		case s.capability == capAll && e.verdict.caps != 0:
			standing = Capabilities.String() + ": adds every capability"
		case s.capability == otherCapability && rules.blocked.has(Capabilities):
			standing = Capabilities.String() + ", blocked: adds a capability"
		case s.capability != otherCapability && e.verdict.caps.has(s.capability):
			standing = capabilityFactors[s.capability]
			if rules.blocked.has(Capabilities) || rules.blockedCaps.has(s.capability) {
				standing += ", blocked"
			}
			if weight := rules.capabilityWeights[s.capability]; weight > 0 {
				standing += ", weight " + strconv.Itoa(weight)
			}
			standing += ": adds a capability"
		default:
			continue
		}
		c := e.containers[s.container]
		e.add(e.pod.ContainerPath(c, "securityContext.capabilities.add["+strconv.Itoa(int(s.item))+"]"),
			string(c.SecurityContext.Capabilities.Add[s.item]), standing)
	}
}

func (e *explainer) powers() {
	for _, power := range e.verdict.in.Powers {
		e.add(e.pod.FieldPath("spec.serviceAccountName"), e.pod.Spec.ServiceAccountName,
			e.standing(PowerfulServiceAccount)+": the service account "+power)
	}
}

// volumes explains a factor of volumes: one finding a volume, at what it holds.
func (e *explainer) volumes(f Factor) {
	a := e.verdict.in.Assessment
	for i := range a.volumes {
		v := &a.volumes[i]
		if !v.factors(e.uses[v.namesake]).has(f) {
			continue
		}
		source := &e.pod.Spec.Volumes[v.index]
		path := e.pod.FieldPath("spec.volumes[" + strconv.Itoa(int(v.index)) + "]")
		detail := e.standing(f) + ": " + volumeDetail[f] + ", " + e.mounted(v, f == HostPathWritable)
		switch v.source {
		case hostPathSource:
			e.add(path+".hostPath.path", source.HostPath.Path, detail)
		case tokenSource:
			e.add(path+".projected.sources["+strconv.Itoa(tokenIndex(source.Projected))+"].serviceAccountToken", "", detail)
		case secretSource:
			e.add(path+".secret.secretName", source.Secret.SecretName, detail)
		}
	}
}

var volumeDetail = map[Factor]string{
	HostPathWritable:    "a writable path of the node",
	HostPathReadOnly:    "a path of the node",
	RuntimeSocket:       "the socket of a container runtime, or a directory that holds one",
	SensitiveHostPath:   "a path that gives the node away",
	ServiceAccountToken: "a token of the service account",
}

// mounted says where the volume is mounted in the view: at the first place, and
// at how many more. If writable is set, places that only read do not count.
func (e *explainer) mounted(v *volume, writable bool) string {
	a := e.verdict.in.Assessment
	first, more := "", 0
	for i := range a.mounts {
		m := &a.mounts[i]
		if m.volume != v.namesake || !e.verdict.view.has(m.container) || writable && !m.writable || v.source == secretSource && !m.tokenPath {
			continue
		}
		if first != "" {
			more++
			continue
		}
		first = e.pod.ContainerPath(e.containers[m.container], "volumeMounts["+strconv.Itoa(int(m.item))+"]")
	}
	switch {
	case first == "":
		return "which the container that is added may mount"
	case more > 0:
		return "mounted at " + first + " and " + strconv.Itoa(more) + " more"
	}
	return "mounted at " + first
}
