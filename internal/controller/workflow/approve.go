package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// VerbApprove is the right to approve exceptions to a policy: to answer requests
// for them, and to write them.
const VerbApprove = "approve"

var errNoAuthorizer = errors.New("there is no cluster to ask what somebody may do")

// approvable is what an entry means and somebody needs approve for.
type approvable struct {
	entry int
	named *v1alpha1.ExceptedRules
	meant meant
}

// maxMissing bounds how many rights are named that somebody lacks.
const maxMissing = 6

// approves asks whether the user holds approve on all that is meant. A refusal
// says what is missing: act is what the user may not do, path the field that it is
// about, and next what to do about it.
func approves(ctx context.Context, r *request.Request, list []approvable, act, path, value, next string) error {
	if len(list) == 0 {
		return nil
	}
	if r.Authorizer == nil {
		return fmt.Errorf("whether %s may approve cannot be found out: %w", r.User.Name, errNoAuthorizer)
	}
	answers := map[request.Attributes]bool{}
	var missing []string
	said := -1
	for i := range list {
		a := &list[i]
		right := a.meant.right()
		allowed, asked := answers[right]
		if !asked {
			var err error
			if allowed, err = r.Authorizer.Allowed(ctx, r.User, right); err != nil {
				return fmt.Errorf("whether %s may approve exceptions to %s cannot be found out: %w", r.User.Name, a.named.PolicyName, err)
			}
			answers[right] = allowed
		}
		switch {
		case allowed:
		case said == a.entry:
			missing = append(missing, "on "+onWhat(right))
		default:
			said = a.entry
			missing = append(missing, fmt.Sprintf("exceptions[%d] names %q%s, and that needs the verb %s on %s", a.entry, a.named.PolicyName, a.meaning(), VerbApprove, onWhat(right)))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if more := len(missing) - maxMissing; more > 0 {
		missing = append(missing[:maxMissing], fmt.Sprintf("... and %d more", more))
	}
	return refuse(path, value, "%s may not %s it: %s%s", r.User.Name, act, strings.Join(missing, ", "), next)
}

// meaning says what a name can mean that is not that of one policy.
func (a *approvable) meaning() string {
	switch {
	case a.meant.there || a.named.PolicyKind != "":
		return ""
	case glob.IsPattern(a.named.PolicyName):
		return ", which can mean policies of several kinds (policyKind says which)"
	}
	return ", which no policy is called now, so that it could come to mean one of several kinds (policyKind says which)"
}

// onWhat is a right in words.
func onWhat(right request.Attributes) string {
	text := right.Resource + "." + right.Group
	if right.Name == "" {
		text += ", whatever its name,"
	} else {
		text += fmt.Sprintf(" %q", right.Name)
	}
	if right.Namespace == "" {
		return text + " cluster-wide"
	}
	return text + " in namespace " + right.Namespace
}

// mayApprove asks whether the user holds approve on every policy that a request
// names.
func (g *Guard) mayApprove(ctx context.Context, r *request.Request, asked *v1alpha1.PolicyExceptionRequest) error {
	var list []approvable
	named := exception.ExceptedBy(asked)
	for i := range named {
		for _, m := range g.means(&named[i], asked.Namespace) {
			list = append(list, approvable{i, &named[i], m})
		}
	}
	return approves(ctx, r, list, "answer", "spec.name", asked.Name, "")
}

// mayBeAutomatic asks the rules about exceptions whether a request is one that
// Sallyport answers by itself, for all that it means now.
func (g *Guard) mayBeAutomatic(asked *v1alpha1.PolicyExceptionRequest) error {
	meant, err := automaticallyMeant(g.Set(), asked)
	if err == nil && !g.Set().Exceptions().Rules().MayBeAutomatic(asked.Namespace, meant) {
		err = errors.New("no ExceptionPolicy approves automatically what it means")
	}
	if err != nil {
		return refuse("spec.name", asked.Name, "cannot be answered automatically: %s", err)
	}
	return nil
}
