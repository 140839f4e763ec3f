package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// moves is how often a policy moves each way.
const moves = 5

const movingPolicy = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: moves}
spec:
  module: %s
  settings: {namespace: web}
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [configmaps, pods], operations: [CREATE]}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: web}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: sallyport-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: policy-servers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-policy-server}
subjects:
- {kind: ServiceAccount, name: reader, namespace: sallyport-system}
---
apiVersion: sallyport.io/v1alpha1
kind: PolicyServer
metadata: {name: there}
spec: {image: "example.com/sallyport:v1", serviceAccountName: reader}
`

// refusesAll is what the module says, which refuses everything.
const refusesAll = "no context:"

// TestPoliciesThatMoveAreJudged moves a policy that refuses everything from Sallyport
// itself to a PolicyServer, back, and to one that is not there, while ConfigMaps are
// created as fast as that goes: none gets in.
func TestPoliciesThatMoveAreJudged(t *testing.T) {
	f := newFarm(t)
	m := &mover{farm: f, ca: filepath.Join(t.TempDir(), "ca.crt")}
	m.start()
	f.apply(fmt.Sprintf(movingPolicy, "file://"+wasmtest.File(t, wasmtest.WASI(t))))
	rules, err := os.ReadFile(filepath.Join(repository(t), "config", "wiring", "ruleswebhookconfigurations.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f.apply(string(rules))
	_, m.halt = f.stand("there", "reader")
	f.await("True RolledOut", "get", "policyserver", "there", "-o", ready("Ready"))
	f.await("True Asked", "get", "clusteradmissionpolicy", "moves", "-o", ready("Enforced"))
	w := newFlood(f)
	w.refused()

	w.during("from Sallyport itself to a server and back", func() {
		for range moves {
			m.to("there")
			f.await("clusterwide-moves", "get", "configmap", "policy-server-there", "-n", system, "-o", "jsonpath={.data}")
			f.await("False RollingOut", "get", "clusteradmissionpolicy", "moves", "-o", ready("Ready"))
			w.refused()
			m.halt()
			_, m.halt = f.stand("there", "reader")
			f.await("True InForce: the policy is in force, at PolicyServer there", "get", "clusteradmissionpolicy", "moves", "-o", ready("Ready"))
			f.await("True AtPolicyServer", "get", "clusteradmissionpolicy", "moves", "-o", ready("Enforced"))
			// Sallyport lets go of it: webhooks do not follow it any more.
			m.asked(false)
			w.refused()
			m.to("")
			f.gone("validatingwebhookconfiguration", "", "sallyport-policy-server-there")
			f.await("True Asked", "get", "clusteradmissionpolicy", "moves", "-o", ready("Enforced"))
			w.refused()
			// The pods know it a moment longer than they are asked, and restart then.
			f.await("{}", "get", "configmap", "policy-server-there", "-n", system, "-o", "jsonpath={.data}")
			m.halt()
			_, m.halt = f.stand("there", "reader")
			f.await("True RolledOut", "get", "policyserver", "there", "-o", ready("Ready"))
		}
	})
	w.during("put at a server that is not there", func() {
		r := m.kubectl("patch", "clusteradmissionpolicy", "moves", "--type=merge", "-p", `{"spec":{"policyServer":"their"}}`)
		want(t, r, false, `names the PolicyServer "their", which is not there`, `(there are: "there")`)
		want(t, m.write(strings.Replace(strings.Split(fmt.Sprintf(movingPolicy, "file:///m.wasm"), "---")[0], "{name: moves}\nspec:", "{name: mistyped}\nspec:\n  policyServer: their", 1)), false, `names the PolicyServer "their", which is not there`)
		w.refused()
	})
	w.during("to a server that goes and back", func() {
		for range moves {
			m.toLost()
			f.await(`False NoPolicyServer: there is no PolicyServer "nowhere"; meanwhile Sallyport judges by it itself`, "get", "clusteradmissionpolicy", "moves", "-o", ready("Ready"))
			w.refused()
			m.asked(true)
			m.to("")
			f.await("True InForce", "get", "clusteradmissionpolicy", "moves", "-o", ready("Ready"))
			w.refused()
		}
	})
	w.during("started again while the server is not there", func() {
		m.toLost()
		f.await("False NoPolicyServer", "get", "clusteradmissionpolicy", "moves", "-o", ready("Ready"))
		for range moves {
			m.stop()
			m.start()
			m.asked(true)
			w.refused()
		}
	})
	w.during("the server is deleted that judges by it", func() {
		m.to("there")
		f.await("clusterwide-moves", "get", "configmap", "policy-server-there", "-n", system, "-o", "jsonpath={.data}")
		m.halt()
		_, m.halt = f.stand("there", "reader")
		m.asked(false)
		f.must("delete", "policyserver", "there")
		f.gone("validatingwebhookconfiguration", "", "sallyport-policy-server-there")
		w.refused()
		m.asked(true)
	})
}

// mover is a farm with a Sallyport that is asked at its own doors.
type mover struct {
	*farm
	ca         string
	stop, halt func()
}

// start runs Sallyport, and has the API server ask it.
func (m *mover) start() {
	m.Helper()
	var p *program
	_ = os.Remove(m.ca)
	p, m.stop = m.run("sallyport", func() []byte { pem, _ := os.ReadFile(m.ca); return pem }, "serve", "--addr", ":8443", "--policy-server-namespace", system,
		"--leader-election-namespace", system, "--client-ca-file", m.lab.CallerCA(), "--write-ca", m.ca, "--tls-server-name", m.address)
	config, err := wiring.Webhook(p.url, p.ca, "")
	if err != nil {
		m.Fatal(err)
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		m.Fatal(err)
	}
	m.apply(string(text))
}

// to has the policy name a server.
func (m *mover) to(server string) {
	m.Helper()
	m.must("patch", "clusteradmissionpolicy", "moves", "--type=merge", "-p", `{"spec":{"policyServer":"`+server+`"}}`)
}

// toLost has the policy name a server that is deleted then: one that was never there
// is refused.
func (m *mover) toLost() {
	m.Helper()
	m.apply("apiVersion: sallyport.io/v1alpha1\nkind: PolicyServer\nmetadata: {name: nowhere}\nspec: {image: \"example.com/sallyport:v1\", serviceAccountName: reader}\n")
	m.to("nowhere")
	m.must("delete", "policyserver", "nowhere")
	// A policy whose server is gone may be changed.
	m.must("label", "clusteradmissionpolicy", "moves", "changed=yes", "--overwrite")
	m.must("patch", "clusteradmissionpolicy", "moves", "--type=merge", "-p", `{"spec":{"timeoutSeconds":9}}`)
}

// asked waits until the webhooks that follow policies ask about ConfigMaps, or do not.
func (m *mover) asked(wanted bool) {
	m.Helper()
	eventually(m.T, func() string {
		c, err := m.lab.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(m.Context(), "sallyport-rules", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if found := rulesName(c, "configmaps"); found != wanted {
			return fmt.Sprintf("sallyport-rules asks about ConfigMaps: %t", found)
		}
		return ""
	})
}

func rulesName(c *admissionregistrationv1.ValidatingWebhookConfiguration, resource string) bool {
	for _, w := range c.Webhooks {
		for _, r := range w.Rules {
			if strings.Contains(strings.Join(r.Resources, " "), resource) {
				return true
			}
		}
	}
	return false
}

// flood creates ConfigMaps.
type flood struct {
	*farm
	client                 kubernetes.Interface
	tried, byPolicy, inAll atomic.Int64
}

func newFlood(f *farm) *flood {
	config := rest.CopyConfig(f.lab.Config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		f.Fatal(err)
	}
	return &flood{farm: f, client: client}
}

// create reports whether a ConfigMap was let in, and why not.
func (w *flood) create() error {
	w.tried.Add(1)
	_, err := w.client.CoreV1().ConfigMaps("web").Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "flood-"}}, metav1.CreateOptions{})
	switch {
	case err == nil:
		w.inAll.Add(1)
	case strings.Contains(err.Error(), refusesAll):
		w.byPolicy.Add(1)
	}
	return err
}

// refused waits until one is refused by what the module says.
func (w *flood) refused() {
	w.Helper()
	eventually(w.T, func() string {
		if err := w.create(); err == nil || !strings.Contains(err.Error(), refusesAll) {
			return fmt.Sprintf("not refused by the module: %v", err)
		}
		return ""
	})
}

// during creates them while do runs, and holds that none gets in.
func (w *flood) during(what string, do func()) {
	w.Helper()
	w.tried.Store(0)
	w.byPolicy.Store(0)
	w.inAll.Store(0)
	end := make(chan struct{})
	var writing sync.WaitGroup
	for range 2 {
		writing.Go(func() {
			for {
				select {
				case <-end:
					return
				case <-w.Context().Done():
					return
				default:
					_ = w.create()
				}
			}
		})
	}
	defer func() {
		close(end)
		writing.Wait()
		w.Logf("%s: %d created, %d refused by the module, %d let in", what, w.tried.Load(), w.byPolicy.Load(), w.inAll.Load())
		if w.inAll.Load() > 0 {
			w.Errorf("%s: %d of %d got in", what, w.inAll.Load(), w.tried.Load())
		}
	}()
	do()
}
