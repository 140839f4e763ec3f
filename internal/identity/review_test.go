package identity

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

type authorizerFunc func(ctx context.Context, user request.User, a request.Attributes) (bool, error)

func (f authorizerFunc) Allowed(ctx context.Context, user request.User, a request.Attributes) (bool, error) {
	return f(ctx, user, a)
}

var employee = request.User{Name: "employee-10", UID: "10", Groups: []string{"staff"}, Extra: map[string][]string{"scope": {"a"}}}

// TestDocumentReviews is the document's pod and employee: two reviews, in its
// words, and allowed only when both are.
func TestDocumentReviews(t *testing.T) {
	claims, err := setOf(t, kerberos).OfObject(t.Context(), objectOf(t, documentPod), "team", nil)
	if err != nil {
		t.Fatal(err)
	}
	google := request.Attributes{Verb: "use", Group: "authorization.k8s.io", Resource: "validatedannotations", Subresource: "gcs@mycompany.gserviceaccount.com", Name: "cloud.google.com/serviceaccount"}
	frontend := request.Attributes{Verb: "use", Group: "authorization.k8s.io", Resource: "validatedannotations", Subresource: "legacy-frontend-app", Name: "kerberos"}
	for name, granted := range map[string][]request.Attributes{"both": {google, frontend}, "one": {google}, "the other": {frontend}, "none": nil} {
		var mu sync.Mutex
		var asked []request.Attributes
		answers := Review(t.Context(), authorizerFunc(func(_ context.Context, user request.User, a request.Attributes) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, a)
			if diff := cmp.Diff(employee, user); diff != "" {
				t.Error(diff)
			}
			return slices.Contains(granted, a), nil
		}), employee, claims, nil)
		if answers.Allowed() != (name == "both") || len(answers.Refused()) != 2-len(granted) {
			t.Errorf("%s: %v", name, answers)
		}
		if len(asked) != 2 || !slices.Contains(asked, google) || !slices.Contains(asked, frontend) {
			t.Errorf("%s: asked %+v", name, asked)
		}
	}
}

func TestReviewFailsClosed(t *testing.T) {
	broken := errors.New("broken")
	claims := []Claim{{Key: "k", Value: "v"}}
	for _, tt := range []struct {
		name       string
		claims     []Claim
		authorizer request.Authorizer
		want       Outcome
	}{
		{"nobody to ask", claims, nil, Unknown},
		{"an error", claims, authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) { return false, broken }), Unknown},
		{"an error beside a yes", claims, authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) { return true, broken }), Unknown},
		{"a panic", claims, authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) { panic("x") }), Unknown},
		{"a no", claims, authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) { return false, nil }), Denied},
		{"a fault, whatever is granted", []Claim{{Key: "k", Value: "*", Fault: "is odd"}}, authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) { return true, nil }), Denied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := Review(t.Context(), tt.authorizer, employee, tt.claims, nil)
			if answers.Allowed() || answers[0].Outcome != tt.want || (answers[0].Err != nil) != (tt.want == Unknown) {
				t.Errorf("%+v", answers)
			}
		})
	}
	if !Review(t.Context(), nil, employee, nil, nil).Allowed() {
		t.Error("no claims need no review")
	}
}

// TestReviewEndsWithItsContext asks somebody who does not heed the context.
func TestReviewEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	answers := Review(ctx, authorizerFunc(func(_ context.Context, _ request.User, a request.Attributes) (bool, error) {
		cancel()
		<-release
		return true, nil
	}), employee, numbered(20), nil)
	for _, a := range answers {
		if a.Outcome != Unknown || !errors.Is(a.Err, context.Canceled) {
			t.Errorf("%+v", a)
		}
	}
	asked := false
	answers = Review(ctx, authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) {
		asked = true
		return true, nil
	}), employee, numbered(3), nil)
	if answers.Allowed() || asked {
		t.Error("after the end something was asked")
	}
}

func numbered(n int) []Claim {
	var claims []Claim
	for i := range n {
		claims = append(claims, Claim{Key: "k", Value: strconv.Itoa(i)})
	}
	return claims
}

