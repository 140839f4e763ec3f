package follow

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// maxHeld bounds the events that wait until it is known why objects were deleted.
const maxHeld = 1024

// stream is a watch that goes on whatever happens to its connections. It ends where
// the cache has to be filled again.
type stream struct {
	source  *source
	options metav1.ListOptions
	out     chan watch.Event
	ctx     context.Context //nolint:containedctx // the life of the watch, not of a call
	cancel  context.CancelFunc

	// What follows is used only by run.
	inner  watch.Interface
	hangUp context.CancelFunc
	// began is when it was asked for, and opened when the API server took it.
	began, opened time.Time
	// standing is over once it has stood for as long as it has to, without a word.
	standing clock.Timer
	spoke    bool
	held     []watch.Event
	asked    int
	verdicts chan verdict
	// again is the pause before the next try, and fruitless how many watches in a row have
	// brought nothing.
	again     *retry
	fruitless int
	// holds is what the cache holds, unless it was filled by a watch before this one, and
	// relisted when all was listed again last.
	holds    *holding
	relisted time.Time
}

// WatchWithContext watches from a version of the resource on.
func (s *source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if s.part.Load() {
		return nil, apierrors.NewResourceExpired("the list was not read to its end")
	}
	seconds := int64(s.asked() / time.Second)
	options.TimeoutSeconds, options.AllowWatchBookmarks = &seconds, true
	w := &stream{source: s, options: options, out: make(chan watch.Event), again: s.retry(), holds: s.holds}
	s.holds = nil
	w.ctx, w.cancel = context.WithCancel(ctx)
	if err := w.open(nil); err != nil {
		w.cancel()
		return nil, err
	}
	go w.run()
	return w, nil
}

// Stop ends the watch.
func (w *stream) Stop() { w.cancel() }

// ResultChan gives the events.
func (w *stream) ResultChan() <-chan watch.Event { return w.out }

// open opens a connection, in as many tries as it takes. broken is why the last one
// ended, if that was out of turn. What open returns is an error after which all has
// to be listed again, or that of the context.
func (w *stream) open(broken error) error {
	if broken != nil {
		w.source.broke(broken)
	}
	for failed := broken != nil; ; failed = true {
		if failed && !w.again.wait(w.ctx) {
			return w.ctx.Err()
		}
		err := w.try(failed)
		if err == nil || expired(err) || w.ctx.Err() != nil {
			return err
		}
		w.source.failed(err)
	}
}

// try opens a connection once. After a failure the kind is looked at first: events
// of one that was made again are not those of the one before.
func (w *stream) try(failed bool) error {
	s := w.source
	if failed {
		d, err := s.Kind.read(w.ctx)
		switch {
		case err != nil:
			return err
		case s.Kind != nil && d.UID != s.uid.Load():
			return apierrors.NewResourceExpired("the kind was made again")
		}
		if err := w.ahead(); err != nil {
			return s.Kind.explain(w.ctx, err)
		}
	}
	began := s.Clock.Now()
	ctx, hangUp := context.WithCancel(w.ctx)
	waiting := s.Clock.AfterFunc(s.answerIn(), hangUp)
	inner, err := s.inner.WatchWithContext(ctx, w.options)
	late := !waiting.Stop()
	if err == nil && late {
		inner.Stop()
	}
	if late && w.ctx.Err() == nil {
		err = &noAnswer{s.answerIn()}
	}
	if err != nil {
		hangUp()
		if (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)) && w.stuck(1) {
			return stuckBy(err)
		}
		return s.Kind.explain(w.ctx, err)
	}
	w.inner, w.hangUp, w.spoke = inner, hangUp, false
	w.began, w.opened, w.standing = began, s.Clock.Now(), s.Clock.NewTimer(stands)
	s.answered()
	if asOf := s.asOf.Swap(nil); asOf != nil {
		s.heard(*asOf)
	}
	return nil
}

func (w *stream) close() {
	w.inner.Stop()
	w.hangUp()
	w.standing.Stop()
	w.held, w.asked, w.verdicts = nil, 0, nil
}

// run hands on what comes.
func (w *stream) run() {
	defer close(w.out)
	defer w.cancel()
	defer func() { w.close() }()
	silence := w.source.Clock.NewTimer(w.source.silence())
	defer silence.Stop()
	for {
		events := w.inner.ResultChan()
		if len(w.held) >= maxHeld {
			events = nil
		}
		var goOn bool
		select {
		case <-w.ctx.Done():
			return
		case <-silence.C():
			goOn = w.broughtNothing(&noAnswer{w.source.silence()}, silent)
		case <-w.standing.C():
			w.stood()
			continue
		case v := <-w.verdicts:
			goOn = w.judge(v)
		case event, ok := <-events:
			goOn = w.take(event, ok)
		}
		if !goOn {
			return
		}
		if !silence.Stop() {
			select {
			case <-silence.C():
			default:
			}
		}
		silence.Reset(w.source.silence())
	}
}

