package risk

import (
	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// view is the part of a pod that a judgement is about.
type view struct {
	// containers says of each container, by its place in the walk, whether it
	// counts. Nil: all do.
	containers []bool
	// open is set where a container is still to be added that may mount every
	// volume as it likes.
	open bool
}

// viewFor is what a judgement in this scope is about. Where no container of the
// pod is entered, or it is not known which, it is about all of them.
func (a *Assessment) viewFor(scope v1alpha1.RiskScope, in *Input) view {
	v := view{}
	switch in.Subresource {
	case subresourceEphemeral:
		v.open = !a.holdsEphemeral(in.Container)
	case "exec", "attach":
	default:
		// A port or a log is the way to any container.
		return v
	}
	if scope == v1alpha1.ScopeContainer && !a.sharesProcesses && !v.open {
		v.containers = a.reach(in.Container)
	}
	return v
}

// counts reports whether a spot belongs to the view. Ports do always: the network
// is the pod's.
func (v *view) counts(s *spot) bool { return s.factor == HostPort || v.has(s.container) }

func (v *view) has(container int32) bool {
	return container == none || v.containers == nil || v.containers[container]
}

// holdsEphemeral reports whether the pod has an ephemeral container of the name.
func (a *Assessment) holdsEphemeral(name string) bool {
	if name == "" {
		return false
	}
	for c := range a.pod.Containers() {
		if c.Kind == pod.Ephemeral && c.Name == name {
			return true
		}
	}
	return false
}

// reach marks the container of the name and those whose processes it sees: the
// one that it targets, and those that share its target. It returns nil, for all
// containers, where the name does not single out one.
func (a *Assessment) reach(name string) []bool {
	entered, found := a.only(name)
	if !found {
		return nil
	}
	root := name
	if target := a.target(entered); target != "" {
		root = target
		if c, found := a.only(root); !found || c.Kind == pod.Ephemeral {
			return nil
		}
	}
	var marks []bool
	for c := range a.pod.Containers() {
		marks = append(marks, c.Name == name || c.Name == root || a.target(c) == root)
	}
	return marks
}

// only finds the one container of the name.
func (a *Assessment) only(name string) (container pod.Container, found bool) {
	if name == "" {
		return container, false
	}
	for c := range a.pod.Containers() {
		if c.Name != name {
			continue
		}
		if found {
			return container, false
		}
		container, found = c, true
	}
	return container, found
}

// target is the container in whose process namespace an ephemeral container
// runs, if it names one.
func (a *Assessment) target(c pod.Container) string {
	if c.Kind != pod.Ephemeral {
		return ""
	}
	return a.pod.Spec.EphemeralContainers[c.Index].TargetContainerName
}

// sight is what a view shows.
type sight struct {
	factors factorSet
	// added are the known capabilities that are added; unknown is set if others
	// are as well.
	added   capabilitySet
	unknown bool
	// writable and readOnly count the host path volumes.
	writable, readOnly int
}

// see sums up what the view shows of the assessment.
func (a *Assessment) see(v *view) sight {
	var s sight
	for i := range a.spots {
		spot := &a.spots[i]
		if !v.counts(spot) {
			continue
		}
		s.factors.add(spot.factor)
		if spot.factor == Capabilities {
			s.added.add(spot.capability)
			s.unknown = s.unknown || spot.capability == otherCapability
		}
	}
	var room [manyVolumes]use
	uses := a.uses(v, room[:])
	for i := range a.volumes {
		volume := &a.volumes[i]
		f := volume.factors(uses[volume.namesake])
		s.factors |= f
		if f.has(HostPathWritable) {
			s.writable++
		}
		if f.has(HostPathReadOnly) {
			s.readOnly++
		}
	}
	return s
}

// use is what the mounts of a view make of a volume.
type use struct{ mounted, writable, tokenPath, open bool }

// uses returns the use of each volume, at the place of its namesake. room is
// taken for it if it is large enough.
func (a *Assessment) uses(v *view, room []use) []use {
	if len(a.volumes) > len(room) {
		room = make([]use, len(a.volumes))
	}
	room = room[:len(a.volumes)]
	for i := range room {
		room[i].open = v.open
	}
	for i := range a.mounts {
		m := &a.mounts[i]
		if !v.has(m.container) {
			continue
		}
		u := &room[m.volume]
		u.mounted = true
		u.writable = u.writable || m.writable
		u.tokenPath = u.tokenPath || m.tokenPath
	}
	return room
}

// factors are those that the volume has by its use.
func (v *volume) factors(u use) factorSet {
	var s factorSet
	mounted, writable := u.mounted || u.open, u.writable || u.open
	switch {
	case !mounted:
	case v.source == tokenSource, v.source == secretSource && u.tokenPath:
		s.add(ServiceAccountToken)
	case v.source == hostPathSource:
		if writable {
			s.add(HostPathWritable)
		} else {
			s.add(HostPathReadOnly)
		}
		if v.traits.socket {
			s.add(RuntimeSocket)
		}
		if v.traits.sensitive || v.traits.sensitiveWritable && writable {
			s.add(SensitiveHostPath)
		}
	}
	return s
}
