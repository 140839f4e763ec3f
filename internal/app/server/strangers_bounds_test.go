package server

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestWhatStrangersSayIsBounded finds each part of a review that is kept and may be made up,
// beyond what an API server sends.
func TestWhatStrangersSayIsBounded(t *testing.T) {
	long, user := strings.Repeat("a", longestName+1), strings.Repeat("u", longestUser+1)
	groups := make([]string, 100)
	for i := range groups {
		groups[i] = strings.Repeat("g", mostSaid/100+1)
	}
	for field, r := range map[string]*request.Request{
		"request.resource":                 {Resource: schema.GroupVersionResource{Resource: long}},
		"request.resource.group":           {Resource: schema.GroupVersionResource{Group: long}},
		"request.resource.version":         {Resource: schema.GroupVersionResource{Version: long}},
		"request.subResource":              {Subresource: long},
		"request.kind":                     {Kind: schema.GroupVersionKind{Kind: long}},
		"request.kind.group":               {Kind: schema.GroupVersionKind{Group: long}},
		"request.kind.version":             {Kind: schema.GroupVersionKind{Version: long}},
		"request.namespace":                {Namespace: long},
		"request.name":                     {Name: long},
		"request.uid":                      {UID: types.UID(long)},
		"request.requestResource":          {Asked: &request.Asked{Resource: schema.GroupVersionResource{Resource: long}}},
		"request.requestResource.group":    {Asked: &request.Asked{Resource: schema.GroupVersionResource{Group: long}}},
		"request.requestResource.version":  {Asked: &request.Asked{Resource: schema.GroupVersionResource{Version: long}}},
		"request.requestKind":              {Asked: &request.Asked{Kind: schema.GroupVersionKind{Kind: long}}},
		"request.requestKind.group":        {Asked: &request.Asked{Kind: schema.GroupVersionKind{Group: long}}},
		"request.requestKind.version":      {Asked: &request.Asked{Kind: schema.GroupVersionKind{Version: long}}},
		"request.requestSubResource":       {Asked: &request.Asked{Subresource: long}},
		"request.operation":                {Operation: request.Operation(long)},
		"request.userInfo.username":        {User: request.User{Name: user}},
		"request.userInfo.uid":             {User: request.User{UID: user}},
		"request.userInfo has":             {User: request.User{Groups: groups}},
		"request.userInfo has 65537 bytes": {User: request.User{Extra: map[string][]string{"k": {strings.Repeat("x", mostSaid)}}}},
	} {
		if err := withinBounds(r); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	ordinary := &request.Request{Name: long[1:], User: request.User{Name: user[1:], Groups: groups[:99]}}
	if err := withinBounds(ordinary); err != nil {
		t.Error(err)
	}
}

// TestStrangersWhoSayMore: a review that may be made up and says more than an API server does
// is refused, and one by a caller that is known is judged.
func TestStrangersWhoSayMore(t *testing.T) {
	o := byNetwork(t, noExec)
	o.TokenFile = file(t, "tokens", "good\n")
	_, client, url := running(t, o)
	body := strings.Replace(execReview, `"name":"`, `"name":"`+strings.Repeat("a", longestName), 1)
	const says = "and a caller that shows no credentials may send 253"
	if _, answer := ask(t, client, http.MethodPost, url+"/validate", body); !strings.Contains(answer, says) || !strings.Contains(answer, `"allowed":false`) {
		t.Error(answer)
	}
	if _, answer := ask(t, client, http.MethodPost, url+"/validate", body, "Authorization", "Bearer good"); strings.Contains(answer, says) || !strings.Contains(answer, `"allowed"`) {
		t.Error(answer)
	}
}
