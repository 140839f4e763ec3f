// Package certificate keeps the certificate that replicas show, with the CA that signs
// it, in one Secret, and the caBundles of the webhooks that lead here. At no time does a
// caBundle lack the CA of a certificate that some replica shows.
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// Times of the keeper.
const (
	// lookEvery is how often the Secret and, by the replica that leads, the webhooks are
	// read, and lookSoon where something is still to be done.
	lookEvery = 5 * time.Second
	lookSoon  = time.Second
	// lookLimit bounds one look.
	lookLimit = 15 * time.Second
)

// Options are what a Keeper is made of.
type Options struct {
	Bundles
	Lifetimes
	// Namespace and Secret are where the certificate is kept.
	Namespace, Secret string
	// ServerNames are those that the certificate is for.
	ServerNames []string
	// Leads reports whether this replica is the one that replaces.
	Leads func() bool
	// Others are the other replicas by their identities, each with what Shows returns
	// there; known is false where that is not known.
	Others func() (shows map[string]string, known bool)
	Clock  clock.WithTicker
	// Ahead is how far Clock is ahead of that of the API server, which is the one that
	// goes for certificates: less than nothing where it is behind.
	Ahead func() time.Duration
	Log   logr.Logger
}

// Keeper keeps the certificate.
type Keeper struct {
	Options
	changed notice.Notice

	mu     sync.Mutex
	served *served
	// believed is set once every webhook was seen to trust what is shown, and untrusted
	// says until then why that is not so.
	believed  bool
	untrusted string
	// awaited is the CA of which a certificate is to be shown where none is; nil for none.
	awaited *x509.Certificate
	// bundle are the CAs that callers are to trust, end is when the one ends that signs,
	// and next from when on certificates of another are shown; zero where that is not
	// known.
	bundle    []*x509.Certificate
	end, next time.Time
	// spare is a CA that was made and is in no Secret, and mine the last that was made.
	spare *selfsigned.CA
	mine  *x509.Certificate
	// wrong is why the last look failed, warnings what it found, and told what of both
	// was logged. waits is set where something due cannot be done yet.
	wrong    error
	warnings []string
	waits    bool
	told     string
	made     map[string]int
	failures int
}

// NewKeeper makes a Keeper. Nothing is sent before Run.
func NewKeeper(o Options) *Keeper {
	return &Keeper{Options: o, changed: notice.New(), made: map[string]int{}, wrong: errors.New("it was not read yet"), untrusted: "what webhooks trust was not read yet"}
}

// Notice says that webhooks have changed.
func (k *Keeper) Notice() { k.changed.Give() }

// Ready says why this replica is not to be asked yet: some webhook does not trust what it
// shows. Once all did, what becomes of webhooks is not a reason to take a replica away.
func (k *Keeper) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.served == nil || k.believed {
		// The server says itself that it has no certificate.
		return nil
	}
	return fmt.Errorf("no API server is known to believe the certificate: %s", k.untrusted)
}

// Run keeps the certificate until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		next := lookEvery
		if k.look(ctx) {
			next = lookSoon
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.Clock.After(next):
		case <-k.changed:
		}
	}
}

// look is one look, and notes what came of it. It reports whether something is still to be
// done.
func (k *Keeper) look(ctx context.Context) (soon bool) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	l := &look{Keeper: k}
	err := l.keep(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wrong, k.waits = err, len(l.waits) > 0
	if warnings := slices.Concat(l.warnings, l.waits); err == nil || len(warnings) > 0 {
		k.warnings = warnings
	}
	raced := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	if err != nil && !raced {
		k.failures++
	}
	k.tell(raced)
	return l.soon || err != nil || k.served == nil || !k.believed
}

// tell logs what has come to be wrong, once.
func (k *Keeper) tell(raced bool) {
	said := fmt.Sprint(k.wrong, k.warnings)
	if said == k.told || raced {
		return
	}
	k.told = said
	if k.wrong != nil {
		k.Log.Error(k.wrong, "the certificate cannot be kept; it is tried again, and what is shown stays", "namespace", k.Namespace, "secret", k.Secret)
	}
	for _, warning := range k.warnings {
		k.Log.Info("about the certificate", "warning", warning)
	}
}

func (k *Keeper) place() string { return k.Namespace + "/" + k.Secret }

// shownAndBelieved is what is shown, once every webhook was seen to trust it; nil for
// nothing.
func (k *Keeper) shownAndBelieved() *served {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.believed {
		return nil
	}
	return k.served
}

// lastMade is the last CA that this replica made; nil for none.
func (k *Keeper) lastMade() *x509.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mine
}

// readSecret reads the Secret; an empty one where there is none. fixed says why one that was
// read cannot be written.
func (k *Keeper) readSecret(ctx context.Context) (secret *corev1.Secret, there bool, fixed, err error) {
	secret, err = k.Client.CoreV1().Secrets(k.Namespace).Get(ctx, k.Secret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return empty(k.Namespace, k.Secret), false, nil, nil
	case err != nil:
		return nil, false, nil, fmt.Errorf("the Secret %s, in which the certificate is kept, cannot be read: %w", k.place(), err)
	case secret.Type != "" && secret.Type != corev1.SecretTypeOpaque && secret.Type != corev1.SecretTypeTLS:
		fixed = fmt.Errorf("the Secret %s has the type %s, which does not change; delete it, or give another --certificate-secret: a certificate is kept in one of the type %s or %s", k.place(), secret.Type, corev1.SecretTypeOpaque, corev1.SecretTypeTLS)
	case secret.Immutable != nil && *secret.Immutable:
		fixed = fmt.Errorf("the Secret %s is immutable, and a certificate in it could not be renewed; delete it, or give another --certificate-secret", k.place())
	}
	return secret, true, fixed, nil
}

// write writes the Secret where it holds something else. Another that wrote in between
// is not overwritten: it is read again at the next look.
func (l *look) write(ctx context.Context, c *content) error {
	wanted := l.secret.DeepCopy()
	c.put(wanted)
	if l.there && apiequality.Semantic.DeepEqual(l.secret.Data, wanted.Data) && apiequality.Semantic.DeepEqual(l.secret.Annotations, wanted.Annotations) {
		return nil
	}
	var err error
	if l.there {
		_, err = l.Client.CoreV1().Secrets(l.Namespace).Update(ctx, wanted, metav1.UpdateOptions{FieldManager: FieldOwner})
	} else {
		_, err = l.Client.CoreV1().Secrets(l.Namespace).Create(ctx, wanted, metav1.CreateOptions{FieldManager: FieldOwner})
	}
	if err != nil {
		return fmt.Errorf("the Secret %s, in which the certificate is kept, cannot be written: %w", l.place(), err)
	}
	return nil
}

// Certificate is the one to show; an error says why there is none yet.
func (k *Keeper) Certificate() (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.served != nil:
		return k.served.pair, nil
	case k.wrong != nil:
		return nil, fmt.Errorf("there is no certificate yet: %w", k.wrong)
	case len(k.warnings) > 0:
		return nil, fmt.Errorf("there is no certificate yet: %s", k.warnings[len(k.warnings)-1])
	}
	return nil, errors.New("there is no certificate yet")
}
