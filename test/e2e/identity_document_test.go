package e2e

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/test/lab"
)

const (
	gcpClaim      = gcpKey + "=" + gcpValue
	kerberosClaim = kerberosKey + "=" + kerberosValue
)

// employeeReviews are the document's two, of the user whom the API server knows
// by a token.
func employeeReviews() []authorizationv1.SubjectAccessReviewSpec {
	var reviews []authorizationv1.SubjectAccessReviewSpec
	for _, claim := range [][2]string{{gcpKey, gcpValue}, {kerberosKey, kerberosValue}} {
		review := documentReview(employee, claim[0], claim[1])
		review.UID, review.Groups = "uid-10", []string{"staff", "system:authenticated"}
		reviews = append(reviews, review)
	}
	return reviews
}

// documentGrants are what the authorizer of the document allows, with the claims
// that are missing then.
var documentGrants = []struct {
	name    string
	allow   []string
	missing []string
}{
	{"neither", nil, []string{gcpKey, gcpValue, kerberosKey, kerberosValue}},
	{"one", []string{gcpClaim}, []string{kerberosKey, kerberosValue}},
	{"the other", []string{kerberosClaim}, []string{gcpKey, gcpValue}},
	{"both", []string{gcpClaim, kerberosClaim}, nil},
}

// TestIdentityDocument is document "Validated Pod Annotations": its pod, its
// user, its five operations and its two reviews, which an authorizer of the test's
// own sees and answers.
func TestIdentityDocument(t *testing.T) {
	r := newReviewer(t)
	l := newIdentityLabWith(t, identityOptions{authorizer: r})
	l.runningPods(podOf("app", bothClaims)+workloadOf("Deployment").of("web", bothClaims), "app")
	l.run("the API server asks the authorizer", func(l *identityLab) {
		r.allows(kerberosClaim)
		if !l.mayUse(employee, kerberosKey, kerberosValue) || l.mayUse(employee, gcpKey, gcpValue) {
			l.Error("its answers do not count")
		}
		want := []authorizationv1.SubjectAccessReviewSpec{documentReview(employee, gcpKey, gcpValue), documentReview(employee, kerberosKey, kerberosValue)}
		if diff := cmp.Diff(want, r.of(employee)); diff != "" {
			l.Errorf("reviews (-want +got):\n%s", diff)
		}
	})
	changes := 1
	for _, operation := range []struct {
		name string
		try  func(l *identityLab, name, image string) lab.Result
	}{
		{"exec on pod", func(l *identityLab, _, _ string) lab.Result { return l.exec(employee, "app") }},
		{"create pod", func(l *identityLab, name, _ string) lab.Result {
			return l.feed(employee, podOf(name, bothClaims), "create")
		}},
		{"update spec of pod", func(l *identityLab, _, image string) lab.Result {
			return l.do(employee, "set", "image", "pod/app", "app="+image)
		}},
		{"create controller that creates pods from a podspec", func(l *identityLab, name, _ string) lab.Result {
			return l.feed(employee, workloadOf("Deployment").of(name, bothClaims), "create")
		}},
		{"update spec of controller that creates pods from a podspec", func(l *identityLab, _, image string) lab.Result {
			return l.do(employee, "set", "image", "deployment/web", "app="+image)
		}},
	} {
		for _, grant := range documentGrants {
			l.run(operation.name+" allowed "+grant.name, func(l *identityLab) {
				changes++
				r.allows(grant.allow...)
				result := operation.try(l, fmt.Sprintf("new-%d", changes), fmt.Sprintf("gcr.io/mycompany/app:%d.0", changes))
				want(l.T, result, grant.missing == nil, grant.missing...)
				if diff := cmp.Diff(employeeReviews(), r.of(employee)); diff != "" {
					l.Errorf("reviews of %s (-want +got):\n%s", employee, diff)
				}
			})
		}
	}

	l.run("the audit log says who wanted what", func(l *identityLab) {
		l.awaitFile(l.audit, employee, kerberosKey, kerberosValue, "deny")
	})

	// What has been judged is made by the controllers without a review of them.
	l.run("pods of a controller", func(l *identityLab) {
		r.allows(gcpClaim, kerberosClaim)
		l.allowed(l.feed(employee, workloadOf("Deployment").of("made", bothClaims), "create"))
		r.allows()
		l.awaitPods("made", kerberosValue)
		for _, user := range r.users() {
			if user != employee {
				l.Errorf("%s was reviewed", user)
			}
		}
	})

	l.run("an answer is not kept", func(l *identityLab) {
		r.allows(gcpClaim, kerberosClaim)
		l.allowed(l.exec(employee, "app"))
		r.allows(gcpClaim)
		l.refused(l.exec(employee, "app"), kerberosKey, kerberosValue)
	})
	l.run("an error refuses", func(l *identityLab) {
		r.fails(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusBadRequest) })
		l.refused(l.feed(employee, podOf("error", bothClaims), "create"), kerberosKey)
	})
	l.run("a time-out refuses", func(l *identityLab) {
		r.fails(func(_ http.ResponseWriter, request *http.Request) {
			// The server sees that the caller has gone once all of the body is read.
			_, _ = io.Copy(io.Discard, request.Body)
			<-request.Context().Done()
		})
		l.refused(l.feed(employee, podOf("timeout", bothClaims), "create"), kerberosKey)
	})
	l.run("a pod without claims is not asked about", func(l *identityLab) {
		r.allows()
		l.allowed(l.feed(employee, podOf("none", noClaim), "create"))
		if asked := r.users(); len(asked) > 0 {
			l.Errorf("reviews of %v", asked)
		}
	})

	// All that the API server knows of somebody reaches the authorizer.
	l.run("user, uid, groups and extra", func(l *identityLab) {
		r.allows(gcpClaim, kerberosClaim)
		config := rest.CopyConfig(shared.Config)
		config.Impersonate = rest.ImpersonationConfig{
			UserName: employee, UID: "another-uid", Groups: []string{"staff", "oncall"}, Extra: map[string][]string{"example.com/scopes": {"a", "b"}},
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			l.Fatal(err)
		}
		_, err = client.CoreV1().Pods(l.namespace).Create(l.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "extra", Annotations: map[string]string{gcpKey: gcpValue, kerberosKey: kerberosValue}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: appImage}}},
		}, metav1.CreateOptions{})
		if err != nil {
			l.Fatal(err)
		}
		reviews := employeeReviews()
		for i := range reviews {
			reviews[i].UID, reviews[i].Groups = "another-uid", []string{"staff", "oncall", "system:authenticated"}
			reviews[i].Extra = map[string]authorizationv1.ExtraValue{"example.com/scopes": {"a", "b"}}
		}
		if diff := cmp.Diff(reviews, r.of(employee)); diff != "" {
			l.Errorf("reviews (-want +got):\n%s", diff)
		}
	})
}

// TestIdentityDocumentAtOneDoor has each door by itself see the document's reviews.
func TestIdentityDocumentAtOneDoor(t *testing.T) {
	for _, door := range []string{accessDoor, admissionDoor} {
		t.Run(door, func(t *testing.T) {
			r := newReviewer(t)
			l := newIdentityLabWith(t, identityOptions{door: door, authorizer: r})
			l.runningPods(podOf("app", bothClaims), "app")
			for name, env := range map[string][]string{"WebSocket": nil, "SPDY": lab.SPDY} {
				for _, grant := range documentGrants {
					l.run("exec by "+name+" allowed "+grant.name, func(l *identityLab) {
						r.allows(grant.allow...)
						want(l.T, l.exec(employee, "app", env...), grant.missing == nil, grant.missing...)
						if diff := cmp.Diff(employeeReviews(), r.of(employee)); diff != "" {
							l.Errorf("reviews of %s (-want +got):\n%s", employee, diff)
						}
					})
				}
			}
		})
	}
}
