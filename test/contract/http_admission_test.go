package contract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAdmissionAnswers covers creation and change: what is refused, warned
// about and let in, each with the uid of its request.
func TestAdmissionAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, files(t, map[string]string{
		"enforce.yaml": clusterPolicy("enforced", "Enforce", "- {name: base, match: {any: [{resources: {kinds: [Pod], namespaces: [shop]}}]}, validate: {podSecurity: {level: baseline}}}"),
		"warn.yaml":    clusterPolicy("warned", "Warn", "- {name: base, match: {any: [{resources: {kinds: [Pod], namespaces: [lenient]}}]}, validate: {podSecurity: {level: baseline}}}"),
		"audit.yaml":   clusterPolicy("audited", "Audit", "- {name: base, match: {any: [{resources: {kinds: [Pod], namespaces: [watched]}}]}, validate: {podSecurity: {level: baseline}}}"),
	}))
	newImage := func(p *corePod) { p.Spec.Containers[0].Image = "example.com/app:2" }
	bad := newPod("shop", "web", hostPID)
	tests := []struct {
		name     string
		review   string
		allowed  bool
		warnings bool
		message  []string
	}{
		{"a safe pod", createPod(t, newPod("shop", "web")), true, false, nil},
		{"a bad pod", createPod(t, bad), false, false, []string{"enforced", "base", "spec.hostPID"}},
		{"all faults at once", createPod(t, newPod("shop", "web", hostPID, hostIPC, first(privileged))), false, false,
			[]string{"spec.hostPID", "spec.hostIPC", "spec.containers[0].securityContext.privileged"}},
		{"a warning", createPod(t, newPod("lenient", "web", hostPID)), true, true, nil},
		{"an audit", createPod(t, newPod("watched", "web", hostPID)), true, false, nil},
		{"another namespace", createPod(t, newPod("other", "web", hostPID)), true, false, nil},
		{"a change of nothing relevant", updatePod(t, "", bad, newPod("shop", "web", hostPID, labelled("a", "b"))), true, false, nil},
		{"a change of the image", updatePod(t, "", bad, newPod("shop", "web", hostPID, newImage)), false, false, []string{"spec.hostPID"}},
		{"a safe ephemeral container", updatePod(t, "ephemeralcontainers", newPod("shop", "web"), newPod("shop", "web", ephemeral(func(*securityContext) {}))), true, false, nil},
		{"a privileged ephemeral container", updatePod(t, "ephemeralcontainers", newPod("shop", "web"), newPod("shop", "web", ephemeral(privileged))), false, false,
			[]string{"spec.ephemeralContainers[0].securityContext.privileged"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			response := s.admit(t, "/validate", tt.review)
			if string(response.UID) != reviewUID {
				t.Errorf("uid %q, want %q", response.UID, reviewUID)
			}
			if (len(response.Warnings) > 0) != tt.warnings {
				t.Errorf("warnings %q", response.Warnings)
			}
			if tt.allowed {
				wantAdmitted(t, response)
			} else {
				wantRefused(t, response, tt.message...)
			}
		})
	}
}

// TestAdmissionAnnotations says what the audit log of the cluster is told. The
// API server puts the webhook's name before the key, which may so be short.
func TestAdmissionAnnotations(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	for decision, pod := range map[string]*corePod{"deny": newPod("shop", "web", hostPID), "allow": newPod("shop", "web")} {
		annotations := s.admit(t, "/validate", createPod(t, pod)).AuditAnnotations
		if got := annotation(annotations, "decision"); got != decision {
			t.Errorf("decision %q in %v, want %q", got, annotations, decision)
		}
	}
	exec := s.admit(t, "/validate", connectPod(t, "shop", "risky", "exec", nil)).AuditAnnotations
	wantContains(t, annotation(exec, "policies"), "guard")
	wantContains(t, annotation(exec, "risk-factors"), "hostPID")
}

func annotation(annotations map[string]string, key string) string {
	if value, exists := annotations["sallyport.io/"+key]; exists {
		return value
	}
	return annotations[key]
}

