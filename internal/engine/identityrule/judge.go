package identityrule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
) // bearer judges one request by the identities of the pods that it is about.
type judgement struct {
	*call.Call
	set     *Sources
	results []decision.Result
	// broken is the source in place of all others where it cannot work, so that
	// whoever carries its identities is refused, and told says that this was said.
	broken *stored.Broken
	told   bool
}

// DecideIdentities judges whether the requester may act as the identities of the
// pods that he gets into the runtime of. What carries no identity gets no result.
func (s *Sources) DecideIdentities(c *call.Call, results []decision.Result) []decision.Result {
	if c.Request.Background {
		return results
	}
	b := judgement{Call: c, set: s, results: results}
	if err := b.judge(); err != nil {
		for _, result := range b.sakes(RuleUse) {
			b.unjudged(result, err)
		}
	}
	from := len(results)
	results = s.decideBrokenIdentities(c, b.results)
	if r := c.Request; identity.OfClaims(call.MarkOf(r.Object)) && call.MarkCounts(r) {
		for i := from; i < len(results); i++ {
			results[i].Marked = true
		}
	}
	return results
}

// judge judges the request by what it does.
func (b *judgement) judge() error {
	switch r := b.Request; {
	case r.Door == request.Access || r.Operation == request.Connect:
		return b.entering()
	case r.Operation == request.Delete:
		return b.deleting()
	case r.Object == nil:
	case r.Operation == request.Create || r.Operation == request.Update:
		return b.writing()
	}
	return nil
}

// result is the result of a rule before it is judged.
func (b *judgement) result(source, rule string) decision.Result {
	if source == "" {
		source = PolicyValidatedAnnotations
	}
	return decision.Result{
		Policy: source, Rule: rule, Kind: identity.KindSource, Resource: b.Resource(),
		Status: decision.Pass, Action: decision.Enforce, Source: b.Request.Source,
	}
}

// unjudged is where it is carried out that what cannot be judged is refused, and
// the only place. Sources have no other fail mode.
func (b *judgement) unjudged(result decision.Result, err error) {
	result.Status, result.FailClosed = decision.Error, true
	result.Message = call.Unread(err) + "; what cannot be judged is refused"
	b.results = append(b.results, result)
}

// bySource calls visit for each source with those of the claims that it reads.
func bySource(claims []identity.Claim, visit func(source string, claims []identity.Claim)) {
	var done []string
	for i := range claims {
		source := claims[i].Source
		if slices.Contains(done, source) {
			continue
		}
		done = append(done, source)
		visit(source, slices.DeleteFunc(slices.Clone(claims), func(c identity.Claim) bool { return c.Source != source }))
	}
}

// allow records why the claims need no review, or that it went well.
func (b *judgement) allow(claims []identity.Claim, why string) {
	if b.broken != nil {
		return
	}
	bySource(claims, func(source string, claims []identity.Claim) {
		result := b.result(source, RuleUse)
		result.Message = why + ": " + listed(claims)
		b.results = append(b.results, result)
	})
}

// refuse refuses claims whoever asks.
func (b *judgement) refuse(rule string, claims []identity.Claim, why string) {
	if b.broken != nil {
		b.cannotTell()
		return
	}
	bySource(claims, func(source string, claims []identity.Claim) {
		result := b.result(source, rule)
		result.Status, result.Message = decision.Fail, why+": "+listed(claims)
		for i := range claims {
			result.Findings = append(result.Findings, finding(&claims[i], ""))
		}
		b.results = append(b.results, b.excused(result))
	})
}

func listed(claims []identity.Claim) string {
	names := make([]string, len(claims))
	for i := range claims {
		names[i] = claims[i].String()
	}
	return strings.Join(names, ", ")
}

func finding(claim *identity.Claim, detail string) decision.Finding {
	return decision.Finding{Path: claim.Path, Value: claim.Value, Detail: detail}
}

// excused shows a failed result to the exceptions.
func (b *judgement) excused(result decision.Result) decision.Result {
	if b.Exceptions.Len() == 0 {
		return result
	}
	targets := []*match.Target{b.Excusable()}
	if b.Access != nil {
		targets = b.AccessTargets()
	}
	return b.ExcuseWhole(result, b.Query(&result, "", targets))
}

