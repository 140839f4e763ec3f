package e2e

import (
	"fmt"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// BenchmarkIdentityReviews asks a real API server for the claims of one request:
// they are asked for at once, so that five take little longer than one.
func BenchmarkIdentityReviews(b *testing.B) {
	reviews, err := cluster.NewReviews(shared.Config)
	if err != nil {
		b.Fatal(err)
	}
	holder := request.User{Name: "bob", Groups: []string{"system:authenticated"}}
	for _, n := range []int{1, 5, 10} {
		claims := make([]identity.Claim, n)
		for i := range claims {
			claims[i] = identity.Claim{Key: fmt.Sprintf("key-%d", i), Value: "value"}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if answers := identity.Review(b.Context(), reviews, holder, claims, nil); !answers.Allowed() {
					b.Fatal(answers.Refused())
				}
			}
		})
	}
}
