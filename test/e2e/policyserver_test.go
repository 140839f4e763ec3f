package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostPolicy is a policy by the example of the documentation, which reads Ingresses,
// for those that are labelled for its server.
func hostPolicy(name, server, module string) string {
	return fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: %s}
spec:
  module: %s
  policyServer: "%s"
  contextAware:
  - {group: networking.k8s.io, version: v1, resource: ingresses}
  rules:
  - {apiGroups: [networking.k8s.io], apiVersions: [v1], resources: [ingresses], operations: [CREATE, UPDATE]}
  objectSelector: {matchLabels: {judge: "%s"}}
`, name, module, server, name)
}

func ingressOf(name, judge, host string) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %s, namespace: web, labels: {judge: %s}}
spec:
  rules:
  - host: %s
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`, name, judge, host)
}

const policyServers = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: sallyport-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: blind, namespace: sallyport-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: policy-servers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-policy-server}
subjects:
- {kind: ServiceAccount, name: reader, namespace: sallyport-system}
- {kind: ServiceAccount, name: blind, namespace: sallyport-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ingress-reader}
rules:
- {apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ingress-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ingress-reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: sallyport-system}]
---
apiVersion: sallyport.io/v1alpha1
kind: PolicyServer
metadata: {name: seeing}
spec: {image: "example.com/sallyport:v1", replicas: 2, serviceAccountName: reader, env: [{name: TEAM, value: web}]}
---
apiVersion: sallyport.io/v1alpha1
kind: PolicyServer
metadata: {name: blind}
spec: {image: "example.com/sallyport:v1", serviceAccountName: blind}
`

// TestPolicyServers runs two PolicyServers with different accounts: each sees what
// its account may read, and the API server asks each by the webhooks that were made
// for it.
func TestPolicyServers(t *testing.T) {
	f := newFarm(t)
	module := buildModule(t, "examples/wasm/unique-host", "metadata.yaml")
	ca := filepath.Join(t.TempDir(), "ca.crt")
	main, _ := f.run("sallyport", func() []byte { pem, _ := os.ReadFile(ca); return pem }, "serve", "--addr", ":8443", "--policy-server-namespace", system,
		"--leader-election-namespace", system, "--client-ca-file", f.lab.CallerCA(), "--write-ca", ca, "--tls-server-name", "sallyport."+system+".svc",
		"--webhooks-for-policies", system+"/sallyport", "--webhooks-ca-file", ca)
	f.apply("apiVersion: v1\nkind: Service\nmetadata: {name: sallyport, namespace: sallyport-system}\nspec: {ports: [{name: https, port: 443, targetPort: 8443}]}\n")
	f.endpoint("sallyport", main)

	f.apply(hostPolicy("lost", "nowhere", module))
	f.await(`False NoPolicyServer: there is no PolicyServer "nowhere"`, "get", "clusteradmissionpolicy", "lost", "-o", ready("Ready"))
	f.must("delete", "clusteradmissionpolicy", "lost")

	f.apply(hostPolicy("unique-host", "seeing", module) + "---" + hostPolicy("blind-host", "blind", module) + "---" + policyServers)
	f.await("False RollingOut", "get", "clusteradmissionpolicy", "unique-host", "-o", ready("Ready"))
	f.await("True RightsGranted", "get", "policyserver", "seeing", "-o", ready("AccountReady"))
	for _, kind := range []string{"deployment", "service", "configmap", "secret", "poddisruptionbudget"} {
		f.await("policy-server-seeing", "get", kind, "-n", system, "-l", "sallyport.io/policy-server=seeing")
	}
	if out := f.must("get", "validatingwebhookconfigurations", "-o", "name"); strings.Contains(out, "policy-server") {
		t.Errorf("%s is there before the pods are", out)
	}
	if out := f.must("get", "deployment", "policy-server-seeing", "-n", system, "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].env[0].name} {.spec.template.spec.containers[0].image}"); out != "2 TEAM example.com/sallyport:v1" {
		t.Errorf("the Deployment has %s", out)
	}

	seeing, _ := f.stand("seeing", "reader")
	blind, _ := f.stand("blind", "blind")
	f.await("True InForce: the policy is in force, at PolicyServer seeing", "get", "clusteradmissionpolicy", "unique-host", "-o", ready("Ready"))
	f.await("True RolledOut: 2 ready, with 1 policies in force", "get", "policyserver", "seeing", "-o", ready("Ready"))
	f.await("True InForce", "get", "clusteradmissionpolicy", "blind-host", "-o", ready("Ready"))
	f.await("True RolledOut", "get", "policyserver", "blind", "-o", ready("Ready"))

	// The one that may read Ingresses judges by them.
	eventually(t, func() string {
		if r := f.write(ingressOf("first", "unique-host", "shop.example.com")); !r.OK() {
			return r.String()
		}
		return ""
	})
	eventually(t, func() string {
		if r := f.write(ingressOf("second", "unique-host", "shop.example.com")); r.OK() || !strings.Contains(r.Stderr, "the host shop.example.com belongs to the Ingress web/first") {
			f.kubectl("delete", "ingress", "-n", "web", "second", "--ignore-not-found")
			return r.String()
		}
		return ""
	})
	// The other has the same grant, and sees nothing: it is told so, and refuses what
	// it cannot judge.
	r := f.write(ingressOf("third", "blind-host", "other.example.com"))
	if r.OK() || !strings.Contains(r.Stderr, "forbidden") {
		t.Errorf("the account that may not read: %s", r)
	}
	f.await("forbidden", "get", "clusteradmissionpolicy", "blind-host", "-o", ready("ContextReady"))
	f.await("True", "get", "clusteradmissionpolicy", "unique-host", "-o", ready("ContextReady"))
	if !strings.Contains(blind.log(), "forbidden") || strings.Contains(seeing.log(), "forbidden") {
		t.Errorf("the logs say otherwise:\n%s\n%s", blind.log(), seeing.log())
	}
	f.excuse()
	f.drift()
	f.removal(main)
	f.own(hostPolicy("own-host", "", module))
}

// excuse has an exception count at a PolicyServer.
func (f *farm) excuse() {
	f.Helper()
	f.apply(`
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicyException
metadata: {name: moves}
spec:
  exceptions: [{policyName: unique-host}]
  match: {any: [{resources: {kinds: [Ingress], names: [second]}}]}
  reason: it moves
