// Package contextgate is the one gate between a policy and everything outside of
// it: objects of the cluster, questions about rights, registries, the network.
// Whatever the runtime, each read passes Gate.Admit or Gate.AdmitRead, which are
// the same way with two entrances. What is not granted is denied.
//
// The gate judges before a payload is read: a call that does not exist, a policy
// that may have nothing, an operation that is not granted end there. Of the
// payload of a read, only the apiVersion and the kind are looked at, to say what
// was denied, or until the resource is known to be granted.
package contextgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// Denied is a call that was not granted. It is the error that the guest sees, and
// what the administrator is told.
type Denied struct {
	// Policy is the policy as Kind/name or Kind/namespace/name.
	Policy string
	// Resource is the resource as plural.group, or the operation for what is not
	// a resource of the cluster. A resource that the cluster does not serve is given
	// as kind.group, as it was asked for.
	Resource string
	Verb     string
	// Why says what was found and what would be right.
	Why string
	At  time.Time
}

// Error is the text that the guest gets.
func (d *Denied) Error() string {
	return fmt.Sprintf("%s may not %s %s: %s; this was reported to the administrator", d.Policy, d.Verb, d.Resource, d.Why)
}

// ErrHidden is the error of a Backend for an object that is there and that no
// grant covers, which shows only once it is read.
var ErrHidden = errors.New("the object is not among those that were granted")

// Admitted is a call that passed the gate.
type Admitted struct {
	Policy    *Policy
	Operation hostcall.Operation
	Request   hostcall.Request
	// Resource and View are set for reads: what is read, and which part of it the
	// policy may see.
	Resource Resource
	View     *View
}

// Backend answers calls that passed the gate, with the bytes that the guest gets.
// They may be shared, and are not to be changed.
type Backend interface {
	Answer(ctx context.Context, admitted *Admitted) ([]byte, error)
}

// Gate is the gate. All fields are needed but Report and Now.
type Gate struct {
	Mapper  Mapper
	Backend Backend
	// Report is told of each call that is denied, at once, whatever the policy
	// makes of the error. The context is that of the call.
	Report func(context.Context, Denied)
	// Now is time.Now where it is not set.
	Now func() time.Time
}

// Through is the gate itself. What hands one on has the same method.
func (g *Gate) Through() *Gate { return g }

// Call judges a call of a policy, and answers it if it is granted. A call that is
// not is a *Denied.
func (g *Gate) Call(ctx context.Context, policy *Policy, call hostcall.Call) ([]byte, error) {
	admitted, err := g.Admit(ctx, policy, call)
	if err != nil {
		return nil, err
	}
	return g.answer(ctx, admitted)
}

// Read is Call for runtimes whose reads are not bytes.
func (g *Gate) Read(ctx context.Context, policy *Policy, read *hostcall.Read) ([]byte, error) {
	admitted, err := g.AdmitRead(ctx, policy, read)
	if err != nil {
		return nil, err
	}
	return g.answer(ctx, admitted)
}

func (g *Gate) answer(ctx context.Context, a *Admitted) ([]byte, error) {
	answer, err := g.Backend.Answer(ctx, a)
	if errors.Is(err, ErrHidden) {
		g.report(ctx, a.Policy, a.Resource.String(), a.Operation.Verb(), err.Error())
		// The guest gets what it would get if there were no such object, or it could
		// find out what there is by asking.
		return nil, NotFound(a)
	}
	return answer, err
}

// ErrNotFound is what the error of NotFound is, as errors.Is has it.
var ErrNotFound = errors.New("not found")

// NotFound is the error of a read of an object that is not there.
func NotFound(a *Admitted) error {
	read, ok := a.Request.(*hostcall.Read)
	if !ok {
		return ErrNotFound
	}
	name := read.Name
	if read.Namespace != "" {
		name = read.Namespace + "/" + name
	}
	return fmt.Errorf("%s %q %w", a.Resource, name, ErrNotFound)
}

// Admit judges a call. See Call.
func (g *Gate) Admit(ctx context.Context, policy *Policy, call hostcall.Call) (*Admitted, error) {
	operation, err := call.Find()
	if err != nil {
		// A call that nobody knows is not granted either.
		return nil, g.deny(ctx, policy, clip(call.Namespace+"/"+call.Operation), "call", err.Error())
	}
	return g.pass(ctx, policy, operation,
		func() (string, string, error) { return hostcall.Peek(call.Payload) },
		func() (hostcall.Request, error) { return hostcall.Decode(operation, call.Payload) })
}

