package follow

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// stands is how long a watch that says nothing has to stand before it counts as fed:
// what there was to say when it began has come by then. That it begins says nothing, as
// a proxy may take each watch and end it at once.
const stands = time.Second

// few is how many watches in a row may bring nothing before all is listed again.
const few = 3

// silent is how many watches that brought nothing one counts for that was not even ended
// at the time that it was asked to end at. Each takes long.
const silent = 2

// errEnded is why a watch is begun again that ended at once.
var errEnded = errors.New("the API server ends each watch before it has said anything")

// errUnexplained is why a watch is begun again that ended before it was known what
// its events were about.
var errUnexplained = errors.New("objects were deleted, and whether their kind is being taken away is not known yet")

// stood notes that a watch has stood long enough. Nothing may have changed meanwhile, so
// it says nothing of what came later than it began.
func (w *stream) stood() {
	if w.spoke {
		return
	}
	w.source.heard(w.began)
	w.again.reset()
}

// ended goes on after a watch that has ended.
func (w *stream) ended() bool {
	now := w.source.Clock.Now()
	inTurn := now.Sub(w.began) >= w.source.asked()
	if inTurn && len(w.held) == 0 {
		w.fruitless = 0
	}
	switch {
	case len(w.held) > 0:
		// They come again, from the last version that was handed on.
		return w.reopen(errUnexplained)
	case w.spoke:
		return w.reopen(nil)
	case inTurn, now.Sub(w.opened) >= stands:
		w.stood()
		return w.reopen(nil)
	}
	return w.broughtNothing(errEnded, 1)
}

// failed goes on after a watch that has ended by an error. The next one begins at the
// same version, and may come to the same error.
func (w *stream) failed(event *watch.Event) bool {
	err := apierrors.FromObject(event.Object)
	switch {
	case expired(err):
		return w.tooOld(event)
	case momentary(err):
		return w.reopen(err)
	}
	return w.broughtNothing(err, 1)
}

// broughtNothing goes on after a watch that counts for some that brought nothing: with
// another from the same version, or from a list where there were a few.
func (w *stream) broughtNothing(why error, count int) bool {
	if !w.stuck(count) {
		return w.reopen(why)
	}
	w.source.broke(why)
	return w.tooOld(&watch.Event{Type: watch.Error, Object: &stuckBy(why).ErrStatus})
}

// stuck counts watches that brought nothing, and reports whether all has to be listed
// again. Where that does not help, it is done as often as the API server has to be heard
// of, so that what changes is known by lists.
func (w *stream) stuck(count int) bool {
	w.fruitless += count
	return w.fruitless >= few && w.source.Clock.Since(w.relisted) >= w.source.beginAgain()
}

func stuckBy(why error) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf("several watches in a row have brought nothing: %s", why))
}
