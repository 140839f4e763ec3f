package certificate

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// TestWrongClock has replicas whose clocks are wrong, one that leads and one that does not,
// each also started again: nothing that is good is replaced.
func TestWrongClock(t *testing.T) {
	for _, ahead := range []time.Duration{91 * 24 * time.Hour, 20 * 365 * 24 * time.Hour, -365 * 24 * time.Hour, mostAhead + time.Second} {
		for wrong := range 2 {
			w := newWorld(t, 2)
			w.start()
			before, hooks := w.secret(), w.hooks()
			w.replicas[wrong].ahead = ahead
			w.settle()
			w.restart(wrong)
			w.replicas[wrong].ahead = ahead
			w.settle()
			if after := w.secret(); after.ResourceVersion != before.ResourceVersion {
				t.Errorf("%s ahead, replica %d: the Secret was written", ahead, wrong)
			}
			for i, h := range w.hooks() {
				if !bytes.Equal(h.client.CABundle, hooks[i].client.CABundle) {
					t.Errorf("%s ahead, replica %d: %s was written", ahead, wrong, h.String())
				}
			}
			if said := w.replicas[wrong].said(); !strings.Contains(said, "the clock of this replica is") || w.replicas[wrong].failures == 0 {
				t.Errorf("it says %q", said)
			}
			for i, r := range w.replicas {
				if err := r.answers(); err != nil {
					t.Errorf("%s ahead, replica %d: %v", ahead, i, err)
				}
			}
		}
	}
}

// TestSlightlyWrongClock goes by the time of the API server.
func TestSlightlyWrongClock(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	before := w.secret()
	w.replicas[0].ahead = mostAhead
	w.clock.Step(lives.Certificate/3*2 - time.Hour/3*2 - mostAhead)
	w.settle()
	if w.secret().ResourceVersion != before.ResourceVersion {
		t.Error("it was renewed by its own clock")
	}
}

// TestCAToCome signs nothing before it begins, and is replaced.
func TestCAToCome(t *testing.T) {
	w := newWorld(t, 1)
	w.wire(nil)
	names := append([]string{"localhost"}, place.Names()...)
	later, err := selfsigned.NewCA(names, w.clock.Now().Add(1000*24*time.Hour), lives.CA)
	if err != nil {
		t.Fatal(err)
	}
	s := empty("sallyport-system", "sallyport-tls")
	s.Data = map[string][]byte{BundleKey: selfsigned.PEM(later.Certificate), caKey: later.Key, nextCAKey: later.Key}
	w.create(s)
	w.look(0)
	if said := w.replicas[0].said(); !strings.Contains(said, `"next-ca.key"`) || !strings.Contains(said, "is not valid before") {
		t.Errorf("it says %q", said)
	}
	w.settle()
	if err := w.replicas[0].answers(); err != nil || w.replicas[0].served.ca.Equal(later.Certificate) {
		t.Errorf("%v", err)
	}
}

// TestNothingShownIsDroppedByTheClock keeps in caBundles what a Lease says is shown, though
// it be over.
func TestNothingShownIsDroppedByTheClock(t *testing.T) {
	w := newWorld(t, 2)
	w.start()
	shown, err := selfsigned.New(place.Names(), w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	ca, err := selfsigned.Certificates(shown.CA)
	if err != nil {
		t.Fatal(err)
	}
	w.replicas[1].says = new(fingerprint(ca[0]))
	if _, _, err := w.replicas[0].put(t.Context(), w.hooks(), ca, true); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(2 * selfsigned.Validity)
	for range 4 {
		w.replicas[0].look(t.Context())
	}
	for _, h := range w.hooks() {
		if !holds(h.cas, ca[0]) {
			t.Errorf("%s does not trust it any more", h.String())
		}
	}
}

// TestClocks reads how far off the clock is from the answers of the API server.
func TestClocks(t *testing.T) {
	c := &Clocks{Clock: clocktesting.NewFakePassiveClock(began)}
	date := ""
	through := c.Wrap(answers(func() *http.Response { return &http.Response{Header: http.Header{"Date": {date}}} }))
	for _, step := range []struct {
		date string
		want time.Duration
	}{
		{"", 0}, {began.Add(-time.Hour).Format(http.TimeFormat), time.Hour}, {"nonsense", time.Hour}, {began.Add(time.Minute).Format(http.TimeFormat), -time.Minute}, {began.Format(http.TimeFormat), 0},
	} {
		date = step.date
		if _, err := through.RoundTrip(&http.Request{}); err != nil {
			t.Fatal(err)
		}
		if got := c.Ahead(); got != step.want {
			t.Errorf("%q: %s ahead, want %s", date, got, step.want)
		}
	}
}

type answers func() *http.Response

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return a(), nil }

// create makes the Secret as somebody else would.
func (w *world) create(s *corev1.Secret) {
	w.Helper()
	w.stamp(s)
	if err := w.client.Tracker().Add(s); err != nil {
		w.Fatal(err)
	}
}
