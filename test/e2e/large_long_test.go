//go:build long

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/test/lab"
)

// How much is there, how often each change is made, and what is to be reached.
const (
	largePolicies   = 1_000
	largeExceptions = 10_000
	largeChanges    = 20
	largeRest       = time.Minute
	largeOutage     = 15 * time.Second
	inForceLimit    = time.Second
	restLimit       = 0.01
	memoryLimit     = 200 << 20
)

// large is a lab with two replicas and many policies and exceptions.
type large struct {
	*testing.T
	lab      *lab.Lab
	replicas []*lab.Sallyport
	asking   []*http.Client
	objects  dynamic.Interface
	config   *rest.Config
	// bare is how long after a change at the end of an outage the API server told anybody
	// of it.
	bare time.Duration
	// profiling are the addresses of the replicas' profiles, if there are any.
	profiling []string
	profiled  int
}

// TestLargeLong measures how soon a change is in force on both of two replicas, and
// what they take at rest.
func TestLargeLong(t *testing.T) {
	l := newLarge(t)
	began := time.Now()
	l.fill()
	t.Logf("%d policies and %d exceptions were made in %.0f s", largePolicies, largeExceptions, time.Since(began).Seconds())
	began = time.Now()
	l.settle()
	t.Logf("each said what became of it %.0f s later", time.Since(began).Seconds())
	l.rests()
	took := map[string][]time.Duration{}
	for i := range largeChanges {
		l.change(i, took)
	}
	l.report("", took)

	for _, what := range []string{"policy", "deletion"} {
		took := map[string][]time.Duration{}
		if err := l.lab.KillAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(largeOutage)
		bare, err := newBareWatch(l.config, probeOutage, what == "policy")
		if err != nil {
			t.Fatal(err)
		}
		heard := bare.begin(t.Context())
		if err := l.lab.StartAPIServer(); err != nil {
			t.Fatal(err)
		}
		eventuallyWithin(t, time.Minute, func() string { return l.outlived(what, took, heard) })
		l.report(fmt.Sprintf(" after %s without an API server", largeOutage), took)
	}
	l.settle()
	l.rests()
	t.Logf("%s", l.summary())
}

func newLarge(t *testing.T) *large {
	dir, err := lab.Start(t.Context(), lab.Options{
		CRDs: []string{filepath.Join(repository(t), "config", "crd")}, Log: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &large{T: t, lab: dir}
	t.Cleanup(func() {
		if err := l.lab.Stop(); err != nil {
			t.Error(err)
		}
	})
	file, err := l.lab.Kubeconfig(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	l.config = config
	if l.objects, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if err := l.lab.CreateNamespace(t.Context(), "shop", nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		args := []string{"--watch-policies"}
		if *largeProfiles != "" && !*largeQuiet {
			address, err := profilingAddress()
			if err != nil {
				t.Fatal(err)
			}
			l.profiling = append(l.profiling, address)
			args = append(args, "--profiling-addr", address)
		}
		s, err := l.lab.StartSallyport(t.Context(), lab.SallyportOptions{Binary: quick, Name: name, Args: args})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			select {
			case <-s.Done():
				t.Errorf("replica %s has ended:\n%s", name, tail(s.Log(), 8_000))
			default:
			}
			if *largeProfiles != "" {
				if err := os.WriteFile(filepath.Join(*largeProfiles, name+".log"), []byte(s.Log()), 0o600); err != nil {
					t.Error(err)
				}
			}
			s.Kill()
		})
		client, err := s.HTTPClient()
		if err != nil {
			t.Fatal(err)
		}
		l.replicas, l.asking = append(l.replicas, s), append(l.asking, client)
	}
	return l
}

// object decodes a document; its resource is that of its kind.
func (l *large) object(document string) (*unstructured.Unstructured, dynamic.ResourceInterface) {
	l.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("apiVersion: sallyport.io/v1alpha1\n"+document), &o.Object); err != nil {
		l.Fatal(err)
	}
	return o, l.kind(o.GetKind(), o.GetNamespace())
}

func (l *large) kind(kind, namespace string) dynamic.ResourceInterface {
	resource := strings.ToLower(kind) + "s"
	if strings.HasSuffix(resource, "ys") {
		resource = strings.TrimSuffix(resource, "ys") + "ies"
	}
	all := l.objects.Resource(schema.GroupVersionResource(v1alpha1.GroupVersion.WithResource(resource)))
	if namespace == "" {
		return all
	}
	return all.Namespace(namespace)
}

