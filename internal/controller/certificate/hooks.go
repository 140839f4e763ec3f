package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// FieldOwner is in whose name caBundles are written.
const FieldOwner = "sallyport-certificates"

// Place is where API servers find this Sallyport: a Service with its port, or a host
// with a port.
type Place struct {
	Namespace, Service string
	Host               string
	Port               int32
}

// Names are those that a certificate has to be for there.
func (p Place) Names() []string {
	if p.Host != "" {
		return []string{p.Host}
	}
	name := p.Service + "." + p.Namespace + ".svc"
	return []string{name, name + ".cluster.local"}
}

// leads reports whether a webhook leads there.
func (p Place) leads(client *admissionregistrationv1.WebhookClientConfig) bool {
	if s := client.Service; s != nil {
		port := int32(443)
		if s.Port != nil {
			port = *s.Port
		}
		return p.Service != "" && s.Namespace == p.Namespace && s.Name == p.Service && port == p.Port
	}
	if client.URL == nil || p.Host == "" {
		return false
	}
	parsed, err := url.Parse(*client.URL)
	if err != nil {
		return false
	}
	port := parsed.Port()
	if port == "" {
		port = "443"
	}
	return parsed.Hostname() == p.Host && port == strconv.Itoa(int(p.Port))
}

// String is how the flag gives it.
func (p Place) String() string {
	if p.Host != "" {
		return "https://" + net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port)))
	}
	return fmt.Sprintf("%s/%s:%d", p.Namespace, p.Service, p.Port)
}

// hook is a webhook that leads here.
type hook struct {
	configuration configuration
	// version is that of the configuration, and at its place there.
	version string
	at      int
	name    string
	client  admissionregistrationv1.WebhookClientConfig
	// injected is set where another program fills in the caBundle.
	injected bool
	cas      []*x509.Certificate
}

// String names it.
func (h *hook) String() string { return h.configuration.String() + " " + h.name }

// configuration is one that may have webhooks that lead here.
type configuration struct {
	mutates bool
	name    string
}

// String names it.
func (c configuration) String() string {
	if c.mutates {
		return "MutatingWebhookConfiguration " + c.name
	}
	return "ValidatingWebhookConfiguration " + c.name
}

type hooks []hook

// trusted are all certificates that the webhooks trust: those of CAs, and those of servers
// themselves.
func (all hooks) trusted() []*x509.Certificate {
	var trusted []*x509.Certificate
	for i := range all {
		trusted = add(trusted, all[i].cas...)
	}
	return trusted
}

// bundle are the CAs that the webhooks trust.
func (all hooks) bundle() []*x509.Certificate {
	return slices.DeleteFunc(all.trusted(), func(ca *x509.Certificate) bool { return selfsigned.CheckCA(ca) != nil })
}

// trustAny reports whether some webhook trusts something, so that it may reach a replica.
func (all hooks) trustAny(now time.Time) bool {
	return slices.ContainsFunc(all.trusted(), func(ca *x509.Certificate) bool { return now.Before(ca.NotAfter) })
}

// lack names the webhooks that do not trust a CA.
func (all hooks) lack(ca *x509.Certificate) []string {
	var names []string
	for i := range all {
		if !holds(all[i].cas, ca) {
			names = append(names, all[i].String())
		}
	}
	return names
}

// injectors are the annotations by which another program fills in caBundles.
var injectors = []string{"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca"}

// Bundles are the caBundles of webhooks that lead to a place.
type Bundles struct {
	Client kubernetes.Interface
	// Names are those of the configurations, of both kinds.
	Names []string
	// Like has the name of a configuration whose webhooks lead where those of another do:
	// who fills in the caBundles of the other brings about those of this one.
	Like  map[string]string
	Place Place
}

