package cli

import (
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/guest"
	"github.com/sallyport-io/sallyport/internal/policy"
)

// describe says of a policy that is a module what became of it.
func (h *moduleHost) describe(ref policy.PolicyRef) policy.Description {
	p := h.store.Set().ModulePolicy(ref)
	if p == nil || !h.Hosts(p.Server) {
		return policy.Description{}
	}
	info, err := h.Status(p)
	if err != nil {
		return policy.Description{NotReady: err, Reason: notReady(err)}
	}
	granted := metav1.Condition{
		Type: v1alpha1.ConditionContextGranted, Status: metav1.ConditionTrue, Reason: "Granted",
		Message: "the policy was granted all that its module declares to read",
	}
	if len(info.Missing) > 0 {
		granted.Status, granted.Reason = metav1.ConditionFalse, "NotGranted"
		granted.Message = "what the module declares to read and the policy was not granted is refused to it: " + strings.Join(info.Missing, "; ")
	}
	return policy.Description{Conditions: []metav1.Condition{granted}}
}

// notReady is why a module cannot be asked, in one word.
func notReady(err error) string {
	var waiting *guest.NotReady
	var refused *guest.SettingsRefused
	switch {
	case errors.As(err, &waiting) && waiting.Loading:
		return "ModuleLoading"
	case errors.As(err, &refused):
		return "SettingsRefused"
	}
	return "ModuleNotUsable"
}
