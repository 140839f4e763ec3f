//go:build long

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// bareEvery is how often a bare watch is tried again.
const bareEvery = 50 * time.Millisecond

// bareWatch is when an API server tells anybody of a change: it lists one object and
// watches it, by plain HTTP, and tries again at once whatever the answer.
type bareWatch struct {
	client *http.Client
	url    string
	// there is whether the object is there after the change.
	there bool
}

func newBareWatch(config *rest.Config, name string, there bool) (*bareWatch, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	server = server.JoinPath("apis", v1alpha1.GroupVersion.String(), "clusterpolicies")
	server.RawQuery = url.Values{"fieldSelector": {"metadata.name=" + name}}.Encode()
	return &bareWatch{client, server.String(), there}, nil
}

// begin begins to try, and gives when the change was heard of.
func (b *bareWatch) begin(ctx context.Context) <-chan time.Time {
	heard := make(chan time.Time, 1)
	go func() {
		ticker := time.NewTicker(bareEvery)
		defer ticker.Stop()
		for {
			if b.try(ctx) {
				heard <- time.Now()
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return heard
}

// try lists and watches once, and reports whether the change was heard of.
func (b *bareWatch) try(ctx context.Context) bool {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []struct{}
	}
	if b.get(ctx, "", func(d *json.Decoder) error { return d.Decode(&list) }) != nil {
		return false
	}
	if (len(list.Items) > 0) == b.there {
		return true
	}
	heard := false
	_ = b.get(ctx, "&watch=true&resourceVersion="+list.Metadata.ResourceVersion, func(d *json.Decoder) error {
		for !heard {
			var event struct{ Type string }
			if err := d.Decode(&event); err != nil {
				return err
			}
			heard = event.Type == "ADDED" && b.there || event.Type == "DELETED" && !b.there
		}
		return nil
	})
	return heard
}

func (b *bareWatch) get(ctx context.Context, query string, read func(*json.Decoder) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+query, http.NoBody)
	if err != nil {
		return err
	}
	response, err := b.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the API server answers %d", response.StatusCode)
	}
	return read(json.NewDecoder(response.Body))
}
