package server

import (
	"container/list"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Whom the front door answers.
const (
	// CallersAuthenticated: those who show credentials.
	CallersAuthenticated = "authenticated"
	// CallersNetwork: also those who show none, by where they ask from. What they ask may be
	// made up: see request.Request.Unauthenticated.
	CallersNetwork = "network"
)

// Bounds of those who show no credentials, beside DefaultCallerRate.
const (
	// callerBurst is for how many seconds an address may ask at once what it may ask in them.
	callerBurst = 2
	// callersInAll is how many addresses may ask together as often as each may.
	callersInAll = 4
	// callersKept is how many addresses are told apart: about 1 MiB.
	callersKept = 4096
	// strangersShare is the part of the room for requests that they have, beside that of
	// the others, and addressShare the part of it that one address has.
	strangersShare, addressShare = 2, 2
)

// DefaultCallerRate is how many reviews a second an address may send: more than the API
// server of a large cluster does.
const DefaultCallerRate = 200

// mostCallerRate bounds what may be given in its place.
const mostCallerRate = 100_000

// strangers are the callers that show no credentials. A nil strangers answers none.
type strangers struct {
	// networks are those that they have to ask from; none: from anywhere.
	networks []netip.Prefix
	room     *capacity
	now      func() time.Time
	each     rate.Limit
	// most is how many requests of an address may be under way.
	most int

	mu     sync.Mutex
	all    *rate.Limiter
	byAddr map[netip.Addr]*list.Element
	// order holds *stranger, the one that asked last in front.
	order *list.List
}

// stranger is an address.
type stranger struct {
	addr     netip.Addr
	limit    *rate.Limiter
	underway int
}

// newStrangers is nil where whoever shows no credentials gets no answer.
func newStrangers(o *Options) (*strangers, error) {
	if o.Callers != CallersNetwork {
		return nil, nil
	}
	networks, err := parseNetworks(o.CallerNetworks)
	if err != nil {
		return nil, err
	}
	places := max(1, o.MaxConcurrent/strangersShare)
	each := rate.Limit(o.CallerRate)
	return &strangers{
		networks: networks, room: newCapacity(places, largeMemory/strangersShare), now: o.Now, each: each, most: max(1, places/addressShare),
		all: rate.NewLimiter(callersInAll*each, callersInAll*callerBurst*o.CallerRate), byAddr: map[netip.Addr]*list.Element{}, order: list.New(),
	}, nil
}

// parseNetworks reads networks as --caller-networks has them.
func parseNetworks(given []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range given {
		network, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--caller-networks is %q; a network such as 10.0.0.0/28 or 10.0.0.5/32 is expected", text)
		case network.Addr().Is4In6():
			return nil, fmt.Errorf("--caller-networks is %q; write a network of IPv4 as such, like 10.0.0.0/28", text)
		case network != network.Masked():
			return nil, fmt.Errorf("--caller-networks is %q, an address within a network; write %s for the network, or %s/%d for the address", text, network.Masked(), network.Addr(), network.Addr().BitLen())
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// errElsewhere is why somebody who shows nothing gets no answer.
var (
	errElsewhere = fmt.Errorf("%w; without either, only those are answered who ask from the networks of --caller-networks", errUnauthenticated)
	errSideDoor  = fmt.Errorf("%w; without either, only the front door answers, whatever --callers says", errUnauthenticated)
)

// let lets a caller in who may not be authenticated, for the reason err, or returns why not.
func (s *strangers) let(at request.Door, r *http.Request, err error) (caller, error) {
	switch {
	case s == nil || !errors.Is(err, errNothingShown):
		return caller{}, err
	case at != request.Admission:
		return caller{}, errSideDoor
	}
	from, ok := addressOf(r)
	if !ok || !s.within(from) {
		return caller{}, errElsewhere
	}
	return caller{unauthenticated: true, from: from}, nil
}

// addressOf is the other end of the connection, and nothing that a header says.
func addressOf(r *http.Request) (netip.Addr, bool) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return from.Addr().Unmap().WithZone(""), err == nil
}

func (s *strangers) within(from netip.Addr) bool {
	for _, network := range s.networks {
		if network.Contains(from) {
			return true
		}
	}
	return len(s.networks) == 0
}

// enter takes a place for a review of an address; leave gives it back. why is for the
// metric, and set with an error.
func (s *strangers) enter(from netip.Addr, r *http.Request, wait time.Duration) (leave func(), why string, err error) {
	left, why, err := s.count(from)
	if err != nil {
		return nil, why, err
	}
	out, err := s.room.enter(r, wait)
	if err != nil {
		left()
		return nil, record.BeyondRoom, err
	}
	return func() { out(); left() }, "", nil
}

// count counts a review of an address. What is beyond the bound of the address takes
// nothing from others.
func (s *strangers) count(from netip.Addr) (left func(), why string, err error) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.find(bounded(from))
	switch {
	case one.underway >= s.most:
		return nil, record.BeyondAddress, overloaded("%d requests of one address are being judged that shows no credentials, and no more are accepted at once", s.most)
	case !one.limit.AllowN(now, 1):
		return nil, record.BeyondAddress, overloaded("an address that shows no credentials may ask %v times a second (serve --caller-rate)", float64(s.each))
	case !s.all.AllowN(now, 1):
		return nil, record.BeyondAll, overloaded("those that show no credentials may together ask %v times a second (%d times serve --caller-rate)", float64(s.all.Limit()), callersInAll)
	}
	one.underway++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.underway--
	}, "", nil
}

// find finds an address, and forgets the one that asked longest ago where there are many.
// Its requests that are under way are bounded by the room then.
func (s *strangers) find(addr netip.Addr) *stranger {
	if e, ok := s.byAddr[addr]; ok {
		s.order.MoveToFront(e)
		return e.Value.(*stranger)
	}
	if s.order.Len() >= callersKept {
		last := s.order.Back()
		s.order.Remove(last)
		delete(s.byAddr, last.Value.(*stranger).addr)
	}
	one := &stranger{addr: addr, limit: rate.NewLimiter(s.each, callerBurst*int(s.each))}
	s.byAddr[addr] = s.order.PushFront(one)
	return one
}

// bounded is what counts as one address: of IPv6, a host has all that begin alike.
func bounded(addr netip.Addr) netip.Addr {
	if addr.Is4() {
		return addr
	}
	network, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return network.Addr()
}