`)
	eventually(f.T, func() string {
		if r := f.write(ingressOf("second", "unique-host", "shop.example.com")); !r.OK() {
			return r.String()
		}
		return ""
	})
	f.must("delete", "ingress", "-n", "web", "second")
	f.must("delete", "clusterpolicyexception", "moves")
}

// drift changes what was made, by hand.
func (f *farm) drift() {
	f.Helper()
	const hooks, name = "sallyport-policy-server-seeing", "policy-server-seeing"
	f.must("patch", "validatingwebhookconfiguration", hooks, "--type=json", "-p",
		`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"},{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["DELETE"]}]`)
	f.must("patch", "deployment", name, "-n", system, "--type=json", "-p", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"example.com/evil"}]`)
	f.must("patch", "configmap", name, "-n", system, "--type=merge", "-p", `{"data":{"policies.yml":"{}"}}`)
	f.must("delete", "service,poddisruptionbudget", name, "-n", system)
	f.await(`Fail ["CREATE","UPDATE"]`, "get", "validatingwebhookconfiguration", hooks, "-o", "jsonpath={.webhooks[0].failurePolicy} {.webhooks[0].rules[0].operations}")
	f.await("example.com/sallyport:v1", "get", "deployment", name, "-n", system, "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	f.await("clusterwide-unique-host", "get", "configmap", name, "-n", system, "-o", "jsonpath={.data}")
	f.await("443", "get", "service", name, "-n", system)
	f.await(name, "get", "poddisruptionbudget", name, "-n", system)
}

// removal takes a policy away, and then its server: webhooks go first.
func (f *farm) removal(main *program) {
	f.Helper()
	f.must("delete", "clusteradmissionpolicy", "blind-host")
	f.gone("validatingwebhookconfiguration", "", "sallyport-policy-server-blind")
	f.await("{}", "get", "configmap", "policy-server-blind", "-n", system, "-o", "jsonpath={.data}")
	f.must("delete", "policyserver", "seeing", "blind")
	for _, kind := range []string{"deployment", "service", "configmap", "secret"} {
		f.gone(kind, system, "policy-server-seeing")
	}
	f.gone("validatingwebhookconfiguration", "", "sallyport-policy-server-seeing")
	log, at := main.log(), 0
	for _, object := range []string{"ValidatingWebhookConfiguration sallyport-policy-server-seeing", "Deployment sallyport-system/policy-server-seeing", "Secret sallyport-system/policy-server-seeing"} {
		next := strings.LastIndex(log, `object="`+object+`"`)
		if next < at {
			f.Errorf("%s was not removed, or too early:\n%s", object, log)
		}
		at = next
	}
	f.await("False NoPolicyServer", "get", "clusteradmissionpolicy", "unique-host", "-o", ready("Ready"))
	// Sallyport itself judges by it now, and may not read Ingresses.
	f.await("clusterwide-unique-host", "get", "validatingwebhookconfiguration", "sallyport-policies", "-o", "jsonpath={.webhooks[*].name}")
	if r := f.write(ingressOf("second", "unique-host", "shop.example.com")); r.OK() || !strings.Contains(r.Stderr, "forbidden") {
		f.Errorf("nobody judges by a policy whose server was deleted: %s", r)
	}
	f.must("delete", "clusteradmissionpolicy", "unique-host")
}

// own has this Sallyport keep webhooks for a policy that it runs itself.
func (f *farm) own(policy string) {
	f.Helper()
	f.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sallyport-reads-ingresses}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ingress-reader}
subjects: [{kind: ServiceAccount, name: sallyport, namespace: sallyport-system}]
---` + policy)
	eventually(f.T, func() string {
		r := f.write(ingressOf("fourth", "own-host", "shop.example.com"))
		if r.OK() {
			f.kubectl("delete", "ingress", "-n", "web", "fourth")
		}
		if !strings.Contains(r.Stderr, "the host shop.example.com belongs to the Ingress web/first") {
			return r.String()
		}
		return ""
	})
	f.must("delete", "clusteradmissionpolicy", "own-host")
	f.gone("validatingwebhookconfiguration", "", "sallyport-policies")
	eventually(f.T, func() string {
		if r := f.write(ingressOf("fourth", "own-host", "shop.example.com")); !r.OK() {
			return r.String()
		}
		return ""
	})
}