// create makes an object, and returns it with when the API server had answered.
func (l *large) create(document string) (*unstructured.Unstructured, time.Time) {
	l.Helper()
	o, into := l.object(document)
	made, err := into.Create(l.Context(), o, metav1.CreateOptions{})
	if err != nil {
		l.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return made, time.Now()
}

func (l *large) remove(o *unstructured.Unstructured) time.Time {
	l.Helper()
	if err := l.kind(o.GetKind(), o.GetNamespace()).Delete(l.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
		l.Fatal(err)
	}
	return time.Now()
}

// fill makes what is there from the beginning, many at a time.
func (l *large) fill() {
	documents := make(chan string)
	var making sync.WaitGroup
	for range 24 {
		making.Go(func() {
			for document := range documents {
				o, into := l.object(document)
				if _, err := into.Create(l.Context(), o, metav1.CreateOptions{}); err != nil {
					l.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		})
	}
	for i := range largePolicies {
		switch i % 4 {
		case 0:
			documents <- fmt.Sprintf("kind: ClusterPolicy\nmetadata: {name: p-%04d}\nspec: {rules: [{name: labels, match: {any: [{resources: {kinds: [Deployment, Pod]}}]}, validate: {message: a team is missing, pattern: {metadata: {labels: {\"team-%d\": \"?*\"}}}}}]}", i, i)
		case 1:
			documents <- fmt.Sprintf("kind: ClusterPolicy\nmetadata: {name: p-%04d}\nspec: {rules: [{name: small, match: {any: [{resources: {kinds: [Secret], namespaces: [ns-%d]}}]}, validate: {cel: {expressions: [{expression: \"size(object.data) < %d\"}]}}}]}", i, i, i+1)
		case 2:
			documents <- fmt.Sprintf("kind: Policy\nmetadata: {name: p-%04d, namespace: shop}\nspec: {rules: [{name: baseline, match: {any: [{resources: {kinds: [Pod], names: [\"app-%d-*\"]}}]}, validate: {podSecurity: {level: baseline}}}]}", i, i)
		default:
			documents <- fmt.Sprintf("kind: DenyPolicy\nmetadata: {name: p-%04d}\nspec: {rules: [{verbs: [delete], apiGroups: [apps], resources: [deployments], namespaces: {patterns: [ns-%d]}}]}", i, i)
		}
	}
	for i := range largeExceptions {
		documents <- fmt.Sprintf("kind: PolicyException\nmetadata: {name: e-%05d, namespace: shop}\nspec: {reason: until the migration is done, expiresAt: \"2046-01-01T00:00:00Z\", exceptions: [{policyName: p-%04d, ruleNames: [labels]}], match: {any: [{resources: {kinds: [Deployment], names: [app-%d, \"app-%d-*\"]}}]}}", i, i*4%largePolicies, i, i)
	}
	close(documents)
	making.Wait()
}

// told are the kinds whose objects say in their status what became of them.
var told = []string{"ClusterPolicy", "Policy", "DenyPolicy", "PolicyException"}

// settle waits until every object says what became of it.
func (l *large) settle() {
	l.Helper()
	eventuallyWithin(l.T, 15*time.Minute, func() string {
		time.Sleep(2 * time.Second)
		for _, kind := range told {
			list, err := l.kind(kind, "").List(l.Context(), metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return err.Error()
			}
			silent := 0
			for i := range list.Items {
				if conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions"); len(conditions) == 0 {
					silent++
				}
			}
			if silent > 0 {
				return fmt.Sprintf("%d of %d objects of kind %s say nothing yet", silent, len(list.Items), kind)
			}
		}
		return ""
	})
}

func (l *large) versions() map[types.UID]string {
	versions := map[types.UID]string{}
	for _, kind := range told {
		list, err := l.kind(kind, "").List(l.Context(), metav1.ListOptions{})
		if err != nil {
			l.Fatal(err)
		}
		for i := range list.Items {
			versions[list.Items[i].GetUID()] = kind + " " + list.Items[i].GetName() + " " + list.Items[i].GetResourceVersion()
		}
	}
	return versions
}

// rests measures what the replicas take while nothing changes, and that nothing does.
func (l *large) rests() {
	l.Helper()
	// What followed from the last changes is written first.
	time.Sleep(15 * time.Second)
	before := l.versions()
	cpu := []float64{l.metric(0, "process_cpu_seconds_total"), l.metric(1, "process_cpu_seconds_total")}
	began := time.Now()
	l.profile()
	time.Sleep(time.Until(began.Add(largeRest)))
	for i := range l.replicas {
		took := (l.metric(i, "process_cpu_seconds_total") - cpu[i]) / time.Since(began).Seconds()
		memory := l.metric(i, "process_resident_memory_bytes")
		l.Logf("at rest replica %d takes %.2f%% of a core and %.0f MiB (heap in use %.0f MiB, of it objects %.0f; free and not given back %.0f); load of the machine %s", i+1, took*100, memory/(1<<20), l.metric(i, "go_memstats_heap_inuse_bytes")/(1<<20), l.metric(i, "go_memstats_heap_alloc_bytes")/(1<<20), (l.metric(i, "go_memstats_heap_idle_bytes")-l.metric(i, "go_memstats_heap_released_bytes"))/(1<<20), machineLoad())
		if took > restLimit || memory > memoryLimit {
			l.Errorf("replica %d takes too much at rest", i+1)
		}
	}
	changed := 0
	for uid, after := range l.versions() {
		if before[uid] != after {
			if changed++; changed < 5 {
				l.Errorf("%q became %q while nothing was done", before[uid], after)
			}
		}
	}
	l.Logf("of %d objects %d were written in %s at rest", len(before), changed, largeRest)
}

func machineLoad() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	return strings.Join(strings.Fields(string(content))[:3], " ")
}

func (l *large) metric(replica int, name string) float64 {
	l.Helper()
	_, body, err := l.replicas[replica].Get(l.Context(), "/metrics")
	if err != nil {
		l.Fatal(err)
	}
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				l.Fatal(err)
			}
			return value
		}
	}
	l.Fatalf("there is no metric %s", name)
	return 0
}

