package clusters

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

func secretOf(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

// readSecrets watches the Secrets of a server, in the namespace own, until the
// test ends.
func readSecrets(t *testing.T, s *clustertest.Server) (*secrets, context.Context) {
	t.Helper()
	core, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	read := newSecrets(core.CoreV1().RESTClient(), "own", follow.Options{Clock: clock.RealClock{}, Log: logr.Discard()}, func() {})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); read.running.Wait() })
	return read, ctx
}

func want(t *testing.T, ctx context.Context, s *secrets, names ...string) {
	t.Helper()
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	if err := s.want(ctx, set); err != nil {
		t.Fatal(err)
	}
}

func TestSecrets(t *testing.T) {
	server := clustertest.NewServer(t, secretOf("a", "value", "one"), secretOf("b", "value", "two"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "a"}, Data: map[string][]byte{"value": []byte("not this")}})
	read, ctx := readSecrets(t, server)
	if _, problem := read.value("a", "value"); problem.Reason != ReasonSecretUnreadable {
		t.Errorf("a Secret that nobody wants: %+v", problem)
	}
	want(t, ctx, read, "a", "c")
	await(t, read.tried)
	for _, tt := range []struct{ name, secret, key, value, reason string }{
		{"one that is there", "a", "value", "one", ""},
		{"another key", "a", "kubeconfig", "", ReasonSecretMissing},
		{"one that is not there", "c", "value", "", ReasonSecretMissing},
		{"one that is not wanted", "b", "value", "", ReasonSecretUnreadable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			await(t, func() bool {
				value, problem := read.value(tt.secret, tt.key)
				return string(value) == tt.value && problem.Reason == tt.reason
			})
		})
	}
	server.Set(secretOf("a", "value", "three"), secretOf("c", "value", "four"))
	for name, wanted := range map[string]string{"a": "three", "c": "four"} {
		await(t, func() bool { value, _ := read.value(name, "value"); return string(value) == wanted })
	}
	server.Delete(secretOf("a", "value", ""))
	await(t, func() bool { _, problem := read.value("a", "value"); return problem.Reason == ReasonSecretMissing })
	want(t, ctx, read, "c")
	if _, problem := read.value("a", "value"); problem.Reason != ReasonSecretUnreadable {
		t.Errorf("a Secret that is not wanted any more: %+v", problem)
	}
}

// TestSecretsForbidden says that Secrets which may not be read hold nothing up.
func TestSecretsForbidden(t *testing.T) {
	server := clustertest.NewServer(t)
	server.Status(403, 0)
	read, ctx := readSecrets(t, server)
	want(t, ctx, read, "a")
	await(t, read.tried)
	if _, problem := read.value("a", "value"); problem.Reason != ReasonSecretUnreadable || !strings.Contains(problem.Message, "may not get, list and watch the Secret own/a") {
		t.Errorf("problem %+v", problem)
	}
}

func TestDefine(t *testing.T) {
	server := clustertest.NewServer(t, secretOf("a", "value", "one"), secretOf("a2", "k", "two"))
	read, ctx := readSecrets(t, server)
	want(t, ctx, read, "a", "a2")
	await(t, read.tried)
	for _, tt := range []struct {
		name          string
		ref           v1alpha1.KubeconfigSecretRef
		value, reason string
	}{
		{"the key that is usual", v1alpha1.KubeconfigSecretRef{Name: "a"}, "one", ""},
		{"its own namespace, and another key", v1alpha1.KubeconfigSecretRef{Name: "a2", Namespace: "own", Key: "k"}, "two", ""},
		{"another namespace", v1alpha1.KubeconfigSecretRef{Name: "a", Namespace: "kube-system"}, "", ReasonSecretUnreadable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			await(t, func() bool {
				var d Definition
				fromSecret(&d, &tt.ref, read)
				return string(d.Kubeconfig) == tt.value && d.Problem.Reason == tt.reason
			})
		})
	}
	c := &v1alpha1.ClusterConfig{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.ClusterConfigSpec{Tenant: "t", Callers: &v1alpha1.ClusterCallers{}}}
	if diff := cmp.Diff(Definition{ID: "a", Tenant: "t", Callers: &[]string{}}, definitionOf(c)); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func TestSetStatus(t *testing.T) {
	var s v1alpha1.ClusterConfigStatus
	contact := func(d time.Duration) *Health {
		return &Health{Reason: ReasonConnected, Message: "fine", LastContact: noon.Add(d)}
	}
	setStatus(&s, 1, contact(10*time.Second))
	first := *s.DeepCopy()
	setStatus(&s, 1, contact(50*time.Second))
	if diff := cmp.Diff(first, s); diff != "" {
		t.Errorf("within a minute it was written again:\n%s", diff)
	}
	setStatus(&s, 2, &Health{Reason: ReasonUnreachable, Message: "refused", LastContact: noon.Add(70 * time.Second)})
	if c := s.Conditions[0]; c.Status != metav1.ConditionFalse || c.Reason != ReasonUnreachable || c.ObservedGeneration != 2 {
		t.Errorf("condition %+v", c)
	}
	if !s.LastContact.Equal(&metav1.Time{Time: noon.Add(time.Minute)}) {
		t.Errorf("last contact %s", s.LastContact)
	}
	// What another replica has seen since is not taken back.
	setStatus(&s, 2, contact(0))
	if !s.LastContact.Equal(&metav1.Time{Time: noon.Add(time.Minute)}) {
		t.Errorf("last contact went back to %s", s.LastContact)
	}
}
