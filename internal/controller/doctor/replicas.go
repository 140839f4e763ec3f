package doctor

import (
	"context"
	"time"

	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
)

var ofReplicas = []check{
	{"Replicas", "replicas.answering", (*looking).answering, false},
	{"Replicas", "replicas.leader", (*looking).leads, false},
	{"Replicas", "replicas.agree", (*looking).agree, false},
	{"Clock", "clock.replicas", (*looking).clocks, false},
	{"Clock", "clock.here", (*looking).clockHere, false},
}

// now is the time at the API server, as far as it is known.
func (l *looking) now() time.Time { return l.Clock.Now().Add(l.ahead()) }

// ahead is how far the clock of the API server is ahead of the one here.
func (l *looking) ahead() time.Duration {
	if l.answered.IsZero() {
		return 0
	}
	if ahead := l.answered.Sub(l.began.Truncate(time.Second)); ahead.Abs() > slow {
		return ahead
	}
	return 0
}

// slow is what the API server may take to answer, and be cut off of its seconds; it says
// nothing of a clock.
const slow = 3 * time.Second

const noReplica = "no replica is heard of: there is no Lease with the label sallyport.io/replica-of=%s in %s or kube-system that was renewed in time"

func (l *looking) answering(ctx context.Context, s *says) {
	heard, err := l.replicas(ctx)
	if err != nil {
		s.unknown("whether replicas answer is not known", err)
		return
	}
	ready := 0
	for _, h := range heard {
		if h.Ready {
			ready++
			continue
		}
		s.warn("replica "+h.Identity, "", "GET /readyz of it, with the credentials of a caller, names what it does not know; its log says why.", "it is not ready, and refuses what it is asked")
	}
	switch {
	case len(heard) == 0:
		s.problem("", "", "Look at the pods (kubectl -n "+l.Namespace+" get pods) and their logs. While none answers, the API server refuses what it would ask; sallyport doctor --repair says the way out.", noReplica, l.Name, l.Namespace)
	case ready == 0:
		s.problem("", "", "GET /readyz names what is not known. sallyport doctor --repair says the way out.", "no replica is ready: everything that is asked is refused")
	case len(heard) == 1:
		s.warn("", "", "Run two or three (replicas of the chart).", "there is only one replica: while it moves to another node, everything that is asked is refused")
	}
	s.ok("%d replicas answer", ready)
}

func (l *looking) leads(ctx context.Context, s *says) {
	leases, err := l.allLeases(ctx)
	if err != nil {
		s.unknown("which replica leads is not known", err)
		return
	}
	for i := range leases {
		lease := &leases[i]
		if lease.Name != leader.LeaseName {
			continue
		}
		object := "Lease " + lease.Namespace + "/" + lease.Name
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		const hint = "No status, no webhook and no session is written meanwhile. The log of the replicas says what keeps them from it; rights.missing whether it is a right."
		switch {
		case holder == "":
			s.problem(object, "spec.holderIdentity", hint, "no replica leads")
		case lease.Spec.RenewTime == nil || l.now().Sub(lease.Spec.RenewTime.Time) > leaderLate:
			s.problem(object, "spec.renewTime", hint, "the replica %s led last and renews no more", holder)
		}
		s.ok("%s leads", holder)
		return
	}
	if len(leases) == 0 {
		s.unknown("which replica leads is not known", errNoLease)
		return
	}
	s.problem("Lease "+leader.LeaseName, "", "The log of the replicas says what keeps them from it.", "no replica has ever led")
}

// leaderLate is how late a Lease may be renewed that is renewed several times a second.
const leaderLate = 20 * time.Second

func (l *looking) agree(ctx context.Context, s *says) {
	heard, err := l.replicas(ctx)
	switch {
	case err != nil:
		s.unknown("whether replicas agree is not known", err)
		return
	case len(heard) == 0:
		s.unknown("whether replicas agree is not known", errNoLease)
		return
	}
	for _, h := range heard {
		for _, trouble := range h.Troubles {
			s.problem("replica "+h.Identity, "", "The condition Enforced of the object says what is missing.", "it cannot do what %s", trouble)
		}
		if h.Observes != heard[0].Observes {
			s.problem("replica "+h.Identity, "", "Start all with the same --mode (mode of the chart).", "some replicas refuse and others only observe")
		}
		if !h.Same(heard[0]) {
			s.warn("replica "+h.Identity, "", "Look again in a few seconds: it may be behind. If it stays, look at its log.", "it has other objects in force than %s", heard[0].Identity)
		}
	}
	if len(s.found) == 0 && heard[0].Observes {
		s.warn("", "", "Start with --mode enforce once the records show what is to be refused.", "Sallyport only observes: it records what it would refuse, and lets it in")
	}
	s.ok("all replicas have the same in force")
}

// clocks compares the clocks of replicas with that of the API server, which notes when it
// wrote a Lease.
func (l *looking) clocks(ctx context.Context, s *says) {
	heard, err := l.replicas(ctx)
	if err != nil {
		s.unknown("the clocks of replicas are not known", err)
		return
	}
	known := 0
	for _, h := range heard {
		skew, is := h.Skew()
		if !is {
			continue
		}
		known++
		const hint = "Have the nodes keep time (NTP). Exceptions and sessions begin and end by the clock of the replica that judges."
		switch {
		case skew.Abs() > workflow.ClockSkew:
			s.problem("replica "+h.Identity, "", hint, "its clock is %s from that of the API server; more than %s keeps approvals from counting", skew, workflow.ClockSkew)
		case skew.Abs() > workflow.ClockSkew/6:
			s.warn("replica "+h.Identity, "", hint, "its clock is %s from that of the API server", skew)
		}
	}
	if known == 0 {
		s.unknown("the clocks of replicas are not known", errNoLease)
		return
	}
	s.ok("the clocks of replicas and of the API server agree")
}

func (l *looking) clockHere(_ context.Context, s *says) {
	if ahead := l.ahead(); ahead != 0 {
		s.warn("", "", "Set the clock of this machine; the days that certificates have left are counted by that of the API server.", "the clock of this machine is %s from that of the API server", -ahead)
	}
	s.ok("the clocks of this machine and of the API server agree")
}
