package workflow

import "time"

// Where there are so many exceptions that a look at all of them takes long, they are
// looked at less often. Without a change, looking takes one part in restShare of the
// time, and what ends by itself says so after longestRest at the latest. Of many
// changes one after another, looking takes one part in changeShare, and what became of
// an exception is said longestPace later at the latest.
const (
	restShare   = 400
	longestRest = 2 * time.Minute
	changeShare = 4
	longestPace = 2 * time.Second
)

// schedule is how often exceptions are looked at.
type schedule struct {
	// changed is set where something has changed that was not looked at.
	changed bool
	// rested is until when they are not looked at without a change, and paced until
	// when not at all.
	rested, paced time.Time
}

// due reports whether they are to be looked at now.
func (p *schedule) due(now time.Time) bool {
	return !now.Before(p.paced) && (p.changed || !now.Before(p.rested))
}

// wait is after what time a change is looked at.
func (p *schedule) wait(now time.Time) time.Duration { return max(p.paced.Sub(now), 0) }

// looked notes how long a look took.
func (p *schedule) looked(began, ended time.Time) {
	took := ended.Sub(began)
	p.changed = false
	p.rested = ended.Add(min(took*restShare, longestRest))
	p.paced = ended.Add(min(took*changeShare, longestPace))
}

// failed has them looked at again without a change.
func (p *schedule) failed(began time.Time) { p.rested = began }
