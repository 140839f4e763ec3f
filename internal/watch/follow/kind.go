package follow

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// Definition is what counts of a CustomResourceDefinition.
type Definition struct {
	UID string
	// Leaving is set once it was deleted: then its objects are deleted one by one, and
	// in the end it is not there any more.
	Leaving bool
}

// Definitions reads CustomResourceDefinitions from the API server, and not from what
// is watched: whoever hears that an object was deleted has to know whether that was
// because of its kind.
type Definitions interface {
	// Definition reads one by its name. That there is none is an error of the API
	// server.
	Definition(ctx context.Context, name string) (Definition, error)
}

// Kind is a kind of ours, which exists while its CustomResourceDefinition does. A
// nil Kind is one of Kubernetes itself, which always exists.
type Kind struct {
	// Name of the definition, such as denypolicies.sallyport.io.
	Name string
	From Definitions
}

// read reads the definition.
func (k *Kind) read(ctx context.Context) (Definition, error) {
	if k == nil {
		return Definition{}, nil
	}
	d, err := k.From.Definition(ctx, k.Name)
	switch {
	case apierrors.IsNotFound(err):
		return d, errGone
	case err != nil:
		return d, fmt.Errorf("whether the CustomResourceDefinition %s is there cannot be read: %w", k.Name, err)
	}
	return d, nil
}

// explain finds out whether a kind that cannot be found was taken away.
func (k *Kind) explain(ctx context.Context, err error) error {
	if k == nil || !apierrors.IsNotFound(err) {
		return err
	}
	if _, why := k.read(ctx); why != nil {
		return why
	}
	return fmt.Errorf("its CustomResourceDefinition is there, and the API server does not serve it: %w", err)
}

// definitionTimeout bounds the read of a definition.
const definitionTimeout = 5 * time.Second

// definitions reads the metadata of definitions.
type definitions struct{ client metadata.Interface }

// NewDefinitions reads those of the API server that config leads to.
func NewDefinitions(config *rest.Config) (Definitions, error) {
	client, err := metadata.NewForConfig(pace.Watches.Of(config))
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinitions cannot be read: %w", err)
	}
	return &definitions{client}, nil
}

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Definition reads one.
func (d *definitions) Definition(ctx context.Context, name string) (Definition, error) {
	ctx, cancel := context.WithTimeout(ctx, definitionTimeout)
	defer cancel()
	object, err := d.client.Resource(definitionResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Definition{}, err
	}
	return Definition{UID: string(object.UID), Leaving: object.DeletionTimestamp != nil}, nil
}
