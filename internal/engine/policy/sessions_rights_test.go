package policy

import (
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestGrantedRights has a session give what the roles of its group allow, and no
// more.
func TestGrantedRights(t *testing.T) {
	state := clusterOf(t, podNamed("shop", "web", nil), namespace("shop", nil),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "enters", Namespace: "shop"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create"}}}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "oncall", Namespace: "shop"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "enters"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "oncall"}, {Kind: "Group"}}},
	)
	good := []string{escalation("emergency", "{}"), session("s", "emergency", "")}
	masters := strings.Replace(good[0], "escalatedGroup: oncall", "escalatedGroup: other", 1)
	for _, tt := range []struct {
		name   string
		docs   []string
		change func(*request.Request)
		lets   bool
	}{
		{"what the group may", good, func(*request.Request) {}, true},
		{"another verb", good, func(r *request.Request) { r.Verb = "get" }, false},
		{"another namespace", good, func(r *request.Request) { r.Namespace = "kube-system" }, false},
		{"another resource", good, func(r *request.Request) { r.Resource.Resource, r.Subresource = "secrets", "" }, false},
		{"another user", good, func(r *request.Request) { r.User.Name = "mallory" }, false},
		{"above all authorization", good, func(r *request.Request) { r.User.Groups = []string{"system:masters"} }, false},
		{"after its time", good, func(r *request.Request) { r.Time = judgedAt.Add(time.Hour) }, false},
		{"the escalation gives another group now", []string{masters, session("s", "emergency", "  terms: {escalatedGroup: oncall}\n")}, func(*request.Request) {}, false},
		{"it gave another group when it was approved", []string{good[0], session("s", "emergency", "  terms: {escalatedGroup: other}\n")}, func(*request.Request) {}, false},
		{"the escalation gives no group", []string{strings.Replace(good[0], "  escalatedGroup: oncall\n", "", 1), good[1]}, func(*request.Request) {}, false},
		{"what roles allow cannot be read", good, func(r *request.Request) { r.Cluster = unreadable{} }, false},
		{"the escalation is gone", good[1:], func(*request.Request) {}, false},
		{"the front door gives nothing", good, func(r *request.Request) { r.Door, r.Operation = request.Admission, request.Connect }, false},
		{"a policy denies it", append(good[:2:2], "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: never}\nspec:\n  rules: [{verbs: ['*'], apiGroups: [''], resources: [pods/exec]}]\n"), func(*request.Request) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := exec(state, "shop", "web")
			tt.change(r)
			d := setOf(t, tt.docs...).Decide(t.Context(), r)
			if (d.Granted != nil) != tt.lets {
				t.Errorf("granted %+v, %+v", d.Granted, d.Results)
			}
			if tt.lets && (d.Granted.Group != "oncall" || d.Granted.Name != "s") {
				t.Errorf("granted by %+v", d.Granted)
			}
		})
	}
}

// TestGrantsDoNotOutlast has a session whose group may do everything give nothing that
// lasts longer than the session, or leads out of it.
func TestGrantsDoNotOutlast(t *testing.T) {
	state := clusterOf(t,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "everything"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "oncall"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "everything"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "oncall"}}},
	)
	set := setOf(t, escalation("emergency", "{}"), session("s", "emergency", ""))
	for _, tt := range []struct {
		verb, group, resource, subresource string
		lets                               bool
	}{
		{"get", "", "secrets", "", true},
		{"delete", "", "pods", "", true},
		{"create", "", "pods", "exec", true},
		{"get", "sallyport.io", "breakglasssessions", "", true},
		{"create", "sallyport.io", "breakglasssessions", "", false},
		{"patch", "sallyport.io", "breakglasssessions", "status", false},
		{"delete", "sallyport.io", "denypolicies", "", false},
		{"impersonate", "", "users", "", false},
		{"impersonate", "authentication.k8s.io", "userextras", "scopes", false},
		{"impersonate:user-info", "authentication.k8s.io", "users", "", false},
		{"impersonate-on:user-info:get", "", "secrets", "", false},
		{"create", "", "serviceaccounts", "token", false},
		{"create", "", "secrets", "", false},
		{"patch", "", "secrets", "", true},
		{"delete", "apiextensions.k8s.io", "customresourcedefinitions", "", false},
		{"deletecollection", "apiextensions.k8s.io", "customresourcedefinitions", "", false},
		{"get", "apiextensions.k8s.io", "customresourcedefinitions", "", true},
		{"list", "apiextensions.k8s.io", "customresourcedefinitions", "", true},
		{"watch", "apiextensions.k8s.io", "customresourcedefinitions", "", true},
		{"delete", "", "serviceaccounts", "", true},
		{"create", "", "others", "token", true},
		{"get", "", "*", "", false},
		{"get", "*", "pods", "", false},
		{"bind", "rbac.authorization.k8s.io", "clusterroles", "", false},
		{"escalate", "rbac.authorization.k8s.io", "clusterroles", "", false},
		{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", false},
		{"list", "rbac.authorization.k8s.io", "clusterrolebindings", "", true},
		{"create", "certificates.k8s.io", "certificatesigningrequests", "", false},
		{"approve", "certificates.k8s.io", "signers", "", false},
		{"delete", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", false},
		{"*", "*", "*", "", false},
	} {
		t.Run(strings.Join([]string{tt.verb, tt.group, tt.resource, tt.subresource}, " "), func(t *testing.T) {
			r := exec(state, "shop", "web")
			r.Verb, r.Resource, r.Subresource = tt.verb, schema.GroupVersionResource{Group: tt.group, Version: "v1", Resource: tt.resource}, tt.subresource
			if d := set.Decide(t.Context(), r); (d.Granted != nil) != tt.lets {
				t.Errorf("granted %+v", d.Granted)
			}
		})
	}
	t.Run("a path", func(t *testing.T) {
		r := exec(state, "", "")
		r.Verb, r.Resource, r.Subresource, r.NonResourcePath = "get", schema.GroupVersionResource{}, "", "/metrics"
		if d := set.Decide(t.Context(), r); d.Granted != nil {
			t.Errorf("granted %+v", d.Granted)
		}
	})
}
