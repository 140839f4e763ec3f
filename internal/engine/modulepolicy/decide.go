package modulepolicy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// Modules runs the modules of policies. *guest.Host is one.
type Modules interface {
	// Hosts reports whether a policy is run here, and not by the PolicyServer that it
	// names. That changes as servers come and go.
	Hosts(p *runner.Policy) bool
	// Judge asks the module of a policy about an AdmissionRequest. calls answers what
	// the module asks meanwhile, and may be nil.
	Judge(ctx context.Context, p *runner.Policy, request json.RawMessage, calls runner.Caller) (wasm.Response, error)
	// Status says what became of a policy that is in force.
	Status(p *runner.Policy) (runner.Info, error)
	// Try finds out what would become of a policy that is not in force.
	Try(ctx context.Context, p *runner.Policy) (runner.Info, error)
}

// JudgeModules appends what the modules say of the request.
func (s *Set) JudgeModules(c *call.Call, results []decision.Result) []decision.Result {
	s.Modules.About(c.Request.Resource.Resource, func(p *Policy) {
		if (s.Runs(p) || p.StandsFor() != nil) && !(c.Request.Background && !p.Rule.Background) {
			results = p.decide(c, s.Runner, results)
		}
	})
	return results
}

// Runs reports whether a policy is judged here, and not by a PolicyServer.
func (s *Set) Runs(p *Policy) bool {
	return s.Runner == nil || s.Runner.Hosts(p.Guest)
}

func (p *Policy) decide(c *call.Call, modules Modules, results []decision.Result) []decision.Result {
	if p.StandsFor() != nil && (stored.Spared(c.Request) || p.Wide && stored.Beside(c.Request)) {
		return results
	}
	ok, err := p.Applies(c, modules)
	base := p.Rule.Base(c, clusterpolicy.Direct)
	switch {
	case err != nil:
		return append(results, p.Rule.Unjudged(base, fmt.Errorf("whether the policy is about this: %w", c.Runs().Error(err))))
	case !ok:
		return results
	case p.StandsFor() != nil:
		return p.answerBroken(base, results)
	}
	ctx, recorder := contexthost.WithRecorder(c.Runs().Within(c.Ctx))
	response, err := p.Ask(ctx, c, modules)
	base.Context = c.SafeContext(recorder.Context())
	if err = c.Runs().Error(err); err == nil {
		c.MakeSafe(&response)
		base.Warnings, base.Annotations = response.Warnings, response.AuditAnnotations
		err = p.conclude(c, &base, &response)
	}
	switch {
	case err != nil:
		return append(results, p.Rule.Unjudged(base, err))
	case base.Status == decision.Fail:
		base = clusterpolicy.Excuse(c, p.Rule, base)
		base.WouldDeny = base.Status == decision.Fail && base.Action != decision.Enforce && !response.Accepted
	}
	return append(results, base)
}

// Ask has the module judge the request.
func (p *Policy) Ask(ctx context.Context, c *call.Call, modules Modules) (wasm.Response, error) {
	if modules == nil {
		return wasm.Response{}, ErrNoModules
	}
	asked, err := AdmissionRequest(c)
	if err != nil {
		return wasm.Response{}, err
	}
	if c.Request.Host == nil && c.Request.Elsewhere {
		return modules.Judge(ctx, p.Guest, asked, Elsewhere{})
	}
	return modules.Judge(ctx, p.Guest, asked, c.Request.Host)
}

// Elsewhere answers for a cluster that policies do not read: what they would get from
// another one must not decide.
type Elsewhere struct{}

// Call answers with an error.
func (Elsewhere) Call(context.Context, *contextgate.Policy, hostcall.Call) ([]byte, error) {
	return nil, ErrUnread
}

// conclude makes a result of what the module answered.
func (p *Policy) conclude(c *call.Call, result *decision.Result, response *wasm.Response) error {
	if !response.Accepted {
		result.Status, result.Code = decision.Fail, int(response.Code)
		result.Message = response.Message
		if p.Rule.Message != "" {
			if result.Message = p.Rule.Message; response.Message != "" {
				result.Findings = []decision.Finding{{Detail: response.Message}}
			}
		}
		if result.Message == "" {
			result.Message = "the module refuses it, and does not say why"
		}
		return nil
	}
	result.Message = "the module accepts it"
	patch, err := response.Patch(ObjectJSON(c), p.Guest.Mutating)
	switch {
	case err != nil:
		return err
	case patch == nil:
		return nil
	case p.ChangesRights(c.Request):
		return errRights
	case c.Request.Observing && p.Rule.Action == decision.Enforce:
		// It would have been changed before it came here.
		result.Message = "the module accepts it, and would change it if this installation did not only observe"
		return nil
	case p.Rule.Action != decision.Enforce:
		result.Status, result.Message = decision.Fail, "the module would change the object, which the mode monitor leaves as it is"
		result.Findings = ChangedFields(patch, c.AboutSecret())
		return nil
	case !c.Request.Final:
		result.Message = "the module accepts it, and changes it"
		return nil
	}
	// The mutating webhook comes first, so there is nothing left to change unless
	// it was passed by.
	result.Status = decision.Fail
	result.Message = "the object is not as the policy would have it: either Sallyport's mutating webhook is not asked about it, or something changed it after, or the module changes it again each time"
	result.Findings = ChangedFields(patch, c.AboutSecret())
	return nil
}

// ObjectJSON is the object of a request as a module is handed it.
func ObjectJSON(c *call.Call) json.RawMessage {
	if c.Request.Object == nil {
		return nil
	}
	return c.Request.Object.Raw
}

// ChangedFields lists the fields that a patch changes, without what stands in them
// if that is secret.
func ChangedFields(patch []byte, secret bool) []decision.Finding {
	var operations []struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(patch, &operations) != nil {
		return nil
	}
	var findings []decision.Finding
	for _, o := range operations {
		detail := "the policy would " + o.Op + " it"
		if len(o.Value) > 0 && !secret {
			detail += " as " + string(bytes.TrimSpace(o.Value))
		}
		findings = append(findings, decision.Finding{Path: FieldPath(o.Path), Detail: detail})
	}
	return findings
}

// FieldPath is a JSON pointer as people write paths of fields.
func FieldPath(pointer string) string {
	path := &strings.Builder{}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch {
		case part != "" && strings.Trim(part, "0123456789") == "":
			path.WriteString("[" + part + "]")
		case strings.ContainsAny(part, "./[]"):
			path.WriteString("[" + part + "]")
		default:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(part)
		}
	}
	return path.String()
}