// AdmitRead judges a read that was made by the host itself for a policy.
func (g *Gate) AdmitRead(ctx context.Context, policy *Policy, read *hostcall.Read) (*Admitted, error) {
	if !read.Operation.Reads() {
		return nil, g.deny(ctx, policy, clip(string(read.Operation)), "call", "this is not an operation that reads objects")
	}
	return g.pass(ctx, policy, read.Operation,
		func() (string, string, error) { return read.APIVersion, read.Kind, nil },
		func() (hostcall.Request, error) { return read, nil })
}

// pass is what every call goes through. The payload is only touched by peek and
// decode.
func (g *Gate) pass(ctx context.Context, policy *Policy, operation hostcall.Operation,
	peek func() (apiVersion, kind string, err error), decode func() (hostcall.Request, error),
) (*Admitted, error) {
	a := &Admitted{Policy: policy, Operation: operation}
	if why := policy.mayCall(operation); why != "" {
		return nil, g.deny(ctx, policy, wanted(operation, peek), operation.Verb(), why)
	}
	if !operation.Reads() {
		var err error
		a.Request, err = decode()
		return a, err
	}
	apiVersion, kind, err := peek()
	if err != nil {
		return nil, err
	}
	if a.Resource, err = g.Mapper.Resolve(ctx, apiVersion, kind); err != nil {
		var unserved *Unserved
		if errors.As(err, &unserved) {
			return nil, g.deny(ctx, policy, unserved.name(), operation.Verb(), err.Error())
		}
		return nil, fmt.Errorf("%s may not be judged: which resource %s %s is, is not known: %w", operation, apiVersion, clip(kind), err)
	}
	grants := policy.granted(a.Resource)
	if len(grants) == 0 {
		return nil, g.deny(ctx, policy, a.Resource.String(), operation.Verb(), policy.lacks(a.Resource))
	}
	if a.Request, err = decode(); err != nil {
		return nil, err
	}
	read, ok := a.Request.(*hostcall.Read)
	if !ok {
		return nil, fmt.Errorf("%s was decoded into something that reads nothing", operation)
	}
	var why string
	if a.View, why, err = narrow(grants, a.Resource, read); err != nil {
		return nil, err
	}
	if why != "" {
		return nil, g.deny(ctx, policy, a.Resource.String(), operation.Verb(), why)
	}
	return a, nil
}

// wanted names what a call that is denied was about: the administrator wants to
// know that it was Secrets. Which resource that is in the cluster does not matter
// any more, so nobody is asked.
func wanted(operation hostcall.Operation, peek func() (apiVersion, kind string, err error)) string {
	if !operation.Reads() {
		return string(operation)
	}
	apiVersion, kind, err := peek()
	if err != nil {
		return string(operation)
	}
	resource, err := Guess{}.Resolve(context.Background(), apiVersion, kind)
	if err != nil {
		return string(operation)
	}
	return clip(resource.String())
}

func (g *Gate) deny(ctx context.Context, policy *Policy, resource, verb, why string) error {
	return g.report(ctx, policy, resource, verb, why)
}

func (g *Gate) report(ctx context.Context, policy *Policy, resource, verb, why string) *Denied {
	now := time.Now
	if g.Now != nil {
		now = g.Now
	}
	d := Denied{Policy: policy.String(), Resource: resource, Verb: verb, Why: why, At: now()}
	if g.Report != nil {
		g.Report(ctx, d)
	}
	return &d
}

func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "..."
	}
	return s
}

// Missing says what of the declared resources a policy was not granted, a line
// each. What the cluster does not serve is said as well.
func (g *Gate) Missing(ctx context.Context, policy *Policy, declared []Grant) []string {
	var missing []string
	for i := range declared {
		d := &grant{Grant: declared[i]}
		resource, err := d.resolve(ctx, g.Mapper)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", d, err))
		} else if !policy.mayHaveContext() || len(policy.granted(resource)) == 0 {
			missing = append(missing, fmt.Sprintf("%s: the module reads it, and the policy was not granted it", resource))
		}
	}
	return missing
}
