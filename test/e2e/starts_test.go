//go:build long

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/test/lab"
)

// recoveryLimit is how long all may take to work again once what was wrong is mended.
const recoveryLimit = time.Minute

// startsPeople let ann do in every namespace what its administrator may, and change
// what namespaces say of themselves, but not leave policies.
const startsPeople = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: namespaces}
rules: [{apiGroups: [""], resources: [namespaces], verbs: [get, list, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: namespaces}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: namespaces}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: paid, namespace: shop, annotations: {cloud.example.com/role: payments}}
---
apiVersion: v1
kind: Pod
metadata: {name: plain, namespace: shop}
spec: {containers: [{name: app, image: registry.example.com/app:1}]}
`

var startsPolicies = strings.Replace(knownPolicies, `exemptions: {podLabels: {exempt: "yes"}}`, `exemptions: {podLabels: {exempt: "yes"}, namespaces: {selectorTerms: [{matchLabels: {lab/exempt: "yes"}}]}}`, 1) +
	sourceOf("role", accountSource)

// starts is a lab under attack, and what was counted in it.
type starts struct {
	*wiredLab
	ann, admin person

	tries, refusals, kept, wronged, in atomic.Int64
	told                               sync.Map
	slowest                            time.Duration
	// warming says that the API server does not know its roles yet.
	warming atomic.Bool
}

// TestLongStarts has both doors attacked while Sallyport is started and stopped and
// what it stands on is taken away, and counts what is let in, and what is refused
// that the wiring leaves out.
func TestLongStarts(t *testing.T) {
	s := &starts{wiredLab: newWiredLab(t, "--max-staleness", "5s")}
	l := s.lab
	s.must(l.Apply(t.Context(), knownPods+"---"+startsPeople+"---"+deployment("kube-system", "app")+deployment("shop", "app")+deployment("sallyport-system", "app")))
	s.must(l.AwaitRunning(t.Context(), "shop", "risky", "plain"))
	before := map[string]string{}
	for _, namespace := range []string{"kube-system", "shop", "sallyport-system"} {
		before[namespace] = s.running(namespace, "app")
	}
	s.ann, s.admin = as(t, l, "ann", rest.ImpersonationConfig{}), as(t, l, root, rest.ImpersonationConfig{})
	s.wouldBeLetIn()
	s.must(l.Apply(t.Context(), startsPolicies))
	s.wire(nil)
	s.works(s.s)

	s.during("20 restarts", func(run *starts) {
		for range 20 {
			run.end(run.s)
			run.must(run.s.Start(run.Context()))
			run.recovers(time.Now(), run.s)
		}
	})
	s.during("every node is new and no pod runs", func(run *starts) {
		run.end(run.s)
		run.warming.Store(true)
		run.must(run.lab.KillAPIServer(run.Context()))
		run.must(run.lab.StartAPIServer())
		eventually(run.T, func() string {
			return missing(run.kubectl("bob", "get", "pods,nodes,clusterroles", "-A"))
		})
		eventually(run.T, func() string {
			return missing(run.kubectl(root, "get", "pods", "-n", "kube-system", "--as=system:serviceaccount:kube-system:replicaset-controller"))
		})
		run.warming.Store(false)
		want(run.T, run.kubectl(root, "delete", "node", lab.NodeName), true)
		want(run.T, run.feed(root, "{apiVersion: v1, kind: Node, metadata: {name: "+lab.NodeName+", labels: {kubernetes.io/hostname: "+lab.NodeName+"}}}", "create", "--as=system:node:"+lab.NodeName, "--as-group=system:nodes", "--as-group=system:authenticated"), true)
		for namespace, pod := range before {
			want(run.T, run.kubectl(root, "delete", "pod", "-n", namespace, pod, "--grace-period=0", "--force"), true)
		}
		// What the cluster and Sallyport start with comes while it is away.
		for _, namespace := range []string{"kube-system", "sallyport-system"} {
			run.running(namespace, "app", before[namespace])
		}
		eventually(run.T, func() string {
			if r := run.kubectl(root, "get", "events", "-n", "shop"); !strings.Contains(r.Stdout, "failed calling webhook") {
				return "the pod of shop was not refused: " + r.String()
			}
			return ""
		})
		started := time.Now()
		run.must(run.s.Start(run.Context()))
		run.recovers(started, run.s)
		eventuallyWithin(run.T, recoveryLimit, func() string {
			return missing(run.kubectl(root, "wait", "deployment", "app", "-n", "shop", "--for=condition=Available", "--timeout=5s"))
		})
		run.took("shop's pods", started)
	})
	s.during("a kind is taken away", func(run *starts) {
		want(run.T, run.kubectl("bob", "delete", "crd", "policyexceptions.sallyport.io", "--wait=true"), true)
		closed(run.T, run.s, 30*time.Second, "policyexceptions.sallyport.io do not exist any more")
		run.end(run.s)
		started := run.start(run.s)
		closed(run.T, run.s, time.Minute, "policyexceptions.sallyport.io were not read yet")
		mended := time.Now()
		want(run.T, run.kubectl("bob", "create", "-f", filepath.Join(repository(run.T), "config", "crd", "sallyport.io_policyexceptions.yaml")), true)
		run.recovers(mended, run.s)
		run.must(<-started)
	})
	s.during("a right is taken away", func(run *starts) {
		role := func(manifest string) {
			run.Helper()
			want(run.T, run.feed("bob", manifest, "apply", "--server-side", "--force-conflicts"), true)
		}
		role(without(run.T, "identitysources"))
		run.end(run.s)
		started := run.start(run.s)
		closed(run.T, run.s, time.Minute, "identitysources.sallyport.io were not read yet")
		mended := time.Now()
		role(lab.SallyportRole())
		run.recovers(mended, run.s)
		run.must(<-started)
	})
	s.during("the API server stands still", func(run *starts) {
		run.must(run.lab.PauseAPIServer())
		closed(run.T, run.s, 15*time.Second, "have not been heard of since")
		run.must(run.lab.ResumeAPIServer())
		run.recovers(time.Now(), run.s)
	})
	s.during("files and the API server", func(run *starts) {
		file := filepath.Join(t.TempDir(), "policies.yaml")
		run.must(os.WriteFile(file, []byte("apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: file}\nspec: {rules: [{verbs: [create], apiGroups: [\"\"], resources: [pods/portforward]}]}\n"), 0o600))
		both, err := run.lab.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "both", Args: []string{"--from", file, "--watch-policies", "--cluster-name", "prod-lab", "--max-staleness", "5s"}})
		run.must(err)
		open(run.T, both)
		run.s = both
		run.wire(nil)
		for range 5 {
			run.end(both)
			run.must(both.Start(run.Context()))
			run.recovers(time.Now(), both)
		}
		want(run.T, run.feed("bob", without(run.T, "identitysources"), "apply", "--server-side", "--force-conflicts"), true)
		run.end(both)
		started := run.start(both)
		closed(run.T, both, time.Minute, "identitysources.sallyport.io were not read yet")
		mended := time.Now()
		want(run.T, run.feed("bob", lab.SallyportRole(), "apply", "--server-side", "--force-conflicts"), true)
		run.recovers(mended, both)
		run.must(<-started)
		if r := run.kubectl("bob", "auth", "can-i", "create", "pods/plain", "--subresource=portforward", "-n", "shop"); r.OK() {
			run.Errorf("the policy of the file is not in force: %s", r)
		}
	})
	fmt.Printf("%d attacks, %d let in, %d of what the wiring leaves out, %d refused, slowest recovery %.1f s\n", s.refusals.Load()+s.in.Load(), s.in.Load(), s.kept.Load()+s.wronged.Load(), s.wronged.Load(), s.slowest.Seconds())
}

// wouldBeLetIn has each attacker have his way before there is a policy, and takes back
// what he did.
func (s *starts) wouldBeLetIn() {
	s.Helper()
	for name, try := range attackers(s.ann, s.admin) {
		if err := try(s.Context(), fmt.Sprint(s.tries.Add(1))); err != nil {
			s.Fatalf("%s is not an attack, as without policies it gives %v", name, err)
		}
	}
	want(s.T, s.kubectl(root, "delete", "pods", "-n", "shop", "--grace-period=0", "--force", "--field-selector=metadata.name!=risky,metadata.name!=plain", "-l", "app!=app"), true)
	want(s.T, s.kubectl(root, "label", "pod", "-n", "shop", "risky", "exempt-"), true)
	want(s.T, s.kubectl(root, "label", "namespace", "shop", "lab/exempt-"), true)
}

// during runs a part of the test under attack.
func (s *starts) during(name string, part func(run *starts)) {
	s.Run(name, func(t *testing.T) {
		outer := s.T
		s.T = t
		defer func() { s.T = outer }()
		ctx, cancel := context.WithCancel(t.Context())
		var working sync.WaitGroup
		defer working.Wait()
		defer cancel()
		for name, try := range leftOut(t, s.wiredLab) {
			working.Go(func() { s.refused(ctx, name, try) })
		}
		var further []func(context.Context, int) bool
		for name, try := range attackers(s.ann, s.admin) {
			further = append(further, s.letIn(ctx, name, try))
		}
		refusals, kept := s.refusals.Load(), s.kept.Load()
		a := attacked(t, s.lab, further...)
		part(s)
		a.stop(t)
		s.in.Add(a.letIn.Load())
		s.traces()
		t.Logf("%d attackers were refused, %d of what is left out went through", s.refusals.Load()-refusals, s.kept.Load()-kept)
		if s.refusals.Load()-refusals < 20 || s.kept.Load()-kept < 20 {
			t.Error("that is too little to say anything")
		}
	})
}

// traces looks for what an attacker who was never answered left all the same.
func (s *starts) traces() {
	s.Helper()
	r := s.kubectl(root, "get", "pods", "-n", "shop", "-o", "name")
	want(s.T, r, true)
	if strings.Contains(r.Stdout, "attack-") || strings.Contains(r.Stdout, "privileged-") {
		s.Errorf("attackers' pods are there: %s", r.Stdout)
	}
	if r := s.kubectl(root, "get", "pod", "risky", "-n", "shop", "-o", "jsonpath={.metadata.labels}"); !r.OK() || strings.Contains(r.Stdout, "exempt") {
		s.Errorf("the pod was exempted: %s", r)
	}
	if r := s.kubectl(root, "get", "namespace", "shop", "-o", "jsonpath={.metadata.labels}"); !r.OK() || strings.Contains(r.Stdout, "exempt") {
		s.Errorf("the namespace was exempted: %s", r)
	}
}

func (s *starts) end(sallyport *lab.Sallyport) {
	sallyport.Kill()
	<-sallyport.Done()
}

// start does not wait until it is ready.
func (s *starts) start(sallyport *lab.Sallyport) <-chan error {
	started := make(chan error, 1)
	ctx := s.Context()
	go func() { started <- sallyport.Start(ctx) }()
	return started
}

// works waits until Sallyport judges and lets through what no policy is about.
func (s *starts) works(sallyport *lab.Sallyport) {
	s.Helper()
	open(s.T, sallyport)
	eventuallyWithin(s.T, recoveryLimit, func() string {
		for _, webSocket := range []bool{true, false} {
			if err := s.ann.into(s.Context(), "plain", webSocket); err != nil {
				return "nobody gets into a pod that no policy is about: " + err.Error()
			}
		}
		_, err := s.ann.CoreV1().Pods("shop").Create(s.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "ordinary"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/app:1"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return "nobody makes an ordinary pod: " + err.Error()
		}
		return ""
	})
}

// recovers waits until all works, which was mended then.
func (s *starts) recovers(mended time.Time, sallyport *lab.Sallyport) {
	s.Helper()
	s.works(sallyport)
	s.took("Sallyport", mended)
}

func (s *starts) took(what string, since time.Time) {
	s.Helper()
	took := time.Since(since)
	s.slowest = max(s.slowest, took)
	if took > recoveryLimit {
		s.Errorf("%s took %s to work again", what, took)
	}
}