// TestReviewsRunAtOnce waits until as many run as may, and sees that no more do.
func TestReviewsRunAtOnce(t *testing.T) {
	var running, most atomic.Int64
	full := make(chan struct{})
	answers := Review(t.Context(), authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if now == atOnce {
			close(full)
		}
		<-full
		return true, nil
	}), employee, numbered(atOnce), nil)
	if !answers.Allowed() || most.Load() != atOnce {
		t.Errorf("%d at once, %v", most.Load(), answers)
	}
	most.Store(0)
	answers = Review(t.Context(), authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		return true, nil
	}), employee, numbered(10*atOnce), nil)
	if !answers.Allowed() || most.Load() > atOnce {
		t.Errorf("%d at once", most.Load())
	}
	for i, a := range answers {
		if a.Value != strconv.Itoa(i) {
			t.Errorf("answer %d is about %s", i, a.Value)
		}
	}
}

func TestCache(t *testing.T) {
	now := time.Unix(1e9, 0)
	cache := NewCache(func() time.Time { return now })
	asked, allow := 0, true
	authorizer := authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) { asked++; return allow, nil })
	kept := Claim{Key: "k", Value: "v", CacheFor: 10 * time.Second}
	with := func(change func(*request.User)) request.User {
		u := employee
		change(&u)
		return u
	}
	for _, step := range []struct {
		name  string
		after time.Duration
		user  request.User
		claim Claim
		allow bool
		asks  int
		want  bool
	}{
		{"a refusal", 0, employee, kept, false, 1, false},
		{"is not kept", 0, employee, kept, true, 1, true},
		{"a permission is", 9 * time.Second, employee, kept, false, 0, true},
		{"not for another value", 0, employee, Claim{Key: "k", Value: "w", CacheFor: kept.CacheFor}, false, 1, false},
		{"nor another key", 0, employee, Claim{Key: "K", Value: "v", CacheFor: kept.CacheFor}, false, 1, false},
		{"nor another form", 0, employee, Claim{Key: "k", Value: "v", CacheFor: kept.CacheFor, Form: v1alpha1.ReviewResource}, false, 1, false},
		{"nor where the source says so no longer", 0, employee, Claim{Key: "k", Value: "v"}, false, 1, false},
		{"nor another name", 0, with(func(u *request.User) { u.Name = "x" }), kept, false, 1, false},
		{"nor another uid", 0, with(func(u *request.User) { u.UID = "11" }), kept, false, 1, false},
		{"nor other groups", 0, with(func(u *request.User) { u.Groups = nil }), kept, false, 1, false},
		{"nor groups run together", 0, with(func(u *request.User) { u.Groups = []string{"sta", "ff"} }), kept, false, 1, false},
		{"nor other extra", 0, with(func(u *request.User) { u.Extra = map[string][]string{"scope": {"b"}} }), kept, false, 1, false},
		{"nor later", time.Second, employee, kept, false, 1, false},
		{"a fault is not looked up", 0, employee, Claim{Key: "k", Value: "v", CacheFor: kept.CacheFor, Fault: "odd"}, true, 0, false},
		{"a new permission", 0, employee, kept, true, 1, true},
		{"the clock was set back", -time.Minute, employee, kept, false, 1, false},
	} {
		now, allow, asked = now.Add(step.after), step.allow, 0
		answers := Review(t.Context(), authorizer, step.user, []Claim{step.claim}, cache)
		if answers.Allowed() != step.want || asked != step.asks || answers[0].Cached != (step.want && step.asks == 0) {
			t.Errorf("%s: %+v, asked %d times", step.name, answers, asked)
		}
	}
	allow = true
	for i := range maxCached + 10 {
		Review(t.Context(), authorizer, employee, []Claim{{Key: "k", Value: strconv.Itoa(i), CacheFor: time.Second}}, cache)
	}
	if len(cache.asked) > maxCached {
		t.Errorf("%d are kept", len(cache.asked))
	}
}
