package admission

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// The keys of the audit annotations. The API server writes each as NAME/KEY,
// where NAME is that of the webhook in its configuration, and drops a key with a
// slash of its own: a webhook named "pods.sallyport.io" leaves
// "pods.sallyport.io/decision" in the audit log.
const (
	keyDecision    = "decision"
	keyPolicies    = "policies"
	keyExceptions  = "exceptions"
	keyExcused     = "exception-details"
	keyRefused     = "context-denied"
	keyRiskScore   = "risk-score"
	keyRiskFactors = "risk-factors"
)

// annotationLimit bounds one value, in bytes.
const annotationLimit = 1024

// moduleAnnotations bounds how many annotations modules may leave for one request.
const moduleAnnotations = 64

// appendAnnotations appends the member auditAnnotations: the verdict; each rule
// that applied with what it said; each exception that was used, by name and then
// with its reason, who asked, who approved and until when; what policies asked for
// and were refused; the highest risk score and all factors found.
func appendAnnotations(b []byte, d *decision.Decision) []byte {
	var policies, exceptions, excused, refused, factors list
	excused.separator = "; "
	score := -1
	for i := range d.Results {
		r := &d.Results[i]
		policies.add(nameOf(r.Kind, r.PolicyNamespace, r.Policy) + "/" + r.Rule + "=" + string(r.Status))
		for j := range r.Exceptions {
			e := &r.Exceptions[j]
			exceptions.add(nameOf(e.Kind, e.Namespace, e.Name))
			excused.add(e.String())
		}
		if r.Refused() {
			for _, denied := range r.Context.Denied {
				refused.add(nameOf(r.Kind, r.PolicyNamespace, r.Policy) + "=" + denied.Verb + " " + denied.Resource)
			}
		}
		if r.Score != nil {
			score = max(score, *r.Score)
		}
		for _, factor := range r.Factors {
			factors.add(factor)
		}
	}
	b = append(b, `,"auditAnnotations":{"`+keyDecision+`":`...)
	b = quote(b, string(d.Verdict))
	b = policies.append(b, keyPolicies)
	b = exceptions.append(b, keyExceptions)
	b = excused.append(b, keyExcused)
	b = refused.append(b, keyRefused)
	if score >= 0 {
		b = append(b, `,"`+keyRiskScore+`":"`...)
		b = strconv.AppendInt(b, int64(score), 10)
		b = append(b, '"')
	}
	b = factors.append(b, keyRiskFactors)
	b = appendModules(b, d)
	return append(b, '}')
}

// appendModules appends what modules have to say to the audit log, each as
// POLICY.KEY, so that none takes the name of another's or of ours.
func appendModules(b []byte, d *decision.Decision) []byte {
	written := map[string]bool{}
	for i := range d.Results {
		r := &d.Results[i]
		for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
			name := strings.ReplaceAll(decision.Clean(r.PolicyName()+"."+key), "/", "_")
			if len(written) == moduleAnnotations || written[name] {
				continue
			}
			written[name] = true
			var value list
			value.add(r.Annotations[key])
			b = value.append(b, name)
		}
	}
	return b
}

func nameOf(kind, namespace, name string) string {
	if namespace == "" {
		return kind + "/" + name
	}
	return kind + "/" + namespace + "/" + name
}

// list is a value of several entries, each once, in the order of the results.
type list struct {
	entries []string
	length  int
	left    int
	// separator is a comma if it is not given.
	separator string
}

func (l *list) add(entry string) {
	switch {
	case l.left == 0 && slices.Contains(l.entries, entry):
	case l.left > 0 || l.length+len(entry)+1 > annotationLimit:
		l.left++
	default:
		l.entries = append(l.entries, entry)
		l.length += len(entry) + 1
	}
}

func (l *list) append(b []byte, key string) []byte {
	if len(l.entries) == 0 && l.left == 0 {
		return b
	}
	value := strings.Join(l.entries, cmp.Or(l.separator, ","))
	if l.left > 0 {
		value += " ... and " + strconv.Itoa(l.left) + " more"
	}
	b = append(b, ',')
	b = quote(b, key)
	b = append(b, ':')
	return quote(b, decision.Clean(value))
}
