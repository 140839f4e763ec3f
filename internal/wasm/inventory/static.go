package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// Given is an object that stands in a file.
type Given struct {
	Kind schema.GroupVersionKind
	JSON []byte
}

// Static answers reads from objects that were given once, such as those of files.
// It is not changed once it is made.
type Static struct {
	kinds map[schema.GroupKind]*given
	now   func() time.Time
}

// given are the objects of one kind, in the order of their names.
type given struct {
	version string
	objects []*object
}

// NewStatic makes a Static. Kinds are known from their objects, and those in none
// of whom there is one. now is the clock.
func NewStatic(objects []Given, none []schema.GroupVersionKind, now func() time.Time) (*Static, error) {
	s := &Static{kinds: map[schema.GroupKind]*given{}, now: now}
	of := func(kind schema.GroupVersionKind) (*given, error) {
		known := s.kinds[kind.GroupKind()]
		if known == nil {
			known = &given{version: kind.Version}
			s.kinds[kind.GroupKind()] = known
		}
		if known.version != kind.Version {
			return nil, fmt.Errorf("the files hold %s in the versions %s and %s, and nothing converts between them; write all of them in one", kind.GroupKind(), known.version, kind.Version)
		}
		return known, nil
	}
	for _, kind := range none {
		if _, err := of(kind); err != nil {
			return nil, err
		}
	}
	for i := range objects {
		kind := objects[i].Kind
		known, err := of(kind)
		if err != nil {
			return nil, err
		}
		apiVersion, name := kind.ToAPIVersionAndKind()
		o, err := parse(objects[i].JSON, apiVersion, name)
		if err != nil {
			return nil, err
		}
		known.objects = append(known.objects, o)
	}
	for _, known := range s.kinds {
		slices.SortStableFunc(known.objects, func(a, b *object) int {
			return slices.Compare([]string{a.GetNamespace(), a.GetName()}, []string{b.GetNamespace(), b.GetName()})
		})
	}
	return s, nil
}

// Read answers a read that passed the gate. A kind of which the files hold nothing
// is an error: that there is none of it cannot be known.
func (s *Static) Read(ctx context.Context, a *contextgate.Admitted) ([]byte, error) {
	read, ok := a.Request.(*hostcall.Read)
	if !ok || a.View == nil {
		return nil, errors.New("something that reads no objects was asked of the objects of files")
	}
	r := a.Resource
	known := s.kinds[schema.GroupKind{Group: r.Group, Kind: r.Kind}]
	switch {
	case known == nil:
		return nil, fmt.Errorf("%s cannot be read: the files hold none, and there is no cluster to ask; add those that there are, or an empty list of the kind %sList if there are none", r, r.Kind)
	case known.version != r.Version:
		return nil, fmt.Errorf("%s cannot be read in the version %s: the files hold them in %s, and nothing converts between them", r, r.Version, known.version)
	}
	reading := Reading{Resource: r, Verb: a.Operation.Verb(), Namespace: a.View.Namespace(), Name: a.View.Name(), At: s.now()}
	var answer []byte
	if read.Operation == hostcall.GetResource {
		i := slices.IndexFunc(known.objects, func(o *object) bool {
			return o.GetNamespace() == a.View.Namespace() && o.GetName() == a.View.Name()
		})
		if i < 0 {
			return nil, contextgate.NotFound(a)
		}
		var err error
		if answer, err = show(a, known.objects[i]); err != nil {
			return nil, err
		}
		reading.Objects = 1
	} else {
		answer = head(nil, r)
		for _, o := range known.objects {
			mask, shown, _ := a.View.Show(o)
			if !shown {
				continue
			}
			part, err := mask.Append(nil, o.json)
			if err != nil {
				return nil, err
			}
			answer = item(answer, part, reading.Objects)
			reading.Objects++
		}
		answer = append(answer, `]}`...)
	}
	Record(ctx, reading)
	return answer, nil
}
