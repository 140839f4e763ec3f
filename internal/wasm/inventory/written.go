package inventory

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
)

// maxWritten bounds how many answers are kept of one resource.
const maxWritten = 32

// written is what was written out of a copy for one view. Of an object that did
// not change, the part is used again when another one does.
type written struct {
	generation uint64
	used       uint64
	parts      map[string]fragment
	answer     []byte
	objects    int
	bytes      int64
}

// fragment is what a view shows of one object; json is nil if that is nothing.
type fragment struct {
	of   *object
	json []byte
}

// fragmentOverhead is what a fragment takes beside its bytes, as an estimate.
const fragmentOverhead = 96

// list answers a list of a view from the copy.
func (c *replica) list(view *contextgate.View, limit int64) (answer []byte, objects int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses++
	old := c.written[view.Key()]
	if old != nil && old.generation == c.generation {
		old.used = c.uses
		return old.answer, old.objects, nil
	}
	w, err := c.write(view, old, limit)
	if err != nil {
		return nil, 0, err
	}
	c.keep(view.Key(), old, w)
	return w.answer, w.objects, nil
}

func (c *replica) write(view *contextgate.View, old *written, limit int64) (*written, error) {
	if c.order == nil {
		c.order = slices.Sorted(maps.Keys(c.objects))
	}
	w := &written{generation: c.generation, used: c.uses, parts: make(map[string]fragment, len(c.objects))}
	size := 256
	for _, key := range c.order {
		o := c.objects[key]
		var part fragment
		if old != nil {
			part = old.parts[key]
		}
		if part.of != o {
			part = fragment{of: o}
			if mask, shown, _ := view.Show(o); shown {
				var err error
				if part.json, err = mask.Append(nil, o.json); err != nil {
					return nil, err
				}
				part.json = slices.Clip(part.json)
			}
		}
		w.parts[key] = part
		w.bytes += int64(len(part.json)) + fragmentOverhead
		if size += len(part.json) + 1; int64(size) > limit {
			return nil, &TooLarge{Limit: limit}
		}
	}
	w.answer = head(make([]byte, 0, size), c.resource)
	for _, key := range c.order {
		if part := w.parts[key].json; part != nil {
			w.answer = item(w.answer, part, w.objects)
			w.objects++
		}
	}
	w.answer = append(w.answer, `]}`...)
	w.bytes += int64(cap(w.answer))
	return w, nil
}

// keep keeps an answer in place of an older one, unless there is no room for
// it: it can be written again, and the copy cannot.
func (c *replica) keep(key string, old, w *written) {
	if old != nil {
		delete(c.written, key)
		c.grow(-old.bytes)
	}
	for len(c.written) >= maxWritten {
		oldest := ""
		for key, w := range c.written {
			if oldest == "" || w.used < c.written[oldest].used {
				oldest = key
			}
		}
		c.grow(-c.written[oldest].bytes)
		delete(c.written, oldest)
	}
	if c.full || c.memory.used.Load()+w.bytes > c.memory.limit {
		return
	}
	c.written[key] = w
	c.bytes += w.bytes
	c.memory.take(w.bytes)
}

// head begins a list.
func head(out []byte, r contextgate.Resource) []byte {
	out = append(out, `{"apiVersion":`...)
	out, _ = jsontext.AppendQuote(out, r.APIVersion())
	out = append(out, `,"kind":`...)
	out, _ = jsontext.AppendQuote(out, r.Kind+"List")
	return append(out, `,"metadata":{},"items":[`...)
}

func item(out, part []byte, before int) []byte {
	if before > 0 {
		out = append(out, ',')
	}
	return append(out, part...)
}
