// Package regodata gives policies in Rego what they may read of the cluster: all
// objects of the resources that they were granted, as one document. Each resource
// is read through the gate for each evaluation, so that what is not granted is
// denied and reported as it is for every other policy; the document is made again
// only where an answer is another one than before.
package regodata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// Data is the data of one policy. Make one with New.
type Data struct {
	gateOf    func(context.Context) (*contextgate.Gate, error)
	policy    *contextgate.Policy
	mode      wasm.RegoMode
	resources []contextgate.Grant

	mu     sync.Mutex
	begun  uint64
	made   uint64
	latest *document
}

var _ wasm.ContextData = (*Data)(nil)

// New makes the data of a policy. The resources are those that it was granted,
// and those that its module declares: one that is declared and was not granted is
// an error of each evaluation, for Rego cannot tell what was withheld from what is
// not there, and most policies are content with what is not there.
func New(gate *contextgate.Gate, policy *contextgate.Policy, mode wasm.RegoMode, resources ...contextgate.Grant) *Data {
	return NewOf(func(context.Context) (*contextgate.Gate, error) { return gate, nil }, policy, mode, resources...)
}

// NewOf is New where which gate it is depends on the evaluation, as each cluster has
// its own.
func NewOf(gateOf func(context.Context) (*contextgate.Gate, error), policy *contextgate.Policy, mode wasm.RegoMode, resources ...contextgate.Grant) *Data {
	return &Data{gateOf: gateOf, policy: policy, mode: mode, resources: slices.Clone(resources)}
}

// document is what was made of some answers.
type document struct {
	answers []answer
	json    json.RawMessage
	version string
	// begun is the number of the call that it was made for.
	begun uint64
}

// answer is the list of one resource, as the gate gave it.
type answer struct {
	resource contextgate.Resource
	list     []byte
}

// same reports whether two answers are the same bytes. Answers that did not change
// are shared, so that most are told by where they are.
func (a answer) same(b answer) bool {
	if a.resource != b.resource || len(a.list) != len(b.list) {
		return false
	}
	return len(a.list) == 0 || &a.list[0] == &b.list[0] || string(a.list) == string(b.list)
}

// Data reads the resources and returns the document with its version.
func (d *Data) Data(ctx context.Context) (json.RawMessage, string, error) {
	begun := d.begin()
	answers, err := d.read(ctx)
	if err != nil {
		return nil, "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.latest; l != nil && (l.begun > begun || slices.EqualFunc(l.answers, answers, answer.same)) {
		return l.json, l.version, nil
	}
	text, err := layOut(d.mode, answers)
	if err != nil {
		return nil, "", err
	}
	d.made++
	d.latest = &document{answers: answers, json: text, version: strconv.FormatUint(d.made, 10), begun: begun}
	return text, d.latest.version, nil
}

func (d *Data) begin() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun++
	return d.begun
}

// read lists each resource once, in the order of version and kind.
func (d *Data) read(ctx context.Context) ([]answer, error) {
	var answers []answer
	var errs []error
	if len(d.resources) == 0 {
		return nil, nil
	}
	gate, err := d.gateOf(ctx)
	if err != nil {
		return nil, err
	}
	for i := range d.resources {
		r, err := d.resolve(ctx, gate, &d.resources[i])
		if err != nil {
			errs = append(errs, err)
		} else if !slices.ContainsFunc(answers, func(a answer) bool { return a.resource == r }) {
			answers = append(answers, answer{resource: r})
		}
	}
	slices.SortFunc(answers, func(a, b answer) int {
		return slices.Compare([]string{a.resource.APIVersion(), a.resource.Kind}, []string{b.resource.APIVersion(), b.resource.Kind})
	})
	for i := range answers {
		var err error
		if answers[i].list, err = d.list(ctx, gate, answers[i].resource.APIVersion(), answers[i].resource.Kind); err != nil {
			errs = append(errs, err)
		}
	}
	return answers, errors.Join(errs...)
}

func (d *Data) list(ctx context.Context, gate *contextgate.Gate, apiVersion, kind string) ([]byte, error) {
	return gate.Read(ctx, d.policy, &hostcall.Read{Operation: hostcall.ListAll, APIVersion: apiVersion, Kind: kind})
}

// resolve finds the resource of a grant.
func (d *Data) resolve(ctx context.Context, gate *contextgate.Gate, g *contextgate.Grant) (contextgate.Resource, error) {
	apiVersion, kind := g.Version, g.Kind
	if g.Group != "" {
		apiVersion = g.Group + "/" + g.Version
	}
	if kind == "" {
		kind = g.Resource
	}
	r, err := gate.Mapper.Resolve(ctx, apiVersion, kind)
	if err == nil {
		return r, nil
	}
	// The gate words it, and tells the administrator of it.
	if _, denied := d.list(ctx, gate, apiVersion, kind); denied != nil {
		return r, denied
	}
	return r, fmt.Errorf("which resource %s %s is, is not known: %w", apiVersion, kind, err)
}
