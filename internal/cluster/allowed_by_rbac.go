package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// AllowedByRBAC reports what the RBAC objects of the files allow.
func (f *Files) AllowedByRBAC(_ context.Context, user request.User, attributes request.Attributes) (bool, error) {
	return f.authorizer.allowed(user, attributes)
}

// AllowedByRBAC reports what the roles and bindings that are watched allow.
func (l *Live) AllowedByRBAC(_ context.Context, user request.User, attributes request.Attributes) (bool, error) {
	if l.rbac == nil {
		return false, fmt.Errorf("what roles allow is not known: %w", ErrRBACNotWatched)
	}
	if err := l.rbac.ready(); err != nil {
		return false, fmt.Errorf("what roles allow is not known: %w", err)
	}
	return l.rbac.snapshot().authorizer.allowed(user, attributes)
}

// AllowedByRBAC asks the cluster behind.
func (p *perRequest) AllowedByRBAC(ctx context.Context, user request.User, attributes request.Attributes) (bool, error) {
	reader, ok := p.cluster.(request.RBACReader)
	if !ok {
		return false, errors.New("what roles allow cannot be read here")
	}
	return reader.AllowedByRBAC(ctx, user, attributes)
}