// take takes an event, and reports whether there can be more.
func (w *stream) take(event watch.Event, ok bool) bool {
	switch {
	case !ok:
		return w.ended()
	case event.Type == watch.Error:
		return w.failed(&event)
	}
	w.spoke = true
	if len(w.held) == 0 && !w.doubtful(event) {
		return w.hand(event)
	}
	w.held = append(w.held, event)
	if w.verdicts == nil {
		w.ask()
	}
	return true
}

// reopen opens a connection in place of the one that there is.
func (w *stream) reopen(broken error) bool {
	w.close()
	err := w.open(broken)
	if err == nil {
		return true
	}
	w.inner, w.hangUp = watch.NewEmptyWatch(), func() {}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && expired(err) {
		said := status.Status()
		return w.tooOld(&watch.Event{Type: watch.Error, Object: &said})
	}
	return false
}

// tooOld goes on where everything has to be listed again. event is what says so to
// whoever watches, if that is left to him: he waits in between, which is right where it
// has to be done again and again.
func (w *stream) tooOld(event *watch.Event) bool {
	if w.holds == nil || w.source.Clock.Since(w.relisted) < longestPause {
		w.send(*event)
		return false
	}
	w.close()
	w.inner, w.hangUp = watch.NewEmptyWatch(), func() {}
	if !w.relist() {
		return false
	}
	w.relisted = w.source.Clock.Now()
	return w.reopen(nil)
}

// doubtful reports whether an event may be one that is not to be handed on.
func (w *stream) doubtful(event watch.Event) bool {
	return event.Type == watch.Deleted && w.source.Kind != nil
}

// hand hands an event on, and notes that everything up to now was heard.
func (w *stream) hand(event watch.Event) bool {
	passed, hold := w.passing(event), w.hold(event)
	if !w.send(event) {
		return false
	}
	hold()
	passed()
	return true
}

// passing reads what is needed to go on from an event, and returns what does. Once an
// event was handed on, its object belongs to the cache, which takes out of it what it
// does not hold: reading it then would end the process.
func (w *stream) passing(event watch.Event) (passed func()) {
	version := ""
	if object, err := meta.Accessor(event.Object); err == nil {
		version = object.GetResourceVersion()
	}
	return func() {
		if version != "" && version != w.options.ResourceVersion {
			w.options.ResourceVersion, w.fruitless = version, 0
		}
		w.again.reset()
		w.source.heard(w.source.Clock.Now())
	}
}

func (w *stream) send(event watch.Event) bool {
	select {
	case w.out <- event:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// verdict is why objects were deleted.
type verdict struct {
	definition Definition
	err        error
}

// ask asks why the objects were deleted whose events are held: one question for all
// that have come by now.
func (w *stream) ask() {
	w.asked = len(w.held)
	if w.source.leaving.Load() || !slices.ContainsFunc(w.held, w.doubtful) {
		w.verdicts = make(chan verdict, 1)
		w.verdicts <- verdict{definition: Definition{UID: w.source.uid.Load().(string), Leaving: w.source.leaving.Load()}}
		return
	}
	answer := make(chan verdict, 1)
	w.verdicts = answer
	go func() {
		again := w.source.retry()
		for {
			d, err := w.source.Kind.read(w.ctx)
			if err == nil || errors.Is(err, errGone) || w.ctx.Err() != nil {
				answer <- verdict{d, err}
				return
			}
			w.source.failed(err)
			if !again.wait(w.ctx) {
				return
			}
		}
	}()
}

// judge deals with the events that a verdict is about. Those of objects that were
// deleted with their kind are not handed on: the cache keeps them.
func (w *stream) judge(v verdict) bool {
	s := w.source
	switch {
	case w.ctx.Err() != nil:
		return false
	case errors.Is(v.err, errGone), v.definition.Leaving:
		if !s.leaving.Swap(true) {
			s.Log.Info("the kind is being taken away; what was read of it last stays in force", "definition", s.Kind.Name)
			s.Fact.Failed(reason(errLeaving))
		}
	case v.definition.UID != s.uid.Load():
		return w.tooOld(&watch.Event{Type: watch.Error, Object: &apierrors.NewResourceExpired("the kind was made again").ErrStatus})
	}
	ready := w.held[:w.asked]
	w.held, w.asked, w.verdicts = w.held[w.asked:], 0, nil
	for _, event := range ready {
		if s.leaving.Load() && w.doubtful(event) {
			w.passing(event)()
		} else if !w.hand(event) {
			return false
		}
	}
	if len(w.held) > 0 {
		w.ask()
	}
	return true
}
