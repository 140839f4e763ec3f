package risk

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
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
		places:     a.places(&v.view),
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
	places     []mountPlaces
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

// capabilities explains those that are added; ALL counts for every one that the
// verdict names.
func (e *explainer) capabilities() {
	a, blocksAny := e.verdict.in.Assessment, e.verdict.rules.blocked.has(Capabilities)
	every := e.everyCapability()
	for i := range a.spots {
		s := &a.spots[i]
		if s.factor != Capabilities || !e.verdict.view.counts(s) {
			continue
		}
		detail := ""
		switch {
		case s.capability == otherCapability:
			if blocksAny {
				detail = e.standing(Capabilities) + ": adds a capability"
			}
		case s.capability == capAll:
			detail = every
		case e.verdict.caps.has(s.capability):
			detail = e.capabilityStanding(s.capability) + ": adds a capability"
		}
		if detail == "" {
			continue
		}
		c := e.containers[s.container]
		e.add(e.pod.ContainerPath(c, "securityContext.capabilities.add["+strconv.Itoa(int(s.item))+"]"),
			string(c.SecurityContext.Capabilities.Add[s.item]), detail)
	}
}

// everyCapability is the detail of ALL: the standing of all that it counts for.
// It is empty where it counts for nothing.
func (e *explainer) everyCapability() string {
	var standings []string
	for c := range numCapabilities {
		if e.verdict.caps.has(c) {
			standings = append(standings, e.capabilityStanding(c))
		}
	}
	if len(standings) == 0 {
		return ""
	}
	return strings.Join(standings, "; ") + ": adds every capability"
}

// capabilityStanding is the standing of a capability.
func (e *explainer) capabilityStanding(c capability) string {
	text, rules := capabilityFactors[c], e.verdict.rules
	if rules.blocked.has(Capabilities) || rules.blockedCaps.has(c) {
		text += ", blocked"
	}
	if weight := rules.capabilityWeights[c]; weight > 0 {
		text += ", weight " + strconv.Itoa(weight)
	}
	return text
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
	places := &e.places[v.namesake]
	at := &places.all
	switch {
	case v.source == secretSource:
		at = &places.token
	case writable:
		at = &places.writable
	}
	if at.count == 0 {
		return "which the container that is added may mount"
	}
	text := "mounted at " + e.pod.ContainerPath(e.containers[at.first.container], "volumeMounts["+strconv.Itoa(int(at.first.item))+"]")
	if at.count > 1 {
		text += " and " + strconv.Itoa(at.count-1) + " more"
	}
	return text
}

// mountPlaces are the places at which volumes of one name are mounted: all of
// them, those that can write and those where tokens are looked for.
type mountPlaces struct{ all, writable, token countedMount }

// countedMount is the first of some mounts, and their number.
type countedMount struct {
	first *mount
	count int
}

func (c *countedMount) add(m *mount) {
	if c.first == nil {
		c.first = m
	}
	c.count++
}

// places returns the places in the view for each volume, by its namesake.
func (a *Assessment) places(v *view) []mountPlaces {
	places := make([]mountPlaces, len(a.volumes))
	for i := range a.mounts {
		m := &a.mounts[i]
		if !v.has(m.container) {
			continue
		}
		p := &places[m.volume]
		p.all.add(m)
		if m.writable {
			p.writable.add(m)
		}
		if m.tokenPath {
			p.token.add(m)
		}
	}
	return places
}
