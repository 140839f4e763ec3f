package exception

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestReadApproval tells a record that cannot be read from none.
func TestReadApproval(t *testing.T) {
	for text, want := range map[string]struct{ record, wrong bool }{
		"": {}, "yes": {wrong: true}, `{"by":"dave","for":"all"}`: {wrong: true}, `{"by":"dave"}`: {record: true},
	} {
		record, err := ReadApproval(&metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationApproval: text}})
		if (record != nil) != want.record || (err != nil) != want.wrong {
			t.Errorf("%q: %+v, %v", text, record, err)
		}
	}
}