// read reads the webhooks that lead to the place.
func (b *Bundles) read(ctx context.Context) (hooks, error) {
	var all hooks
	api := b.Client.AdmissionregistrationV1()
	injected := map[configuration]bool{}
	note := func(of configuration, meta *metav1.ObjectMeta) {
		injected[of] = slices.ContainsFunc(injectors, func(a string) bool { return meta.Annotations[a] != "" })
	}
	for _, name := range b.Names {
		judging, err := api.ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("the %s cannot be read: %w", configuration{false, name}, err)
		}
		if err == nil {
			note(configuration{false, name}, &judging.ObjectMeta)
			for i := range judging.Webhooks {
				w := &judging.Webhooks[i]
				all = b.take(all, hook{configuration: configuration{false, name}, version: judging.ResourceVersion, at: i, name: w.Name, client: w.ClientConfig})
			}
		}
		changing, err := api.MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("the %s cannot be read: %w", configuration{true, name}, err)
		}
		if err == nil {
			note(configuration{true, name}, &changing.ObjectMeta)
			for i := range changing.Webhooks {
				w := &changing.Webhooks[i]
				all = b.take(all, hook{configuration: configuration{true, name}, version: changing.ResourceVersion, at: i, name: w.Name, client: w.ClientConfig})
			}
		}
	}
	for i := range all {
		of := all[i].configuration
		all[i].injected = injected[of] || injected[configuration{of.mutates, b.Like[of.name]}]
	}
	return all, nil
}

// take adds a webhook, if it leads to the place.
func (b *Bundles) take(all hooks, h hook) hooks {
	if !b.Place.leads(&h.client) {
		return all
	}
	// What cannot be read of a caBundle trusts nothing; API servers go by the rest too.
	h.cas, _ = selfsigned.Certificates(h.client.CABundle)
	return append(all, h)
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// put has each of these webhooks trust a bundle, and returns how many configurations
// were written. With grow, what they trust beside it stays. Nothing is made that is not
// there, and nothing is written into a configuration that has changed since it was read:
// again is set then.
func (b *Bundles) put(ctx context.Context, all hooks, bundle []*x509.Certificate, grow bool) (written int, again bool, err error) {
	patches := map[configuration][]operation{}
	var order []configuration
	for i := range all {
		h := &all[i]
		wanted := bundle
		if grow {
			wanted = add(slices.Clone(h.cas), bundle...)
		}
		if h.injected || len(wanted) == 0 || sameBundle(h, wanted) {
			continue
		}
		if patches[h.configuration] == nil {
			order = append(order, h.configuration)
			patches[h.configuration] = []operation{{"add", "/metadata/resourceVersion", h.version}}
		}
		patches[h.configuration] = append(patches[h.configuration], operation{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", h.at), text(wanted)})
	}
	var errs []error
	for _, of := range order {
		switch err := b.patch(ctx, of, patches[of]); {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			again = true
		case err != nil:
			errs = append(errs, fmt.Errorf("the caBundles of the %s cannot be written: %w", of, err))
		default:
			written++
		}
	}
	return written, again, errors.Join(errs...)
}

// sameBundle reports whether a webhook trusts just these CAs.
func sameBundle(h *hook, wanted []*x509.Certificate) bool {
	return len(h.cas) == len(wanted) && !slices.ContainsFunc(wanted, func(ca *x509.Certificate) bool { return !holds(h.cas, ca) }) &&
		bytes.Count(h.client.CABundle, []byte("-----BEGIN")) == len(wanted)
}

func (b *Bundles) patch(ctx context.Context, of configuration, operations []operation) error {
	raw, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	api, options := b.Client.AdmissionregistrationV1(), metav1.PatchOptions{FieldManager: FieldOwner}
	if of.mutates {
		_, err = api.MutatingWebhookConfigurations().Patch(ctx, of.name, types.JSONPatchType, raw, options)
	} else {
		_, err = api.ValidatingWebhookConfigurations().Patch(ctx, of.name, types.JSONPatchType, raw, options)
	}
	return err
}
