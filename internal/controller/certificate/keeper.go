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
	Log    logr.Logger
}

// Keeper keeps the certificate.
type Keeper struct {
	Options
	changed notice.Notice

	mu     sync.Mutex
	served *served
	// bundle are the CAs that callers are to trust, and end is when the one ends that
	// signs.
	bundle []*x509.Certificate
	end    time.Time
	// wrong is why the last look failed, warnings what it found, and told what of both
	// was logged.
	wrong    error
	warnings []string
	told     string
	made     map[string]int
	failures int
}

// NewKeeper makes a Keeper. Nothing is sent before Run.
func NewKeeper(o Options) *Keeper {
	return &Keeper{Options: o, changed: notice.New(), made: map[string]int{}, wrong: errors.New("it was not read yet")}
}

// Notice says that webhooks have changed.
func (k *Keeper) Notice() { k.changed.Give() }

// Ready is always nil: the server says itself that it has no certificate.
func (k *Keeper) Ready() error { return nil }

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

// look reads what there is, replaces what is due, and takes over what is to be shown. It
// reports whether something is still to be done.
func (k *Keeper) look(ctx context.Context) (soon bool) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	warnings, pending, err := k.keep(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wrong = err
	if err == nil || len(warnings) > 0 {
		k.warnings = warnings
	}
	raced := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	if err != nil && !raced {
		k.failures++
	}
	k.tell(raced)
	return pending || err != nil || k.served == nil
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

// keep is one look. pending is set where something is to be done soon.
func (k *Keeper) keep(ctx context.Context) (warnings []string, pending bool, err error) {
	secret, there, err := k.secret(ctx)
	if err != nil {
		return nil, false, err
	}
	now := k.Clock.Now()
	c := &content{lost: true}
	if there {
		c = read(secret, k.ServerNames, now)
	}
	warnings = c.problems
	if !there && k.Shows() != nothing {
		warnings = append(warnings, "the Secret "+k.place()+", in which the certificate was kept, is gone: another is made, with another CA, and what is shown stays")
	}
	k.mu.Lock()
	own := k.served
	k.mu.Unlock()
	if !own.usable(now) {
		own = nil
	}
	if leads := k.Leads(); !leads && own != nil && there {
		return k.follow(ctx, c, own, warnings)
	} else {
		return k.replace(ctx, secret, there, c, own, leads, warnings)
	}
}

// follow takes over what another replica has put into the Secret.
func (k *Keeper) follow(ctx context.Context, c *content, own *served, warnings []string) ([]string, bool, error) {
	if c.pair == nil || c.pair.pair.Leaf.Equal(own.pair.Leaf) {
		k.note(c, own, nil)
		return append(warnings, c.foretold(k.place(), k.Lifetimes)...), false, nil
	}
	all, err := k.read(ctx)
	if err != nil {
		return warnings, false, err
	}
	own, waits := k.choose(c, own, all)
	k.note(c, own, nil)
	return append(warnings, waits...), len(waits) > 0, nil
}

// choose says which certificate to show: the one of the Secret, unless some webhook does
// not trust its CA and what is shown is still good.
func (k *Keeper) choose(c *content, own *served, all hooks) (*served, []string) {
	if c.pair == nil {
		return own, nil
	}
	if lack := all.lack(c.pair.ca); own != nil && !c.pair.pair.Leaf.Equal(own.pair.Leaf) && len(lack) > 0 {
		return own, []string{"the certificate of the Secret " + k.place() + " is not shown yet, as " + lacking(lack)}
	}
	return c.pair, nil
}

// replace replaces what is due, in the Secret first and then in the caBundles.
func (k *Keeper) replace(ctx context.Context, secret *corev1.Secret, there bool, c *content, own *served, leads bool, warnings []string) ([]string, bool, error) {
	all, err := k.read(ctx)
	if err != nil {
		// What is there can be shown all the same, where there is nothing else.
		if own == nil && c.pair != nil {
			k.note(c, c.pair, nil)
		}
		return warnings, false, err
	}
	p := &plan{Lifetimes: k.Lifetimes, names: k.ServerNames, now: k.Clock.Now(), hooks: all, own: own, leads: leads, lags: k.lags}
	if err := p.follow(c); err != nil {
		return warnings, false, err
	}
	if err := k.write(ctx, secret, there, c); err != nil {
		return warnings, false, err
	}
	for _, made := range p.made {
		k.Log.Info("made for the Secret", "what", made, "namespace", k.Namespace, "secret", k.Secret)
	}
	target := add(c.bundle, k.said(all)...)
	own, waits := k.choose(c, own, all)
	if own != nil {
		target = add(target, own.ca)
	}
	k.note(c, own, p.made)
	written, err := k.put(ctx, all, target, !leads)
	if written > 0 {
		k.Log.Info("caBundles were written", "configurations", written, "cas", len(target))
	}
	if p.waiting != "" {
		waits = append(waits, "the next step with the certificate of the Secret "+k.place()+" waits: "+p.waiting)
	}
	waits = append(waits, injected(all, target)...)
	return slices.Concat(warnings, waits, c.foretold(k.place(), k.Lifetimes)), written > 0 || len(p.made) > 0 || c.pair == nil || c.next != nil && c.trusted.IsZero(), err
}

// injected names the webhooks whose caBundles are another program's, and not these.
func injected(all hooks, target []*x509.Certificate) []string {
	var names []string
	for i := range all {
		if all[i].injected && !sameBundle(&all[i], target) {
			names = append(names, all[i].String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"another program fills in the caBundle of these webhooks, by their annotation, and it is not that of this certificate: " + few(names)}
}

// said are the CAs of what replicas say that they show, as far as some webhook trusts
// them: none of them is taken away meanwhile.
func (k *Keeper) said(all hooks) []*x509.Certificate {
	shows, _ := k.Others()
	var cas []*x509.Certificate
	for _, ca := range all.bundle(k.Clock.Now()) {
		for _, one := range shows {
			if one == fingerprint(ca) {
				cas = append(cas, ca)
			}
		}
	}
	return cas
}

// nothing is what a replica says that shows no certificate yet.
const nothing = "none"

// lags names the replicas that show, or may show, a certificate of another CA.
func (k *Keeper) lags(cas []*x509.Certificate) []string {
	shows, known := k.Others()
	if !known {
		return []string{"the Leases of replicas cannot be read"}
	}
	var names []string
	for identity, one := range shows {
		if one != nothing && !slices.ContainsFunc(cas, func(ca *x509.Certificate) bool { return fingerprint(ca) == one }) {
			names = append(names, identity)
		}
	}
	slices.Sort(names)
	return names
}

func (k *Keeper) place() string { return k.Namespace + "/" + k.Secret }

// secret reads the Secret; an empty one where there is none.
func (k *Keeper) secret(ctx context.Context) (secret *corev1.Secret, there bool, err error) {
	secret, err = k.Client.CoreV1().Secrets(k.Namespace).Get(ctx, k.Secret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return empty(k.Namespace, k.Secret), false, nil
	case err != nil:
		return nil, false, fmt.Errorf("the Secret %s, in which the certificate is kept, cannot be read: %w", k.place(), err)
	case secret.Type != "" && secret.Type != corev1.SecretTypeOpaque && secret.Type != corev1.SecretTypeTLS:
		return nil, false, fmt.Errorf("the Secret %s has the type %s, which does not change; delete it, or give another --certificate-secret: a certificate is kept in one of the type %s or %s", k.place(), secret.Type, corev1.SecretTypeOpaque, corev1.SecretTypeTLS)
	case secret.Immutable != nil && *secret.Immutable:
		return nil, false, fmt.Errorf("the Secret %s is immutable, and a certificate in it could not be renewed; delete it, or give another --certificate-secret", k.place())
	}
	return secret, true, nil
}

// write writes the Secret where it holds something else. Another that wrote in between
// is not overwritten: it is read again at the next look.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, there bool, c *content) error {
	wanted := secret.DeepCopy()
	c.put(wanted)
	if there && apiequality.Semantic.DeepEqual(secret.Data, wanted.Data) && apiequality.Semantic.DeepEqual(secret.Annotations, wanted.Annotations) {
		return nil
	}
	var err error
	if there {
		_, err = k.Client.CoreV1().Secrets(k.Namespace).Update(ctx, wanted, metav1.UpdateOptions{FieldManager: FieldOwner})
	} else {
		_, err = k.Client.CoreV1().Secrets(k.Namespace).Create(ctx, wanted, metav1.CreateOptions{FieldManager: FieldOwner})
	}
	if err != nil {
		return fmt.Errorf("the Secret %s, in which the certificate is kept, cannot be written: %w", k.place(), err)
	}
	return nil
}

// note takes over what was found, and what of it is shown.
func (k *Keeper) note(c *content, show *served, made []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if show != nil && (k.served == nil || !show.pair.Leaf.Equal(k.served.pair.Leaf)) {
		k.Log.Info("another certificate is shown", "until", show.pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if show != nil {
		k.served = show
	}
	k.bundle, k.end = c.bundle, time.Time{}
	if c.ca != nil {
		k.end = c.ca.NotAfter
	} else if k.served != nil {
		k.end = k.served.ca.NotAfter
	}
	for _, what := range made {
		k.made[what]++
	}
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
