package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// Read answers a read that passed the gate, with JSON that is shared and not to
// be changed. It comes from the copy if the resource is held, else, and where the
// policy asks for no cache, from the API server. A single object that the copy
// does not have is looked for there as well: it may be newer than the copy. What
// cannot be read is an error, never an empty answer.
func (i *Inventory) Read(ctx context.Context, a *contextgate.Admitted) ([]byte, error) {
	read, ok := a.Request.(*hostcall.Read)
	if !ok || a.View == nil {
		return nil, errors.New("something that reads no objects was asked of the copies of them")
	}
	ctx, cancel := context.WithTimeout(ctx, i.ReadTimeout)
	defer cancel()
	reading := Reading{Resource: a.Resource, Verb: a.Operation.Verb(), Namespace: a.View.Namespace(), Name: a.View.Name()}
	answer, err := i.read(ctx, a, read, &reading)
	if err != nil {
		if errors.Is(err, contextgate.ErrHidden) {
			return nil, err
		}
		return nil, explain(err, a)
	}
	reading.At = i.Clock.Now()
	Record(ctx, reading)
	return answer, nil
}

func (i *Inventory) read(ctx context.Context, a *contextgate.Admitted, read *hostcall.Read, reading *Reading) ([]byte, error) {
	c := i.find(a.Resource)
	if c == nil || read.DisableCache {
		return i.direct(ctx, a, reading)
	}
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	var answer []byte
	var err error
	if read.Operation == hostcall.GetResource {
		o := c.get(a.View.Namespace(), a.View.Name())
		if o == nil {
			return i.direct(ctx, a, reading)
		}
		reading.Objects = 1
		answer, err = show(a, o)
	} else {
		answer, reading.Objects, err = c.list(a.View, i.MaxAnswer)
	}
	reading.Age = c.age()
	return answer, err
}

func show(a *contextgate.Admitted, o *object) ([]byte, error) {
	mask, shown, hidden := a.View.Show(o)
	switch {
	case hidden:
		return nil, contextgate.ErrHidden
	case !shown:
		return nil, contextgate.NotFound(a)
	case mask == nil:
		return o.json, nil
	}
	return mask.Append(nil, o.json)
}

// get finds an object.
func (c *replica) get(namespace, name string) *object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.objects[namespace+"/"+name]
}

// ready waits until the copy is whole. It does not wait for what waiting will not
// change, and does not show a copy of what the server may not read any more.
func (c *replica) ready(ctx context.Context) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		c.mu.RLock()
		err, full := c.err, c.full
		c.mu.RUnlock()
		if full || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-c.synced:
			return nil
		case <-ctx.Done():
			if err == nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("it has not been read as a whole yet: %w", err)
		case <-c.ended:
			return errNoHolder
		case <-poll.C:
		}
	}
}

// direct asks the API server.
func (i *Inventory) direct(ctx context.Context, a *contextgate.Admitted, reading *Reading) ([]byte, error) {
	reading.Direct = true
	r := a.Resource
	if a.View.Name() != "" {
		data, err := i.client.read(ctx, i.client.request(r, a.View.Namespace(), a.View.Name()), i.MaxAnswer)
		if err != nil {
			return nil, err
		}
		o, err := parse(data, r.APIVersion(), r.Kind)
		if err != nil {
			return nil, err
		}
		reading.Objects = 1
		return show(a, o)
	}
	out := head(nil, r)
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := i.client.page(ctx, r, a.View.Namespace(), &options, i.MaxAnswer)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Items {
			o := o.(*object) //nolint:forcetypeassert // page makes them
			mask, shown, _ := a.View.Show(o)
			if !shown {
				continue
			}
			part, err := mask.Append(nil, o.json)
			if err != nil {
				return nil, err
			}
			if out = item(out, part, reading.Objects); int64(len(out)) > i.MaxAnswer {
				return nil, &TooLarge{Limit: i.MaxAnswer}
			}
			reading.Objects++
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return append(out, `]}`...), nil
		}
	}
}

// explain says what could not be read, and, where it is for missing rights, what
// is missing.
func explain(err error, a *contextgate.Admitted) error {
	switch {
	case apierrors.IsNotFound(err) && a.View.Name() != "" && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		// Not so where the API server does not know the path: then it is the resource
		// that is gone, and nobody knows which objects it had.
		return contextgate.NotFound(a)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s cannot be read: the service account of the server may not get, list and watch them; a ClusterRole has to allow it: %w", a.Resource, err)
	}
	return fmt.Errorf("%s cannot be read: %w", a.Resource, err)
}
