package effect

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// Condition is the condition Effective of an object that works: False where
// something in it has less effect than it looks, with the reason of the first. Its
// generation and times are for the caller to fill in.
func Condition(less []source.Problem) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionEffective, Status: metav1.ConditionTrue, Reason: "AsWritten", Message: "all that is written has an effect",
	}
	if len(less) == 0 {
		return c
	}
	words := make([]string, len(less))
	for i := range less {
		words[i] = less[i].At()
	}
	c.Status, c.Reason, c.Message = metav1.ConditionFalse, less[0].Reason, strings.Join(words, "; ")
	return c
}
