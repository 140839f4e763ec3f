package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var (
	_ request.KindNamer = (*Live)(nil)
	_ request.KindNamer = (*Cached)(nil)
	_ request.KindNamer = (*perRequest)(nil)
)

// KindOf reads which kind a resource is of, once.
func (p *perRequest) KindOf(ctx context.Context, resource schema.GroupVersionResource) (string, error) {
	return p.kinds.get(ctx, resource, func() (string, error) {
		namer, ok := p.cluster.(request.KindNamer)
		if !ok {
			return "", fmt.Errorf("nothing here knows which kinds %s has", resource.GroupVersion())
		}
		return namer.KindOf(ctx, resource)
	})
}
