package webhooks

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/controller/shipped"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestNothingFollowsWhatIsNotThere: where the leader keeps what is shipped, webhooks follow
// policies only once that is complete, since they would refuse just as well.
func TestNothingFollowsWhatIsNotThere(t *testing.T) {
	w := newWorld(t, clusterPolicy("a", about("Secret")))
	api := w.client.AdmissionregistrationV1()
	if _, err := api.ValidatingWebhookConfigurations().Update(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport"}}, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	answered := false
	keeper, err := shipped.New(shipped.Options{
		Client: w.client, Name: "sallyport", CA: func() ([]byte, error) { return []byte("CA"), nil }, Clock: w.clock, Log: logr.Discard(),
		Installed: wiring.Installed{Namespace: "sallyport-system", Name: "sallyport", Port: 443, FailurePolicy: admissionregistrationv1.Fail, TimeoutSeconds: 5},
		Canary:    func(context.Context) bool { return answered },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Shipped = keeper
	ref := stored.Ref{Kind: "ClusterPolicy", Name: "a"}
	w.follows(t)
	for range 2 {
		w.clock.Step(lookEvery)
		if asks := w.looks(t); len(asks) > 0 {
			t.Errorf("before webhooks are answered, %q follow", asks)
		}
		if got := w.condition(t, ref); got.Status != metav1.ConditionFalse {
			t.Errorf("%+v", got)
		}
	}
	answered = true
	if asks := w.looks(t); len(asks) == 0 {
		t.Error("nothing follows")
	}
	if got := w.condition(t, ref); got.Status != metav1.ConditionTrue {
		t.Errorf("%+v", got)
	}
}