// review asks whether the requester may act as each of the claims. why says, if
// it is not empty, why somebody is asked about who need not be as a rule.
func (b *judgement) review(claims []identity.Claim, why string) {
	switch {
	case len(claims) == 0:
	case b.broken != nil:
		b.cannotTell()
	default:
		b.answer(b.ask(claims), why)
	}
}

// ask has the claims reviewed.
func (b *judgement) ask(claims []identity.Claim) identity.Answers {
	return identity.Review(b.Ctx, b.Request.Authorizer, b.Request.User, claims, b.set.granted(b.Request))
}

// answer turns the answers into a result for each source.
func (b *judgement) answer(answers identity.Answers, why string) {
	claims := make([]identity.Claim, len(answers))
	for i := range answers {
		claims[i] = answers[i].Claim
	}
	bySource(claims, func(source string, _ []identity.Claim) {
		own := slices.DeleteFunc(slices.Clone(answers), func(a identity.Answer) bool { return a.Source != source })
		b.answerOf(source, own, why)
	})
}

func (b *judgement) answerOf(source string, answers identity.Answers, why string) {
	user := b.Request.User.Name
	result := b.result(source, RuleUse)
	refused := answers.Refused()
	if len(refused) == 0 {
		claims := make([]identity.Claim, len(answers))
		for i := range answers {
			claims[i] = answers[i].Claim
		}
		result.Message = fmt.Sprintf("%.100q may act as %s", user, listed(claims))
		b.results = append(b.results, result)
		return
	}
	if user == "" && !slices.ContainsFunc(refused, func(a identity.Answer) bool { return a.Fault != "" }) {
		result.Status, result.Message = decision.Skip, "not applied: it goes by who asks, and nobody is known to; carried here: "+listed(claimsOf(refused))
		b.results = append(b.results, result)
		return
	}
	var sentences []string
	if why != "" {
		// What is to be mended comes first: little of an Event is read to its end.
		sentences = append(sentences, why)
	}
	for i := range refused {
		a := &refused[i]
		if a.Outcome == identity.Unknown {
			b.unjudged(result, fmt.Errorf("whether %.100q may act as %s, which stands at %s, cannot be found out: %w", user, a.Claim, a.Path, orUnknown(a.Err)))
			return
		}
		sentence := a.Denial(user)
		if rule := identity.RuleFor(a.Claim); rule != "" {
			sentence += "; this rule of a ClusterRole grants it: " + rule
			result.Remedy = decision.RemedyGrant
		}
		sentences = append(sentences, sentence)
		result.Findings = append(result.Findings, finding(&a.Claim, ""))
	}
	result.Status, result.Message = decision.Fail, strings.Join(sentences, "; ")
	b.results = append(b.results, b.excused(result))
}

func claimsOf(answers identity.Answers) []identity.Claim {
	claims := make([]identity.Claim, len(answers))
	for i := range answers {
		claims[i] = answers[i].Claim
	}
	return claims
}

var errNoAnswer = errors.New("there was no answer")

func orUnknown(err error) error {
	if err == nil {
		return errNoAnswer
	}
	return err
}

// accounts reads the service account that a pod runs as. One that is not there is
// an error: a pod needs it.
func (b *judgement) accounts(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	if b.Request.Cluster == nil {
		return nil, call.ErrNoCluster
	}
	return b.Request.Cluster.ServiceAccount(ctx, namespace, name)
}

// futureAccounts reads the one that a template names. It may be made later than
// the template, and carries nothing until then: what it carries then is not among
// what the template is marked for.
func (b *judgement) futureAccounts(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	account, err := b.accounts(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return &corev1.ServiceAccount{}, nil
	}
	return account, err
}

// grantedIn is where permissions are kept that were found in a cluster. What was found for
// those who may make up their requests is given to no others.
type grantedIn struct {
	cluster         string
	unauthenticated bool
}

// granted are the permissions that were found in a cluster, for the sources that
// let them be kept.
func (s *Sources) granted(r *request.Request) *identity.Cache {
	if s.Caches == nil {
		return nil
	}
	in := grantedIn{r.ClusterName, r.Unauthenticated}
	if cache, ok := s.Caches.Load(in); ok {
		if known, ok := cache.(*identity.Cache); ok {
			return known
		}
	}
	cache, _ := s.Caches.LoadOrStore(in, identity.NewCache(clock))
	known, _ := cache.(*identity.Cache)
	return known
}

// clock tells how old a permission is that was kept.
var clock = time.Now
