package exception

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// TestDeletedExcusesNothing takes what was deleted for gone, whatever finalizers
// keep it.
func TestDeletedExcusesNothing(t *testing.T) {
	deleted := &metav1.Time{Time: now}
	for name, end := range map[string]func(*Sources){
		"nothing":      func(*Sources) {},
		"an exception": func(s *Sources) { s.Exceptions[0].Object.DeletionTimestamp = deleted },
		"a request":    func(s *Sources) { s.Requests[0].Object.DeletionTimestamp = deleted },
		"an answer":    func(s *Sources) { s.Responses[0].Object.DeletionTimestamp = deleted },
	} {
		t.Run(name, func(t *testing.T) {
			s := sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}")
			s.Requests = append(s.Requests, source.Of[*v1alpha1.PolicyExceptionRequest]{Object: read[v1alpha1.PolicyExceptionRequest](t,
				"metadata: {name: q, namespace: dev, uid: u, generation: 1}\nspec: {exceptions: [{policyName: p}], exclude: {resources: {kinds: [Pod]}}, requesters: [ann]}")})
			s.Responses = append(s.Responses, source.Of[*v1alpha1.PolicyExceptionResponse]{Object: read[v1alpha1.PolicyExceptionResponse](t,
				"metadata: {name: a}\nspec: {name: q, namespace: dev, status: Approved, requestUID: u, requestGeneration: 1, approver: ben, approvalTime: \"2026-11-28T12:00:00Z\"}")})
			end(&s)
			set, problems := Compile(s, Options{})
			want := 1
			if name == "nothing" {
				want = 2
			}
			if len(problems) > 0 || set.Len() != want {
				t.Errorf("%d exceptions, problems %v, want %d", set.Len(), problems, want)
			}
		})
	}
}
