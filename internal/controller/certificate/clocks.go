package certificate

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clocks compares the clock of this replica with that of the API server, by the time that
// it writes into its answers.
type Clocks struct {
	Clock clock.PassiveClock

	mu    sync.Mutex
	ahead time.Duration
}

// Wrap is a transport whose answers are looked at.
func (c *Clocks) Wrap(next http.RoundTripper) http.RoundTripper { return dated{next, c} }

// Ahead is how far the clock was ahead at the last answer, less than nothing where it was
// behind; 0 where no answer said a time.
func (c *Clocks) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead
}

type dated struct {
	next http.RoundTripper
	*Clocks
}

// RoundTrip sends a request, and notes the time of the answer.
func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		d.mu.Lock()
		d.ahead = d.Clock.Now().Sub(date)
		d.mu.Unlock()
	}
	return response, nil
}

// WrappedRoundTripper is what closes the connections.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }
