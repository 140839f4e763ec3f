package contextgate

import "context"

type quietKey struct{}

// Quietly makes a context for what may be made up by whoever asks: what is refused under it
// is told to nobody but him, and what is found is kept apart.
func Quietly(ctx context.Context) context.Context {
	return context.WithValue(ctx, quietKey{}, true)
}

// Quiet reports whether a context came from Quietly.
func Quiet(ctx context.Context) bool { return ctx.Value(quietKey{}) != nil }
