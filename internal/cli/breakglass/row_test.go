package breakglass

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
)

// noon is when sessions are shown.
var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// TestWhatNobodySees shows of sessions whose uses nobody sees that these are not known,
// and whose a session is.
func TestWhatNobodySees(t *testing.T) {
	used := metav1.NewTime(noon)
	entries := func(is metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: breakglass.ConditionEntriesKnown, Status: is, Message: "who enters is not seen"}
	}
	for _, tt := range []struct {
		name       string
		used       *metav1.Time
		conditions []metav1.Condition
		want       string
		note       bool
	}{
		{"nobody sees it", nil, []metav1.Condition{entries(metav1.ConditionUnknown)}, "unknown", true},
		{"it was not used", nil, []metav1.Condition{entries(metav1.ConditionTrue)}, "-", false},
		{"it is not said", nil, nil, "-", false},
		{"it was seen all the same", &used, []metav1.Condition{entries(metav1.ConditionUnknown)}, timeOr(&used), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			object := &v1alpha1.BreakglassSession{}
			object.Name, object.Spec.User, object.Spec.UserUID = "s", "alice", "u-1"
			object.Status.LastUsedAt, object.Status.Conditions = tt.used, tt.conditions
			row := (&sessionObjects{}).row(object, noon)
			if got := row.lastUsed(); got != tt.want || row.UserUID != "u-1" {
				t.Errorf("last used %s, of %q", got, row.UserUID)
			}
			var out bytes.Buffer
			if err := writeSessions(&out, []sessionRow{row}, true); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), "note: who enters is not seen") != tt.note || !strings.Contains(out.String(), tt.want) {
				t.Error(out.String())
			}
		})
	}
}
