package standard

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// scan is one walk over a pod: what the controls read and report to.
type scan struct {
	pod  *pod.Pod
	spec *corev1.PodSpec
	// step is the index of the one that judges at the moment.
	step int
	hits []hit
}

// hit is a finding and the index of the step that reported it.
type hit struct {
	step    int
	finding decision.Finding
}

// scans are reused: controls are called through pointers, so that a scan on the
// stack would move to the heap, once for each pod.
var scans = sync.Pool{New: func() any { return new(scan) }}

// keptHits bounds the memory that a reused scan holds on to.
const keptHits = 256

// over walks a pod and judges it by every step.
func (s *scan) over(subject *pod.Pod, p *plan) {
	s.pod, s.spec = subject, subject.Spec
	// A step beyond the width of the mask cannot be excused, and is stricter
	// for that.
	var excused uint64
	for i := range p.steps {
		s.step = i
		c := p.steps[i].control
		switch {
		case c == nil:
			s.askLibrary(&p.steps[i])
		case c.unless != nil && c.unless(subject.Spec):
			excused |= 1 << i
		case c.pod != nil:
			c.pod(s)
		}
	}
	for container := range subject.Containers() {
		for i := range p.containers {
			c := &p.containers[i]
			if excused&(1<<c.index) != 0 {
				continue
			}
			s.step = c.index
			c.judge(s, container)
		}
	}
}

// violations puts together what the steps reported, in the order of the steps;
// nil if that is nothing.
func (s *scan) violations(p *plan) []Violation {
	if len(s.hits) == 0 {
		return nil
	}
	slices.SortStableFunc(s.hits, func(a, b hit) int { return cmp.Compare(a.step, b.step) })
	steps := 1
	for i := 1; i < len(s.hits); i++ {
		if s.hits[i].step != s.hits[i-1].step {
			steps++
		}
	}
	violations := make([]Violation, 0, steps)
	findings := make([]decision.Finding, len(s.hits))
	for start, end := 0, 0; start < len(s.hits); start = end {
		index := s.hits[start].step
		for end = start; end < len(s.hits) && s.hits[end].step == index; end++ {
			findings[end] = s.hits[end].finding
		}
		// The capacity ends with the group, so that appending to one violation
		// cannot write into the next.
		violations = append(violations, p.steps[index].violation(s.pod, findings[start:end:end]))
	}
	return violations
}

// release gives the scan back, without what it held of the pod.
func (s *scan) release() {
	hits := s.hits[:0]
	if cap(hits) > keptHits {
		hits = nil
	}
	clear(s.hits)
	*s = scan{hits: hits}
	scans.Put(s)
}

// askLibrary judges by a check that no control reads. It cannot name the field.
func (s *scan) askLibrary(unread *step) {
	result := unread.library(s.pod.Meta, s.pod.Spec)
	if result.Allowed {
		return
	}
	detail := result.ForbiddenDetail
	if detail == "" {
		detail = result.ForbiddenReason
	}
	s.field("spec", "", detail)
}

// field reports a field that is given relative to the pod.
func (s *scan) field(field, value, detail string) {
	s.report(s.pod.FieldPath(field), value, detail)
}

// inContainer reports a field that is given relative to a container.
func (s *scan) inContainer(c pod.Container, field, value, detail string) {
	s.report(s.pod.ContainerPath(c, field), value, detail)
}

// annotation reports an annotation of the pod.
func (s *scan) annotation(key, detail string) {
	s.field("metadata.annotations["+key+"]", s.pod.Meta.Annotations[key], detail)
}

func (s *scan) report(path, value, detail string) {
	s.hits = append(s.hits, hit{s.step, decision.Finding{Path: path, Value: value, Detail: detail}})
}

// annotations returns the keys of the annotations that are bad, sorted.
func (s *scan) annotations(bad func(key, value string) bool) []string {
	var keys []string
	for key, value := range s.pod.Meta.Annotations {
		if bad(key, value) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// isTrue reports whether an optional field is set, and to true.
func isTrue(b *bool) bool { return b != nil && *b }

// isFalse reports whether an optional field is set, and to false.
func isFalse(b *bool) bool { return b != nil && !*b }