// until returns when all replicas let a ConfigMap in, or refuse it.
func (l *large) until(name string, wanted bool) time.Time {
	l.Helper()
	deadline, cancel := context.WithTimeout(l.Context(), 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for replica := range l.replicas {
		for {
			in, err := letsIn(l.Context(), l.asking[replica], l.replicas[replica].URL, name)
			if err == nil && in == wanted {
				break
			}
			select {
			case <-deadline.Done():
				l.Fatalf("replica %d lets %s in: %v (%v)", replica+1, name, in, err)
			case <-ticker.C:
			}
		}
	}
	return time.Now()
}

func probePolicy(name string) string {
	return fmt.Sprintf("kind: ClusterPolicy\nmetadata: {name: %s}\nspec: {rules: [{name: never, match: {any: [{resources: {kinds: [ConfigMap], names: [%s]}}]}, validate: {message: never, pattern: {metadata: {labels: {never: \"?*\"}}}}}]}", name, name)
}

// change makes each change once, and notes how long it took to be in force everywhere.
func (l *large) change(i int, took map[string][]time.Duration) {
	name := fmt.Sprintf("probe-%d", i)
	note := func(what string, at time.Time, wanted bool) {
		took[what] = append(took[what], l.until(name, wanted).Sub(at))
	}
	policy, at := l.create(probePolicy(name))
	note("policy", at, false)
	about := fmt.Sprintf("{any: [{resources: {kinds: [ConfigMap], names: [%s]}}]}", name)
	exception, at := l.create(fmt.Sprintf("kind: PolicyException\nmetadata: {name: %s, namespace: shop}\nspec: {reason: r, exceptions: [{policyName: %s}], match: %s}", name, name, about))
	note("exception", at, true)
	note("deleted exception", l.remove(exception), false)
	request, _ := l.create(fmt.Sprintf("kind: PolicyExceptionRequest\nmetadata: {name: %s, namespace: shop}\nspec: {reason: r, requesters: [ann], exceptions: [{policyName: %s}], exclude: %s}", name, name, about))
	answer, at := l.create(fmt.Sprintf("kind: PolicyExceptionResponse\nmetadata: {name: %s}\nspec: {name: %s, namespace: shop, status: Approved, approver: carol, approvalTime: %q, requestUID: %s, requestGeneration: 1}", name, name, time.Now().UTC().Add(-time.Second).Format(time.RFC3339), request.GetUID()))
	note("approval", at, true)
	note("revocation", l.remove(answer), false)
	l.remove(request)
	note("deletion", l.remove(policy), true)
}

// probeOutage is the policy that is written, and deleted, at the end of an outage.
const probeOutage = "probe-outage"

// outlived makes a change as soon as the API server answers, and notes how long it took
// to be in force everywhere.
func (l *large) outlived(what string, took map[string][]time.Duration, heard <-chan time.Time) string {
	const name = probeOutage
	ctx, cancel := context.WithTimeout(l.Context(), 2*time.Second)
	defer cancel()
	o, into := l.object(probePolicy(name))
	var err error
	if what == "policy" {
		_, err = into.Create(ctx, o, metav1.CreateOptions{})
	} else {
		err = into.Delete(ctx, name, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
		return err.Error()
	}
	at := time.Now()
	took[what] = append(took[what], l.until(name, what != "policy").Sub(at))
	l.bare = max(0, (<-heard).Sub(at))
	return ""
}

func tail(text string, bytes int) string { return text[max(0, len(text)-bytes):] }

var largeFigures []string

func (l *large) report(when string, took map[string][]time.Duration) {
	l.Helper()
	for _, what := range []string{"policy", "deletion", "exception", "deleted exception", "approval", "revocation"} {
		times := took[what]
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		middle, last := times[len(times)/2], times[len(times)-1]
		l.Logf("%s%s: in force on both replicas after %d ms in the middle, %d ms at most, of %d; load of the machine %s", what, when, middle.Milliseconds(), last.Milliseconds(), len(times), machineLoad())
		largeFigures = append(largeFigures, fmt.Sprintf("%s%s %d ms", what, when, last.Milliseconds()))
		if when != "" {
			l.Logf("%s%s: a bare watch hears of it after %d ms", what, when, l.bare.Milliseconds())
		}
		if last > inForceLimit+l.bare {
			l.Errorf("%s%s: %s is too long", what, when, last)
		}
	}
}

func (l *large) summary() string { return "at most: " + strings.Join(largeFigures, ", ") }
