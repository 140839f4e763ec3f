package workflow

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestUnreadableObjects refuses what holds something else than its kind, now or before,
// at both webhooks, and says that it cannot be read.
func TestUnreadableObjects(t *testing.T) {
	exception := exceptionText(exception.KindException, "{policyName: p}")
	response := responseText("status: Denied")
	broken := func(text string) string { return text[:strings.Index(text, "\nspec:")] + "\nspec: nonsense\n" }
	session := func(operation request.Operation, subresource, object, old string) *request.Request {
		r := written(t, "carol", object, old)
		r.Operation, r.Subresource = operation, subresource
		return r
	}
	removal := written(t, "carol", broken(sessionText), "")
	removal.Operation, removal.Object, removal.OldObject = request.Delete, nil, removal.Object
	for name, c := range map[string]struct {
		r *request.Request
		// filled is set where Mutate has something to fill in.
		filled bool
	}{
		"an exception":              {written(t, "dave", broken(exception), ""), true},
		"an exception, updated":     {written(t, "dave", broken(exception), exception), true},
		"a request, updated":        {written(t, "dave", broken(asked), asked), true},
		"an exception, before":      {written(t, "dave", exception, broken(exception)), true},
		"a request":                 {written(t, "dave", broken(asked), ""), true},
		"a request, before":         {written(t, "dave", asked, broken(asked)), true},
		"a response":                {written(t, "dave", broken(response), ""), true},
		"a response, updated":       {written(t, "dave", broken(response), response), false},
		"a response, before":        {written(t, "dave", response, broken(response)), false},
		"a session":                 {session(request.Create, "", broken(sessionText), ""), true},
		"a session, updated":        {session(request.Update, "", broken(sessionText), sessionText), false},
		"a session, before":         {session(request.Update, "", sessionText, broken(sessionText)), false},
		"a session's status":        {session(request.Update, "status", broken(sessionText), sessionText), true},
		"a session's status before": {session(request.Update, "status", sessionText, broken(sessionText)), true},
		"a session, removed":        {removal, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := sessionGuard(t, escalationText, parse[v1alpha1.PolicyExceptionRequest](t, asked))
			unreadable := func(results []decision.Result) {
				t.Helper()
				if len(results) != 1 || results[0].Status != decision.Error || !results[0].FailClosed || !strings.Contains(results[0].Message, "cannot be read") {
					t.Errorf("results %+v", results)
				}
			}
			unreadable(g.Validate(t.Context(), c.r))
			patch, refused := g.Mutate(t.Context(), c.r)
			if patch != nil {
				t.Errorf("patched %s", patch)
			}
			if c.filled {
				unreadable(refused)
			}
		})
	}
}
