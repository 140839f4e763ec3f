package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

var (
	began  = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	lives  = Lifetimes{CA: 400 * 24 * time.Hour, Certificate: 90 * 24 * time.Hour, Overlap: 10 * time.Minute}
	place  = Place{Namespace: "sallyport-system", Service: "sallyport", Port: 443}
	secret = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

// world is an API server with the replicas of one Sallyport.
type world struct {
	*testing.T
	client   *fake.Clientset
	clock    *clocktesting.FakeClock
	replicas []*replica
	version  int
	// wired is set once webhooks trust what is shown: from then on they always do.
	wired bool
}

// replica is one, as the others see it.
type replica struct {
	*Keeper
	leads bool
	// ahead is how far its clock is ahead of that of the world.
	ahead time.Duration
	// says is what its Lease says where it is of a version that keeps no certificate.
	says *string
}

func newWorld(t *testing.T, replicas int) *world {
	w := &world{T: t, clock: clocktesting.NewFakeClock(began), client: fake.NewClientset()}
	// The tracker has no versions of its own.
	w.client.PrependReactor("update", "validatingwebhookconfigurations", w.updated)
	w.client.PrependReactor("patch", "validatingwebhookconfigurations", w.patched)
	w.client.PrependReactor("patch", "mutatingwebhookconfigurations", w.patched)
	w.client.PrependReactor("*", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case clienttesting.CreateActionImpl:
			w.stamp(a.GetObject().(*corev1.Secret))
		case clienttesting.UpdateActionImpl:
			written := a.GetObject().(*corev1.Secret)
			if live := w.secret(); live == nil || live.ResourceVersion != written.ResourceVersion {
				return true, nil, apierrors.NewConflict(secret.GroupResource(), written.Name, nil)
			}
			w.stamp(written)
		}
		return false, nil, nil
	})
	for range replicas {
		w.replicas = append(w.replicas, w.replica())
	}
	w.replicas[0].leads = true
	return w
}

func (w *world) stamp(o metav1.Object) {
	w.version++
	o.SetResourceVersion(strconv.Itoa(w.version))
}

func (w *world) updated(a clienttesting.Action) (bool, runtime.Object, error) {
	w.stamp(a.(clienttesting.UpdateActionImpl).GetObject().(metav1.Object))
	return false, nil, nil
}

// patched does what an API server does with a patch that names a version.
func (w *world) patched(a clienttesting.Action) (bool, runtime.Object, error) {
	patch := a.(clienttesting.PatchActionImpl)
	live, err := w.client.Tracker().Get(patch.GetResource(), "", patch.GetName())
	if err != nil {
		return true, nil, err
	}
	live = live.DeepCopyObject()
	var operations []struct {
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(patch.GetPatch(), &operations); err != nil {
		return true, nil, err
	}
	for _, o := range operations {
		if o.Path == "/metadata/resourceVersion" {
			if string(o.Value) != strconv.Quote(live.(metav1.Object).GetResourceVersion()) {
				return true, nil, apierrors.NewConflict(patch.GetResource().GroupResource(), patch.GetName(), nil)
			}
			continue
		}
		var at int
		var bundle []byte
		if _, err := fmt.Sscanf(o.Path, "/webhooks/%d/clientConfig/caBundle", &at); err != nil {
			return true, nil, fmt.Errorf("%s: %w", o.Path, err)
		}
		if err := json.Unmarshal(o.Value, &bundle); err != nil {
			return true, nil, err
		}
		switch live := live.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			live.Webhooks[at].ClientConfig.CABundle = bundle
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			live.Webhooks[at].ClientConfig.CABundle = bundle
		}
	}
	w.stamp(live.(metav1.Object))
	return true, live, w.client.Tracker().Update(patch.GetResource(), live, "")
}

func (w *world) replica() *replica {
	r := &replica{}
	away := &skewed{w.clock, &r.ahead}
	r.Keeper = NewKeeper(Options{
		Bundles: Bundles{Client: w.client, Names: []string{"sallyport", "sallyport-rules"}, Like: map[string]string{"sallyport-rules": "sallyport"}, Place: place}, Lifetimes: lives,
		Namespace: "sallyport-system", Secret: "sallyport-tls", ServerNames: append([]string{"localhost"}, place.Names()...),
		Leads: func() bool { return r.leads }, Others: func() (map[string]string, bool) { return w.shown(r), true }, Clock: away, Ahead: func() time.Duration { return r.ahead }, Log: logr.Discard(),
	})
	return r
}

// skewed is a clock that is wrong.
type skewed struct {
	*clocktesting.FakeClock
	ahead *time.Duration
}

func (s *skewed) Now() time.Time { return s.FakeClock.Now().Add(*s.ahead) }

