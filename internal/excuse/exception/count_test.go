package exception

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

func TestCounts(t *testing.T) {
	var s Sources
	for _, text := range []string{
		"metadata: {name: active, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}",
		"metadata: {name: ending, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, expiresAt: \"2026-11-28T12:00:01Z\"}",
		"metadata: {name: later, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, notBefore: \"2027-01-01T00:00:00Z\"}",
		"metadata: {name: wrong, namespace: dev}\nspec: {exceptions: [{policyName: p}], match: {}}",
	} {
		s.Exceptions = append(s.Exceptions, source.Of[*v1alpha1.PolicyException]{Object: read[v1alpha1.PolicyException](t, text)})
	}
	for _, name := range []string{"waiting", "approved", "denied"} {
		s.Requests = append(s.Requests, source.Of[*v1alpha1.PolicyExceptionRequest]{Object: read[v1alpha1.PolicyExceptionRequest](t,
			"metadata: {name: "+name+", namespace: dev, uid: "+name+", generation: 1}\nspec: {exceptions: [{policyName: p}], exclude: {resources: {kinds: [Pod]}}, duration: 1h, requesters: [ann]}")})
	}
	for name, status := range map[string]string{"approved": "Approved", "denied": "Denied"} {
		s.Responses = append(s.Responses, source.Of[*v1alpha1.PolicyExceptionResponse]{Object: read[v1alpha1.PolicyExceptionResponse](t,
			"metadata: {name: "+name+"}\nspec: {name: "+name+", namespace: dev, status: "+status+", requestUID: "+name+", requestGeneration: 1, approver: ben, approvalTime: \"2026-11-28T12:00:00Z\"}")})
	}
	set, _ := Compile(s, Options{})
	at := func(when time.Time, want map[Count]int) {
		t.Helper()
		if diff := cmp.Diff(want, set.Counts(when)); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", when, diff)
		}
	}
	at(now, map[Count]int{
		{KindException, "Active"}: 2, {KindException, "NotYetValid"}: 1, {KindException, "NoEffect"}: 1,
		{KindRequest, "Pending"}: 1, {KindRequest, "Approved"}: 1, {KindRequest, "Denied"}: 1,
	})
	at(now.Add(time.Hour), map[Count]int{
		{KindException, "Active"}: 1, {KindException, "Expired"}: 1, {KindException, "NotYetValid"}: 1, {KindException, "NoEffect"}: 1,
		{KindRequest, "Pending"}: 1, {KindRequest, "Expired"}: 1, {KindRequest, "Denied"}: 1,
	})
	if got := (*Set)(nil).Counts(now); len(got) != 0 {
		t.Errorf("no set counts %v", got)
	}
}
