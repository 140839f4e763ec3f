package policy

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// manySources are more sources than an object may have claims, each of which reads an
// annotation of its own, and the annotations that all of them read.
func manySources(way string) (sources []string, annotations string) {
	for i := range 65 {
		name := fmt.Sprintf("many-%d", i)
		sources = append(sources, fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: %s}\nspec: {key: %s, %s}", name, name, strings.ReplaceAll(way, "NAME", name)))
		annotations += name + ": x, "
	}
	return sources, strings.TrimSuffix(annotations, ", ")
}

const (
	tokenText  = "apiVersion: authentication.k8s.io/v1\nkind: TokenRequest\nmetadata: {name: gcs, namespace: shop}\nspec: {audiences: [vault]}\n"
	secretText = "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\nmetadata: {name: token, namespace: shop, annotations: {kubernetes.io/service-account.name: gcs}}\n"
	certText   = "apiVersion: certificates.k8s.io/v1\nkind: PodCertificateRequest\nmetadata: {name: r, namespace: shop}\nspec: {signerName: example.com/workload, podName: app, serviceAccountName: app}\n"
	gcsText    = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: gcs, namespace: shop, annotations: {iam.gke.io/gcp-service-account: gcs@mycompany.gserviceaccount.com}}\n"
	certSource = "apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: cert}\nspec: {key: cert, podCertificate: {signerName: example.com/workload}}"
)

