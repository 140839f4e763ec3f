package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// connecting is what the front door is asked when somebody gets into a pod.
func connecting(state request.Cluster, subresource, namespace, name string) *request.Request {
	r := access1(state, subresource, namespace, name)
	r.Door, r.Verb, r.Operation, r.Final = request.Admission, "", request.Connect, true
	r.Kind = schema.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}
	r.Options = &request.ConnectOptions{Kind: "PodExecOptions", Container: "app"}
	return r
}

// debugging is what it is asked when somebody adds ephemeral containers.
func debugging(t *testing.T, state request.Cluster, before, after int) *request.Request {
	t.Helper()
	with := func(n int) *pod.Object {
		p := podNamed("shop", "web", nil)
		p.UID = "u-web"
		for i := range n {
			p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: string(rune('a' + i)), Image: "tools:1"}})
		}
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		object, err := pod.Default().Decode(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, raw)
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	r := access1(state, "ephemeralcontainers", "shop", "web")
	r.Door, r.Verb, r.Operation, r.Final = request.Admission, "", request.Update, true
	r.Kind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	r.Object, r.OldObject = with(after), with(before)
	return r
}

// TestEntries has nothing but what the front door lets in count as an entry, or keep a
// session from being idle.
func TestEntries(t *testing.T) {
	web := podNamed("shop", "web", nil)
	web.UID = "u-web"
	state := clusterOf(t, web, namespace("shop", nil),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "ops", Namespace: "shop"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods", "pods/exec", "pods/attach", "pods/log"}, Verbs: []string{"create", "get", "patch", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"pods/proxy"}, Verbs: []string{"delete"}},
			{APIGroups: []string{""}, Resources: []string{"pods/ephemeralcontainers"}, Verbs: []string{"patch"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "ops", Namespace: "shop"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "ops"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "oncall"}}},
	)
	group := escalation("emergency", "{}")
	asks := "  idle: authorizer\n"
	entered, used, nothing := []string{"shop/web u-web"}, []string{}, []string(nil)
	at := func(subresource, verb string) *request.Request {
		r := access1(state, subresource, "shop", "web")
		r.Verb = verb
		return r
	}
	change := func(r *request.Request, do func(*request.Request)) *request.Request { do(r); return r }
	for _, tt := range []struct {
		name string
		docs []string
		r    *request.Request
		want []string
	}{
		{"exec at the front door", []string{group}, connecting(state, "exec", "shop", "web"), entered},
		{"attach at the front door", []string{group}, connecting(state, "attach", "shop", "web"), entered},
		{"proxy at the front door", []string{group}, connecting(state, "proxy", "shop", "http:web:80"), entered},
		{"past a policy", []string{riskyPolicy, escalation("emergency", "{enabled: true, maxAllowedScore: 100}")}, connecting(clusterOf(t, func() *corev1.Pod { p := podNamed("shop", "web", privileged); p.UID = "u-web"; return p }(), namespace("shop", nil)), "exec", "shop", "web"), entered},
		{"at the front door, observing", []string{group}, change(connecting(state, "exec", "shop", "web"), func(r *request.Request) { r.Observing = true }), used},
		{"an ephemeral container", []string{group}, debugging(t, state, 0, 1), entered},
		{"one more of them", []string{group}, debugging(t, state, 1, 2), entered},
		{"an update that adds none", []string{group}, debugging(t, state, 1, 1), used},
		{"another change", []string{group}, change(connecting(state, "", "shop", "web"), func(r *request.Request) { r.Operation, r.Options = request.Delete, nil }), used},
		{"a dry run", []string{group}, change(debugging(t, state, 0, 1), func(r *request.Request) { r.DryRun = true }), nothing},
		{"what is still to be changed", []string{group}, change(debugging(t, state, 0, 1), func(r *request.Request) { r.Final = false }), nothing},
		{"what the group may not", []string{group}, connecting(state, "portforward", "shop", "web"), nothing},
		{"somebody else", []string{group}, change(connecting(state, "exec", "shop", "web"), func(r *request.Request) { r.User.Name = "bob" }), nothing},
		{"out of the group", []string{group}, change(connecting(state, "exec", "shop", "web"), func(r *request.Request) { r.User.Groups = nil }), nothing},

		{"asked: exec by SPDY", []string{group}, at("exec", "create"), nothing},
		{"asked: exec by WebSocket", []string{group}, at("exec", "get"), nothing},
		{"asked: the log", []string{group}, at("log", "get"), nothing},
		{"asked: a debug container", []string{group}, at("ephemeralcontainers", "patch"), nothing},
		{"asked: the pod", []string{group}, at("", "get"), nothing},
		{"asked, past a policy", []string{riskyPolicy, escalation("emergency", "{enabled: true, maxAllowedScore: 100}")}, exec(clusterOf(t, podNamed("shop", "web", privileged), namespace("shop", nil)), "shop", "web"), nothing},
		{"asked, where questions count", []string{group + asks}, at("exec", "create"), used},
		{"asked, where they count past a policy", []string{riskyPolicy, escalation("emergency", "{enabled: true, maxAllowedScore: 100}") + asks}, exec(clusterOf(t, podNamed("shop", "web", privileged), namespace("shop", nil)), "shop", "web"), used},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ledger := &breakglass.Ledger{}
			docs := append(tt.docs, session("s", "emergency", ""))
			set, sources := setOf(t, docs...), sourcesOf(t, docs...)
			var problems stored.Problems
			if set.Sessions, problems = compileBreakglass(&sources, ledger); len(problems) > 0 {
				t.Fatal(problems)
			}
			if d := set.Decide(t.Context(), tt.r); d.Refuses() {
				t.Fatalf("refused: %+v", d.Results)
			}
			var got []string
			for _, uses := range ledger.Take() {
				got = []string{}
				for _, p := range uses.Pods {
					got = append(got, p.Namespace+"/"+p.Name+" "+p.UID)
				}
				if !uses.Last.Equal(judgedAt) {
					t.Errorf("last used at %s", uses.Last)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entered (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("where questions count only since it was approved", func(t *testing.T) {
		ledger := &breakglass.Ledger{}
		sources := sourcesOf(t, group+asks, session("s", "emergency", "  terms: {escalatedGroup: oncall}\n"))
		set := setOf(t)
		set.Sessions, _ = compileBreakglass(&sources, ledger)
		if d := set.Decide(t.Context(), at("exec", "create")); d.Granted == nil || len(ledger.Take()) > 0 {
			t.Errorf("granted %+v, and counted", d.Granted)
		}
	})
}

// TestIdleThoughAsked has a session end as idle, however often somebody asks.
func TestIdleThoughAsked(t *testing.T) {
	state := clusterOf(t, podNamed("shop", "web", privileged), namespace("shop", nil))
	for basis, active := range map[string]bool{"frontDoor": false, "authorizer": true} {
		t.Run(basis, func(t *testing.T) {
			sources := sourcesOf(t, riskyPolicy, escalation("emergency", "{enabled: true, maxAllowedScore: 100}")+"  idleTimeout: 10m\n  idle: "+basis+"\n", session("s", "emergency", ""))
			set := setOf(t, riskyPolicy)
			set.Sessions, _ = compileBreakglass(&sources, &breakglass.Ledger{})
			for minute := range 30 {
				r := exec(state, "shop", "web")
				r.Time = judgedAt.Add(time.Duration(minute) * time.Minute)
				if d, want := set.Decide(t.Context(), r), active || minute < 9; d.Refuses() == want {
					t.Fatalf("after %d minutes: %+v", minute+1, d.Results)
				}
			}
		})
	}
}
