package e2e

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// reviewer is an authorizer that the API server asks about validatedannotations
// before it asks RBAC, as an integration of an identity provider would be. It
// keeps what it was asked.
type reviewer struct {
	server *httptest.Server

	mu      sync.Mutex
	allow   []string
	failing func(w http.ResponseWriter, r *http.Request)
	asked   []authorizationv1.SubjectAccessReviewSpec
}

func newReviewer(t *testing.T) *reviewer {
	r := &reviewer{}
	r.server = httptest.NewTLSServer(http.HandlerFunc(r.answer))
	t.Cleanup(r.server.Close)
	return r
}

// answer allows what is on the list, and has no opinion on anything else.
func (r *reviewer) answer(w http.ResponseWriter, request *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil || review.Spec.ResourceAttributes == nil {
		http.Error(w, "a SubjectAccessReview of a resource is wanted", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.asked = append(r.asked, review.Spec)
	attributes := review.Spec.ResourceAttributes
	review.Status.Allowed = slices.Contains(r.allow, attributes.Name+"="+attributes.Subresource)
	failing := r.failing
	r.mu.Unlock()
	if failing != nil {
		failing(w, request)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// allows lets everybody use these identities, each KEY=VALUE, and no others, and
// forgets what was asked.
func (r *reviewer) allows(identities ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allow, r.asked, r.failing = identities, nil, nil
}

// fails answers every question like this, and forgets what was asked.
func (r *reviewer) fails(how func(http.ResponseWriter, *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.failing = nil, how
}

// of returns the different questions about a user, ordered by name.
func (r *reviewer) of(user string) []authorizationv1.SubjectAccessReviewSpec {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []authorizationv1.SubjectAccessReviewSpec
	for _, spec := range r.asked {
		if spec.User != user {
			continue
		}
		spec.ResourceAttributes = spec.ResourceAttributes.DeepCopy()
		// The API server takes a version that is not given for every version.
		if spec.ResourceAttributes.Version == "*" {
			spec.ResourceAttributes.Version = ""
		}
		same := func(other authorizationv1.SubjectAccessReviewSpec) bool { return cmp.Equal(spec, other) }
		if !slices.ContainsFunc(found, same) {
			found = append(found, spec)
		}
	}
	slices.SortFunc(found, func(a, b authorizationv1.SubjectAccessReviewSpec) int {
		return strings.Compare(a.ResourceAttributes.Name+"\x00"+a.ResourceAttributes.Subresource, b.ResourceAttributes.Name+"\x00"+b.ResourceAttributes.Subresource)
	})
	return found
}

// users are those that were asked about.
func (r *reviewer) users() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var users []string
	for _, spec := range r.asked {
		users = append(users, spec.User)
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// configuration returns the authorizer as the API server is told of it.
func (r *reviewer) configuration(t *testing.T) apiserverv1.AuthorizerConfiguration {
	t.Helper()
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["reviewer"] = &clientcmdapi.Cluster{
		Server:                   r.server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw}),
	}
	kubeconfig.AuthInfos["apiserver"] = &clientcmdapi.AuthInfo{}
	kubeconfig.Contexts["reviewer"] = &clientcmdapi.Context{Cluster: "reviewer", AuthInfo: "apiserver"}
	kubeconfig.CurrentContext = "reviewer"
	file := filepath.Join(t.TempDir(), "reviewer.yaml")
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		t.Fatal(err)
	}
	second := metav1.Duration{Duration: time.Second}
	return apiserverv1.AuthorizerConfiguration{
		Type: "Webhook", Name: "reviewer",
		Webhook: &apiserverv1.WebhookConfiguration{
			AuthorizedTTL: second, UnauthorizedTTL: second, Timeout: second,
			CacheAuthorizedRequests: new(false), CacheUnauthorizedRequests: new(false),
			SubjectAccessReviewVersion: "v1", MatchConditionSubjectAccessReviewVersion: "v1",
			FailurePolicy:  apiserverv1.FailurePolicyNoOpinion,
			ConnectionInfo: apiserverv1.WebhookConnectionInfo{Type: "KubeConfigFile", KubeConfigFile: &file},
			MatchConditions: []apiserverv1.WebhookMatchCondition{
				{Expression: "has(request.resourceAttributes)"},
				{Expression: "request.resourceAttributes.group == 'authorization.k8s.io' && request.resourceAttributes.resource == 'validatedannotations'"},
			},
		},
	}
}

// aheadOfRBAC is an AuthorizationConfiguration with these authorizers first.
func aheadOfRBAC(t *testing.T, first []apiserverv1.AuthorizerConfiguration) string {
	t.Helper()
	config := apiserverv1.AuthorizationConfiguration{
		TypeMeta:    metav1.TypeMeta{APIVersion: "apiserver.config.k8s.io/v1", Kind: "AuthorizationConfiguration"},
		Authorizers: append(slices.Clone(first), apiserverv1.AuthorizerConfiguration{Type: "Node", Name: "node"}, apiserverv1.AuthorizerConfiguration{Type: "RBAC", Name: "rbac"}),
	}
	content, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// mayUse asks the API server what Sallyport asks it.
func (l *identityLab) mayUse(user, key, value string) bool {
	l.Helper()
	review, err := shared.Client.AuthorizationV1().SubjectAccessReviews().Create(l.Context(), &authorizationv1.SubjectAccessReview{
		Spec: documentReview(user, key, value),
	}, metav1.CreateOptions{})
	if err != nil {
		l.Fatal(err)
	}
	return review.Status.Allowed
}

// awaitUse waits until RBAC lets a user use an identity.
func (l *identityLab) awaitUse(user, key, value string) {
	l.Helper()
	eventually(l.T, func() string {
		if !l.mayUse(user, key, value) {
			return user + " may not use " + key + "=" + value
		}
		return ""
	})
}

// documentReview is a review in the words of document "Validated Pod
// Annotations".
func documentReview(user, key, value string) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: "authorization.k8s.io", Resource: "validatedannotations", Name: key, Subresource: value, Verb: "use",
		},
	}
}
