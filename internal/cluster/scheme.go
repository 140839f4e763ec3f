package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// NewScheme knows the kinds of Kubernetes and ours.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("the kinds of Kubernetes cannot be registered: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("the kinds of Sallyport cannot be registered: %w", err)
	}
	return scheme, nil
}
