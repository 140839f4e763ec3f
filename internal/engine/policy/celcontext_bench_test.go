package policy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// namespaces serves many namespaces, as large as they are in clusters, and watches
// in which nothing happens.
func namespaces(count int) http.Handler {
	var list strings.Builder
	list.WriteString(`{"apiVersion":"v1","kind":"NamespaceList","metadata":{"resourceVersion":"1"},"items":[`)
	for i := range count {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"metadata":{"name":"team-%d","uid":"%d","resourceVersion":"%d","labels":{"kubernetes.io/metadata.name":"team-%d","team":"t%d"},
			"annotations":{"description":%q},"managedFields":[{"manager":"kubectl","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{}}}}]},
			"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`, i, i, i+1, i, i%50, strings.Repeat("words ", 60))
	}
	list.WriteString(`]}`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
			return
		case query.Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(list.String()))
	})
}

// BenchmarkReadingRule judges with a rule that needs the labels of 3,000
// namespaces: while nothing changes, and where each is read again from the copy.
func BenchmarkReadingRule(b *testing.B) {
	server := httptest.NewServer(namespaces(3000))
	defer server.Close()
	objects, err := inventory.New(&rest.Config{Host: server.URL}, inventory.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer objects.Close()
	defer objects.Hold(contextgate.Resource{Version: "v1", Resource: "namespaces", Kind: "Namespace"})()
	answers := &hostanswer.Answers{Objects: objects}
	host := contexthost.New(contexthost.Guess{}, answers, contexthost.Options{})
	for name, expression := range map[string]string{
		"size":   `cluster.list('v1', 'Namespace').size() == 3000`,
		"filter": `cluster.list('v1', 'Namespace').filter(n, n.metadata.labels.team == 'other').size() == 0`,
		"labels": `cluster.list('v1', 'Namespace').all(n, n.metadata.labels.team != 'other')`,
	} {
		b.Run(name, func(b *testing.B) {
			set := setOf(b, readingPolicy("{version: v1, resource: namespaces, fields: [metadata.labels.team]}", expression))
			r := configMap(b, host)
			b.ReportAllocs()
			for b.Loop() {
				if d := set.Decide(b.Context(), r); d.Results[0].Status != decision.Pass {
					b.Fatal(d.Results[0].Message)
				}
			}
		})
	}
	b.Run("decoded again", func(b *testing.B) {
		set := setOf(b, readingPolicy("{version: v1, resource: namespaces, fields: [metadata.labels.team]}", `cluster.list('v1', 'Namespace').all(n, n.metadata.labels.team != 'other')`))
		for b.Loop() {
			r := configMap(b, contexthost.New(contexthost.Guess{}, answers, contexthost.Options{}))
			if d := set.Decide(b.Context(), r); d.Results[0].Status != decision.Pass {
				b.Fatal(d.Results[0].Message)
			}
		}
	})
}
