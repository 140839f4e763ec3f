package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/guest"
)

// Modules runs the modules of policies. *guest.Host is one.
type Modules interface {
	// Hosts reports whether a policy is run here, and not by the PolicyServer that it
	// names. That changes as servers come and go.
	Hosts(p *guest.Policy) bool
	// Judge asks the module of a policy about an AdmissionRequest. calls answers what
	// the module asks meanwhile, and may be nil.
	Judge(ctx context.Context, p *guest.Policy, request json.RawMessage, calls guest.Caller) (wasm.Response, error)
	// Status says what became of a policy that is in force.
	Status(p *guest.Policy) (guest.Info, error)
	// Try finds out what would become of a policy that is not in force.
	Try(ctx context.Context, p *guest.Policy) (guest.Info, error)
}

// decideModules appends what the modules say of the request.
func (s *moduleSet) decideModules(c *call, results []decision.Result) []decision.Result {
	s.modules.about(c.request.Resource.Resource, func(p *modulePolicy) {
		if (s.runs(p) || p.standsFor() != nil) && !(c.request.Background && !p.rule.background) {
			results = p.decide(c, s.runner, results)
		}
	})
	return results
}

// runs reports whether a policy is judged here, and not by a PolicyServer.
func (s *moduleSet) runs(p *modulePolicy) bool {
	return s.runner == nil || s.runner.Hosts(p.guest)
}

func (p *modulePolicy) decide(c *call, modules Modules, results []decision.Result) []decision.Result {
	if p.standsFor() != nil && (spared(c.request) || p.wide && beside(c.request)) {
		return results
	}
	ok, err := p.applies(c, modules)
	base := p.rule.base(c, direct)
	switch {
	case err != nil:
		return append(results, p.rule.unjudged(base, fmt.Errorf("whether the policy is about this: %w", c.runs().Error(err))))
	case !ok:
		return results
	case p.standsFor() != nil:
		return p.answerBroken(base, results)
	}
	ctx, recorder := contexthost.WithRecorder(c.runs().Within(c.ctx))
	response, err := p.ask(ctx, c, modules)
	base.Context = c.safeContext(recorder.Context())
	if err = c.runs().Error(err); err == nil {
		c.makeSafe(&response)
		base.Warnings, base.Annotations = response.Warnings, response.AuditAnnotations
		err = p.conclude(c, &base, &response)
	}
	switch {
	case err != nil:
		return append(results, p.rule.unjudged(base, err))
	case base.Status == decision.Fail:
		base = c.excuse(p.rule, base)
	}
	return append(results, base)
}

// ask has the module judge the request.
func (p *modulePolicy) ask(ctx context.Context, c *call, modules Modules) (wasm.Response, error) {
	if modules == nil {
		return wasm.Response{}, errNoModules
	}
	asked, err := c.admissionRequest()
	if err != nil {
		return wasm.Response{}, err
	}
	if c.request.Host == nil && c.request.Elsewhere {
		return modules.Judge(ctx, p.guest, asked, elsewhere{})
	}
	return modules.Judge(ctx, p.guest, asked, c.request.Host)
}

// elsewhere answers for a cluster that policies do not read: what they would get from
// another one must not decide.
type elsewhere struct{}

// Call answers with an error.
func (elsewhere) Call(context.Context, *contextgate.Policy, hostcall.Call) ([]byte, error) {
	return nil, errUnread
}

// conclude makes a result of what the module answered.
func (p *modulePolicy) conclude(c *call, result *decision.Result, response *wasm.Response) error {
	if !response.Accepted {
		result.Status, result.Code = decision.Fail, int(response.Code)
		result.Message = response.Message
		if p.rule.message != "" {
			if result.Message = p.rule.message; response.Message != "" {
				result.Findings = []decision.Finding{{Detail: response.Message}}
			}
		}
		if result.Message == "" {
			result.Message = "the module refuses it, and does not say why"
		}
		return nil
	}
	result.Message = "the module accepts it"
	patch, err := response.Patch(c.objectJSON(), p.guest.Mutating)
	switch {
	case err != nil:
		return err
	case patch == nil:
		return nil
	case p.changesRights(c.request):
		return errRights
	case p.rule.action != decision.Enforce:
		result.Status, result.Message = decision.Fail, "the module would change the object, which the mode monitor leaves as it is"
		result.Findings = changedFields(patch, c.aboutSecret())
		return nil
	case !c.request.Final:
		result.Message = "the module accepts it, and changes it"
		return nil
	}
	// The mutating webhook comes first, so there is nothing left to change unless
	// it was passed by.
	result.Status = decision.Fail
	result.Message = "the object is not as the policy would have it: either Sallyport's mutating webhook is not asked about it, or something changed it after, or the module changes it again each time"
	result.Findings = changedFields(patch, c.aboutSecret())
	return nil
}

func (c *call) objectJSON() json.RawMessage {
	if c.request.Object == nil {
		return nil
	}
	return c.request.Object.Raw
}

// changedFields lists the fields that a patch changes, without what stands in them
// if that is secret.
func changedFields(patch []byte, secret bool) []decision.Finding {
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
		findings = append(findings, decision.Finding{Path: fieldPath(o.Path), Detail: detail})
	}
	return findings
}

// fieldPath is a JSON pointer as people write paths of fields.
func fieldPath(pointer string) string {
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