// TestIdentityCredentialsOnTheEdge asks for credentials, and writes what gives them, in
// ways that the API server hardly ever passes on, or that cannot be judged.
func TestIdentityCredentialsOnTheEdge(t *testing.T) {
	many, annotations := manySources("serviceAccount: {annotation: NAME}")
	crowded := strings.Replace(gcsText, "annotations: {", "annotations: {"+annotations+", ", 1)
	state := clusterOf(t, append(identityObjects(), podNamed("shop", "unscheduled", func(p *corev1.Pod) {
		p.UID, p.Spec.ServiceAccountName = "pod-unscheduled", "gcs"
	}), podNamed("shop", "unnumbered", func(p *corev1.Pod) { p.Spec.ServiceAccountName, p.Spec.NodeName = "gcs", "node-1" }))...)
	deletion := func(r *request.Request) {
		r.Operation, r.Object, r.OldObject = request.Delete, nil, r.Object
	}
	node := func(name string) func(*request.Request) {
		return func(r *request.Request) { r.User = request.User{Name: name, Groups: []string{"system:nodes"}} }
	}
	bound := func(text string) string {
		return strings.Replace(tokenText, "audiences: [vault]", "boundObjectRef: {"+text+"}", 1)
	}
	const unjudged = "identities/use error"
	for _, c := range []struct {
		name, resource, subresource, old, document string
		sources                                    []string
		change                                     func(*request.Request)
		want, says                                 string
	}{
		{"an account with too many identities", "serviceaccounts", "", "", crowded, many, nil, unjudged, "more than 64"},
		{"an account with too many identities before", "serviceaccounts", "", crowded, gcsText, many, nil, unjudged, "before the update, "},
		{"an account that is updated from something unknown", "serviceaccounts", "", gcsText, gcsText, identitySources, func(r *request.Request) { r.OldObject = nil }, unjudged, "as it was before"},
		{"an account with too many identities is deleted", "serviceaccounts", "", "", crowded, many, deletion, unjudged, "more than 64"},
		{"a ServiceAccount of another group is deleted", "serviceaccounts", "", "", strings.Replace(gcsText, "v1", "example.com/v1", 1), identitySources, deletion, "", ""},
		{"something else with the annotation is deleted", "configmaps", "", "", strings.Replace(gcsText, "ServiceAccount", "ConfigMap", 1), identitySources, deletion, "", ""},

		{"a request for a certificate that cannot be read", "podcertificaterequests", "", "", strings.Replace(certText, "serviceAccountName: app", "serviceAccountName: [app]", 1), []string{certSource}, nil, unjudged, "PodCertificateRequest cannot be read"},
		{"a request for a certificate in no namespace", "podcertificaterequests", "", "", certText, []string{certSource}, func(r *request.Request) { r.Namespace = "" }, unjudged, "in no namespace"},

		{"a token of nothing, where nothing is guarded", "serviceaccounts", "token", "", tokenText, nil, func(r *request.Request) { r.Name = "" }, "", ""},
		{"a token without a name", "serviceaccounts", "token", "", tokenText, identitySources, func(r *request.Request) { r.Name = "" }, unjudged, "does not name the service account"},
		{"a token without a namespace", "serviceaccounts", "token", "", tokenText, identitySources, func(r *request.Request) { r.Namespace = "" }, unjudged, "does not name the service account"},
		{"a request for a token that cannot be read", "serviceaccounts", "token", "", strings.Replace(tokenText, "[vault]", "vault", 1), identitySources, nil, unjudged, "TokenRequest cannot be read"},
		{"a token of an account that is not there", "serviceaccounts", "token", "", strings.Replace(tokenText, "gcs", "gone", 1), identitySources, nil, unjudged, "cannot be read"},
		{"a token in kube-system, by a stranger", "serviceaccounts", "token", "", strings.Replace(tokenText, "namespace: shop", "namespace: kube-system", 1), identitySources[2:3], nil, "vault/use fail", "may not act as"},

		{"a token for what is called like a node, and is none", "serviceaccounts", "token", "", bound("kind: Pod, apiVersion: v1, name: gcs, uid: pod-gcs"), identitySources, node("node-1"), "gke/use fail", ""},
		{"a token for a node without a name", "serviceaccounts", "token", "", bound("kind: Pod, apiVersion: v1, name: unscheduled, uid: pod-unscheduled"), identitySources, node("system:node:"), "gke/use fail", ""},
		{"a token for a node, bound to a Pod of another group", "serviceaccounts", "token", "", bound("kind: Pod, apiVersion: example.com/v1, name: gcs, uid: pod-gcs"), identitySources, node("system:node:node-1"), "gke/use fail", "bound to none"},
		{"a token for a node, bound to a pod without a name", "serviceaccounts", "token", "", bound("kind: Pod, apiVersion: v1, uid: pod-gcs"), identitySources, node("system:node:node-1"), "gke/use fail", "bound to none"},
		{"a token for a node, bound to a pod without a UID", "serviceaccounts", "token", "", bound("kind: Pod, apiVersion: v1, name: unnumbered"), identitySources, node("system:node:node-1"), "gke/use fail", "bound to none"},

		{"a Secret that cannot be read, where nothing is guarded", "secrets", "", "", strings.Replace(secretText, "kubernetes.io/service-account-token", "5", 1), nil, nil, "", ""},
		{"a Secret that cannot be read", "secrets", "", "", strings.Replace(secretText, "kubernetes.io/service-account-token", "5", 1), identitySources, nil, unjudged, "the type of the Secret cannot be read"},
		{"a Secret that could not be read before", "secrets", "", strings.Replace(secretText, "kubernetes.io/service-account-token", "5", 1), secretText, identitySources, nil, unjudged, "before the update, "},
		{"a Secret that is created, whatever is said to have been there", "secrets", "", secretText, secretText, identitySources, func(r *request.Request) { r.Operation = request.Create }, "gke/use fail", ""},
		{"a Secret that is updated from something unknown", "secrets", "", secretText, secretText, identitySources, func(r *request.Request) { r.OldObject = nil }, "gke/use fail", ""},
		{"a Secret for an account that is not there", "secrets", "", "", strings.Replace(secretText, "name: gcs", "name: gone", 1), identitySources, nil, unjudged, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, stranger, c.resource, c.subresource, c.old, c.document)
			if c.change != nil {
				c.change(r)
			}
			d := setOf(t, c.sources...).Decide(t.Context(), r)
			if got := summary(d); got != c.want || !strings.Contains(messages(d), c.says) {
				t.Errorf("%q, want %q with %q: %s", got, c.want, c.says, messages(d))
			}
			if d.Refuses() != (c.want != "") {
				t.Error(d.Verdict)
			}
		})
	}
}