// shown is what the Leases of the others say.
func (w *world) shown(but *replica) map[string]string {
	shows := map[string]string{}
	for i, r := range w.replicas {
		if r != but {
			shows[fmt.Sprint("replica-", i)] = r.Shows()
			if r.says != nil {
				shows[fmt.Sprint("replica-", i)] = *r.says
			}
		}
	}
	return shows
}

// restart starts a replica again: it knows nothing any more.
func (w *world) restart(i int) {
	leads := w.replicas[i].leads
	w.replicas[i] = w.replica()
	w.replicas[i].leads = leads
}

// lead has another replica lead.
func (w *world) lead(i int) {
	for j, r := range w.replicas {
		r.leads = i == j
	}
}

// look has replicas look, all of them where none is given, and holds what they show to
// what webhooks trust after each.
func (w *world) look(which ...int) {
	w.Helper()
	if len(which) == 0 {
		for i := range w.replicas {
			which = append(which, i)
		}
	}
	for _, i := range which {
		w.replicas[i].look(w.Context())
		w.hold()
	}
}

// settle looks often enough for all that needs no time.
func (w *world) settle() {
	w.Helper()
	for range 3 {
		w.look()
	}
}

// hold says that every webhook trusts what each replica shows that may be asked.
func (w *world) hold() {
	w.Helper()
	for _, h := range w.hooks() {
		for i, r := range w.replicas {
			if r.served != nil && r.Ready() == nil && w.wired && !holds(h.cas, r.served.ca) {
				w.Fatalf("%s does not trust what replica %d shows", h.String(), i)
			}
			if r.served != nil && !r.served.usable(w.clock.Now()) {
				w.Fatalf("replica %d shows what is over", i)
			}
		}
	}
}

func (w *world) hooks() hooks {
	w.Helper()
	all, err := w.replicas[0].read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// wire makes the webhooks as they are shipped, trusting a bundle.
func (w *world) wire(bundle []byte) {
	w.Helper()
	ctx, api := w.Context(), w.client.AdmissionregistrationV1()
	service := func(name string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: place.Namespace, Name: name, Port: new(int32(443)), Path: new("/validate")}, CABundle: bundle}
	}
	judging := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport", Labels: map[string]string{"a": "b"}}, Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{Name: "pods.sallyport.io", ClientConfig: service("sallyport"), TimeoutSeconds: new(int32(5))}, {Name: "else.example.com", ClientConfig: service("else")}, {Name: "kinds.sallyport.io", ClientConfig: service("sallyport")},
	}}
	changing := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "sallyport-rules"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "fail.rules.sallyport.io", ClientConfig: service("sallyport")}}}
	if _, err := api.ValidatingWebhookConfigurations().Create(ctx, judging, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	if _, err := api.MutatingWebhookConfigurations().Create(ctx, changing, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// start brings the replicas to where each shows a certificate that webhooks trust.
func (w *world) start() {
	w.Helper()
	w.wire(nil)
	w.settle()
	w.wired = true
	w.settle()
	for i, r := range w.replicas {
		if err := r.answers(); err != nil {
			w.Fatalf("replica %d: %v", i, err)
		}
	}
}

func (w *world) secret() *corev1.Secret {
	w.Helper()
	found, err := w.client.Tracker().Get(secret, "sallyport-system", "sallyport-tls")
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return found.(*corev1.Secret).DeepCopy()
}

// change writes the Secret as somebody else would.
func (w *world) change(edit func(*corev1.Secret)) {
	w.Helper()
	s := w.secret()
	edit(s)
	if _, err := w.client.CoreV1().Secrets(s.Namespace).Update(w.Context(), s, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remove() {
	w.Helper()
	if err := w.client.Tracker().Delete(secret, "sallyport-system", "sallyport-tls"); err != nil {
		w.Fatal(err)
	}
}

// cas counts the CAs that the Secret has callers trust.
func (w *world) cas() int { return bytes.Count(w.secret().Data[BundleKey], []byte("BEGIN")) }

// answers says why API servers do not believe a replica, or are not sent to it.
func (r *replica) answers() error {
	_, err := r.Certificate()
	return errors.Join(err, r.Ready())
}

// said is all that a replica warns of.
func (r *replica) said() string { return strings.Join(r.Warnings(), "\n") }

// foreign is a pair of somebody else's, in PEM.
func (w *world) foreign(names ...string) *selfsigned.Pair {
	w.Helper()
	pair, err := selfsigned.New(names, w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
	return pair
}

// failing has requests fail until restored is called.
func (w *world) failing(verb, resource string, err error) (restored func()) {
	fails := true
	w.client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return fails, nil, err })
	return func() { fails = false }
}

// between has something happen once between the time that the first replica reads the
// Secret and that it writes it.
func (w *world) between(happens func()) (happened *bool) {
	happened = new(bool)
	leads := w.replicas[0].Leads
	w.replicas[0].Leads = func() bool {
		if !*happened {
			*happened = true
			happens()
		}
		return leads()
	}
	return happened
}
