package clusters

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

// The reasons why there is no kubeconfig.
const (
	ReasonSecretMissing    = "SecretMissing"
	ReasonSecretUnreadable = "SecretUnreadable"
)

// secrets watches the Secrets of one namespace that are asked for, each by its
// name: no other is ever read, and RBAC can be as narrow (resourceNames).
type secrets struct {
	from      cache.Getter
	namespace string
	followed  follow.Options
	changed   func()

	mu      sync.Mutex
	watched map[string]*watchedSecret
	running sync.WaitGroup
}

type watchedSecret struct {
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc

	mu  sync.Mutex
	err error
}

// newSecrets follows Secrets in the way of followed.
func newSecrets(from cache.Getter, namespace string, followed follow.Options, changed func()) *secrets {
	return &secrets{from: from, namespace: namespace, followed: followed, changed: changed, watched: map[string]*watchedSecret{}}
}

// want watches the Secrets with these names from now on, until ctx ends, and no
// others any more.
func (s *secrets) want(ctx context.Context, names map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, w := range maps.All(s.watched) {
		if !names[name] {
			w.cancel()
			delete(s.watched, name)
		}
	}
	for name := range names {
		if s.watched[name] != nil {
			continue
		}
		w, err := s.watch(ctx, name)
		if err != nil {
			return fmt.Errorf("the Secret %s/%s cannot be watched: %w", s.namespace, name, err)
		}
		s.watched[name] = w
	}
	return nil
}

func (s *secrets) watch(ctx context.Context, name string) (*watchedSecret, error) {
	w := &watchedSecret{}
	followed := s.followed
	followed.Failed = func(err error) {
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
		s.changed()
	}
	w.informer = cache.NewSharedIndexInformerWithOptions(
		follow.Source(cache.NewListWatchFromClient(s.from, "secrets", s.namespace, fields.OneTermEqualSelector(metav1.ObjectNameField, name)), followed),
		&corev1.Secret{}, cache.SharedIndexInformerOptions{ObjectDescription: "a kubeconfig"})
	registration, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { s.changed() }, UpdateFunc: func(any, any) { s.changed() }, DeleteFunc: func(any) { s.changed() },
	})
	if err != nil {
		return nil, err
	}
	ctx, w.cancel = context.WithCancel(ctx)
	s.running.Go(func() { w.informer.RunWithContext(ctx) })
	// That there is no such Secret is news as well.
	s.running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			s.changed()
		}
	})
	return w, nil
}

// tried reports whether each Secret was read once, or could not be.
func (s *secrets) tried() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watched {
		if !w.informer.HasSynced() && w.failure() == nil {
			return false
		}
	}
	return true
}

func (w *watchedSecret) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// value gives what stands in a key of a Secret, or says why it cannot be read.
func (s *secrets) value(name, key string) ([]byte, Problem) {
	s.mu.Lock()
	w := s.watched[name]
	s.mu.Unlock()
	full := s.namespace + "/" + name
	if w == nil || !w.informer.HasSynced() {
		problem := Problem{ReasonSecretUnreadable, "the Secret " + full + " with its kubeconfig was not read yet"}
		if w == nil {
			return nil, problem
		}
		switch err := w.failure(); {
		case apierrors.IsForbidden(err):
			problem.Message = "Sallyport's account may not get, list and watch the Secret " + full + " with its kubeconfig"
		case err != nil:
			problem.Message = "the Secret " + full + " with its kubeconfig cannot be read: " + err.Error()
		}
		return nil, problem
	}
	for _, object := range w.informer.GetStore().List() {
		secret, ok := object.(*corev1.Secret)
		if !ok || secret.Name != name || secret.Namespace != s.namespace {
			continue
		}
		if value, ok := secret.Data[key]; ok {
			return value, Problem{}
		}
		return nil, Problem{ReasonSecretMissing, fmt.Sprintf("the Secret %s has no key %q, which its kubeconfig should stand in", full, key)}
	}
	return nil, Problem{ReasonSecretMissing, "there is no Secret " + full + ", which its kubeconfig should stand in"}
}