// TestAdmissionConnect covers accesses at the admission door.
func TestAdmissionConnect(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"guard.yaml":     denyPolicySpec("guard", "appliesTo: {clusters: [main]}\npodSecurityRules: {blockFactors: [hostPID]}"),
		"proxy.yaml":     denyPolicySpec("no-proxy", "appliesTo: {clusters: [main]}\npodSecurityRules: {appliesTo: {subresources: [proxy]}, blockFactors: [hostPID]}"),
		"warn.yaml":      denyPolicySpec("warner", "appliesTo: {clusters: [lenient]}\npodSecurityRules: {riskFactors: {hostPID: 50}, thresholds: [{maxScore: 100, action: warn}]}"),
		"container.yaml": denyPolicySpec("entered", "appliesTo: {clusters: [fine]}\npodSecurityRules: {scope: container, blockFactors: [privilegedContainer]}"),
		"pods.yaml": documents(t, newPod("shop", "risky", hostPID), newPod("shop", "safe"),
			newPod("shop", "mixed", sidecar(privileged)),
			newPod("shop", "mixed-default", sidecar(privileged), defaultContainer("sidecar"))),
	})
	servers := map[string]*server{}
	for _, cluster := range []string{"main", "lenient", "fine"} {
		servers[cluster] = serve(t, dir, "--cluster-name", cluster)
	}
	tests := []struct {
		name, cluster, pod, subresource string
		container                       string
		refused                         []string
		warned                          bool
	}{
		{"exec", "main", "risky", "exec", "app", []string{"guard", "hostPID"}, false},
		{"attach", "main", "risky", "attach", "app", []string{"guard", "hostPID"}, false},
		{"portforward", "main", "risky", "portforward", "", []string{"guard", "hostPID"}, false},
		{"proxy", "main", "risky", "proxy", "", []string{"no-proxy", "hostPID"}, false},
		{"proxy to a port", "main", "risky:18080", "proxy", "", []string{"no-proxy", "hostPID"}, false},
		{"proxy by HTTPS", "main", "https:risky:18080", "proxy", "", []string{"no-proxy", "hostPID"}, false},
		{"exec into a safe pod", "main", "safe", "exec", "app", nil, false},
		{"proxy to a safe pod", "main", "safe:80", "proxy", "", nil, false},
		{"exec into a pod that is gone", "main", "gone", "exec", "app", []string{"guard"}, false},
		{"another cluster", "lenient", "risky", "exec", "app", nil, true},
		{"no container: the first", "fine", "mixed", "exec", "", nil, false},
		{"no container: the annotated", "fine", "mixed-default", "exec", "", []string{"entered"}, false},
		{"the container named", "fine", "mixed", "exec", "sidecar", []string{"entered"}, false},
		{"the container attached to", "fine", "mixed", "attach", "sidecar", []string{"entered"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			options := map[string]any{}
			if tt.container != "" {
				options["container"] = tt.container
			}
			response := servers[tt.cluster].admit(t, "/validate", connectPod(t, "shop", tt.pod, tt.subresource, options))
			named := servers[tt.cluster].admit(t, "/validate/"+tt.cluster, connectPod(t, "shop", tt.pod, tt.subresource, options))
			if diff := cmp.Diff(response, named); diff != "" {
				t.Errorf("another answer where the cluster stands in the path (-without +with):\n%s", diff)
			}
			if tt.refused != nil {
				wantRefused(t, response, tt.refused...)
				return
			}
			wantAdmitted(t, response)
			if (len(response.Warnings) > 0) != tt.warned {
				t.Errorf("warnings %q", response.Warnings)
			}
		})
	}
}

// TestAdmissionExemptionLabels says that a label which exempts is a right.
func TestAdmissionExemptionLabels(t *testing.T) {
	t.Parallel()
	const rbac = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: exempter}
rules: [{apiGroups: [sallyport.io], resources: [denypolicies], resourceNames: [guard], verbs: [exempt]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: exempter}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: exempter}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: alice@example.com}]
`
	policy := denyPolicy("guard", `{blockFactors: [hostPID], exemptions: {podLabels: {trusted: "yes"}}}`)
	without := serve(t, files(t, map[string]string{"policy.yaml": policy}))
	with := serve(t, files(t, map[string]string{"policy.yaml": policy, "rbac.yaml": rbac}))
	exempt := newPod("shop", "web", labelled("trusted", "yes"))
	wantRefused(t, without.admit(t, "/validate", createPod(t, exempt)), "exempt", "guard")
	wantRefused(t, without.admit(t, "/validate", updatePod(t, "", newPod("shop", "web"), exempt)), "exempt", "guard")
	wantRefused(t, without.admit(t, "/validate", createDeployment(t, exempt)), "exempt", "guard")
	wantAdmitted(t, without.admit(t, "/validate", createPod(t, newPod("shop", "web", labelled("trusted", "no")))))
	wantAdmitted(t, without.admit(t, "/validate", updatePod(t, "", exempt, newPod("shop", "web", labelled("trusted", "yes", "a", "b")))))
	wantAdmitted(t, with.admit(t, "/validate", createPod(t, exempt)))
	wantAdmitted(t, with.admit(t, "/validate", createDeployment(t, exempt)))
}

// createDeployment is the creation of a Deployment with the pod for template.
func createDeployment(t *testing.T, pod *corePod) string {
	t.Helper()
	object := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": pod.Name, "namespace": pod.Namespace},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": pod.Labels},
			"template": corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec}},
	}
	review := admissionv1.AdmissionRequest{
		Kind:     metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource: metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Name:     pod.Name, Namespace: pod.Namespace, Operation: admissionv1.Create,
	}
	review.Object.Raw = []byte(strings.TrimSpace(text(t, object)))
	return admissionReview(t, review)
}
