package policy

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// known and madeUp are a request of a caller who showed credentials, and of one who did not.
func known(*request.Request)    {}
func madeUp(r *request.Request) { r.Unauthenticated = true }

// TestMadeUpEntries: a session is not entered by what may be made up, past a policy or by the
// rights of its group; and one whose pods something is to be done to lets nobody in by it,
// in words, while what it takes away goes on to hold.
func TestMadeUpEntries(t *testing.T) {
	risky := clusterOf(t, func() *corev1.Pod { p := podNamed("shop", "web", privileged); p.UID = "u-web"; return p }(), namespace("shop", nil))
	plain := clusterOf(t, podNamed("shop", "web", nil), namespace("shop", nil),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "ops", Namespace: "shop"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/exec", "pods/ephemeralcontainers"}, Verbs: []string{"create", "get", "patch"}}}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "ops", Namespace: "shop"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "ops"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "oncall"}}})
	past, group := escalation("emergency", "{enabled: true, maxAllowedScore: 100}"), escalation("emergency", "{}")
	const evicts = "  afterUse: {action: evict}\n"
	const evicted = "  terms: {escalatedGroup: oncall, afterUse: {action: evict}}\n"
	passing := "  terms: {podSecurityOverrides: {enabled: true, maxAllowedScore: 100}, afterUse: {action: evict}}\n"
	const why = "BreakglassSession s has afterUse and lets nobody in here"
	for _, c := range []struct {
		name, escalation, terms string
		policies                []string
		r                       *request.Request
		// refused is what becomes of what may be made up, and of nothing else.
		refused bool
	}{
		{"past a policy", past, "", []string{riskyPolicy}, connecting(risky, "exec", "shop", "web"), false},
		{"by its group", group, "", nil, connecting(plain, "exec", "shop", "web"), false},
		{"past a policy, which evicts", past + evicts, "", []string{riskyPolicy}, connecting(risky, "exec", "shop", "web"), true},
		{"past a policy, which evicted", past, passing, []string{riskyPolicy}, connecting(risky, "exec", "shop", "web"), true},
		{"by its group, which evicts", group + evicts, "", nil, connecting(plain, "exec", "shop", "web"), true},
		{"by its group, which evicted", group, evicted, nil, connecting(plain, "exec", "shop", "web"), true},
		{"by its group, an ephemeral container", group + evicts, "", nil, debugging(t, plain, 0, 1), true},
		{"by its group, no further container", group + evicts, "", nil, debugging(t, plain, 1, 1), false},
		{"what its group may not", group + evicts, "", nil, connecting(plain, "attach", "shop", "web"), false},
	} {
		for _, by := range []func(*request.Request){known, madeUp} {
			ledger := &breakglass.Ledger{}
			docs := append(c.policies, c.escalation, session("s", "emergency", c.terms))
			set, sources := setOf(t, docs...), sourcesOf(t, docs...)
			set.Sessions, _ = compileBreakglass(&sources, ledger)
			r := *c.r
			by(&r)
			d := set.Decide(t.Context(), &r)
			if want := r.Unauthenticated && c.refused; d.Refuses() != want || want != strings.Contains(messages(d), why) {
				t.Errorf("%s, made up %v: %s: %s", c.name, r.Unauthenticated, d.Verdict, messages(d))
			}
			taken := ledger.Take()
			if r.Unauthenticated && len(taken) > 0 || !r.Unauthenticated && len(taken) == 0 && c.name != "what its group may not" {
				t.Errorf("%s, made up %v: %+v", c.name, r.Unauthenticated, taken)
			}
		}
	}
	brought := strings.Replace(group, "escalatedGroup: oncall", "escalatedGroup: oncall\n  denyPolicyRefs: [scoped]", 1) + evicts
	scoped := yamlOf("DenyPolicy", "scoped", `spec: {appliesTo: {sessions: [x]}, rules: [{verbs: ["*"], apiGroups: [""], resources: ["pods/attach"]}]}`)
	r := connecting(plain, "attach", "shop", "web")
	madeUp(r)
	if d := setOf(t, scoped, brought, session("s", "emergency", "")).Decide(t.Context(), r); !d.Refuses() {
		t.Error("a policy that the session brings along does not hold")
	}
	observing := connecting(plain, "exec", "shop", "web")
	madeUp(observing)
	observing.Observing = true
	if d := setOf(t, group+evicts, session("s", "emergency", "")).Decide(t.Context(), observing); d.Refuses() {
		t.Errorf("refused where groups of sessions let nobody in: %s", messages(d))
	}
}

// TestMadeUpUses: an exception is not used by what may be made up, and excuses it all the same.
func TestMadeUpUses(t *testing.T) {
	const given = `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: bypass, namespace: dev, uid: x}
spec: {exceptions: [{policyName: require-labels}], match: {any: [{resources: {kinds: [Deployment]}}]}}
`
	for want, by := range []func(*request.Request){1: known, 0: madeUp} {
		ledger := exception.NewLedger()
		set, _ := Compile(sourcesOf(t, requireLabels, given), pod.Default(), exception.Options{Began: judgedAt, Ledger: ledger})
		r := created(t, emptyCluster(t), deploymentGVK, "deployments", deployment("dev", "nginx", ""))
		by(r)
		if got := only(t, set.Decide(t.Context(), r)); got.Status != decision.Skip {
			t.Errorf("%+v", got)
		}
		if uses, _ := ledger.Drain("x"); uses != int64(want) || ledger.Used() != (want > 0) {
			t.Errorf("used %d times, want %d", uses, want)
		}
	}
}

// TestMadeUpPolicies: nothing is fetched, run, asked or remembered for a policy that may be
// made up, and whoever writes one is told.
func TestMadeUpPolicies(t *testing.T) {
	for want, by := range []func(*request.Request){1: known, 0: madeUp} {
		tried := 0
		m := &modules{tried: func(context.Context, *runner.Policy) (runner.Info, error) {
			tried++
			return runner.Info{}, nil
		}}
		r := written(t, stored.KindClusterAdmissionPolicy, cap0("p"))
		by(r)
		got := only(t, setOf(t).Run(m).Decide(t.Context(), r))
		if tried != want || got.Blocks() || (got.Status == decision.Warn) != (want == 0) {
			t.Errorf("tried %d times, want %d: %+v", tried, want, got)
		}

		store := NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt})
		foreseen := 0
		store.Foresee(func(context.Context, *Set) []string { foreseen++; return nil })
		if problems := store.Replace("files", sourcesOf(t)); len(problems) > 0 {
			t.Fatal(problems)
		}
		r = written(t, "DenyPolicy", yamlOf("DenyPolicy", "other", `spec: {rules: [{verbs: [delete], apiGroups: [""], resources: [namespaces]}]}`))
		by(r)
		if got := only(t, store.Set().Decide(t.Context(), r)); got.Blocks() || foreseen != want {
			t.Errorf("foreseen %d times, want %d: %+v", foreseen, want, got)
		}
	}
}

// TestMadeUpMarks: whoever makes up a review gets no mark that he did not bring along, under
// whatever name he asks; what is there already stays, and a controller is told why it is not
// believed.
func TestMadeUpMarks(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	right := identity.Signature(nil, "shop", []identity.Claim{frontend})
	with := func(mark string) string { return ", annotations: {a: b, sallyport.io/template-judged: " + mark + "}" }
	plain, justRight := deploymentYAML("", claimed, "app:1"), deploymentYAML(with(right), claimed, "app:1")
	word := deploymentYAML(with(v1alpha1.AcknowledgeTemplate), claimed, "app:1")
	for _, c := range []struct {
		name, old, document string
		leaked              bool
	}{
		{"a new template", "", plain, true},
		{"a template that changes", plain, deploymentYAML("", claimed, "app:2"), true},
		{"a wrong mark", "", deploymentYAML(with("v1.x"), claimed, "app:1"), true},
		{"the word", "", word, true},
		{"the word, on a template that was there", plain, word, true},
		{"the mark that is there", "", justRight, false},
		{"the mark that was there", justRight, plain, false},
	} {
		for _, observing := range []bool{false, true} {
			for _, user := range []string{holder, stranger, "root"} {
				r := asked(t, state, user, "deployments", "", c.old, c.document)
				r.Unauthenticated, r.Observing = true, observing
				if patch := string(set.Mark(t.Context(), r)); c.leaked && strings.Contains(patch, right) {
					t.Errorf("%s, asked as %s: %s", c.name, user, patch)
				}
			}
		}
		r := asked(t, state, holder, "deployments", "", c.old, c.document)
		if patch := string(set.Mark(t.Context(), r)); c.leaked != strings.Contains(patch, right) && c.name != "the mark that was there" {
			t.Errorf("%s is marked for those who show credentials: %s", c.name, patch)
		}
	}
	kept := asked(t, state, holder, "deployments", "", justRight, plain)
	madeUp(kept)
	if patch := string(set.Mark(t.Context(), kept)); !strings.Contains(patch, right) {
		t.Errorf("a mark that was there is lost: %s", patch)
	}
	r := asked(t, state, "root", "deployments", "", "", word)
	madeUp(r)
	if d := set.Decide(t.Context(), r); set.Mark(t.Context(), r) != nil || !d.Refuses() || !strings.Contains(messages(d), "only for callers that show credentials") {
		t.Errorf("%s", messages(d))
	}
	unmarked := owned{state, map[string]string{"ReplicaSet shop/web": makerYAML("apps/v1", "ReplicaSet", "web", ", uid: owner", claimed, "app:1")}}
	r = asked(t, unmarked, kubeSystem+"replicaset-controller", "pods", "", "", childPod(ownedBy("apps/v1", "ReplicaSet", "web", "owner"), claimed))
	madeUp(r)
	if d := set.Decide(t.Context(), r); !d.Refuses() || !strings.Contains(messages(d), "no template is marked where callers show no credentials") {
		t.Errorf("%s", messages(d))
	}
}

// TestMadeUpExemptions is the same of the part of a mark that is about labels.
func TestMadeUpExemptions(t *testing.T) {
	state, set := clusterOf(t, exemptObjects()...), exemptSet(t)
	stamp := exemptStamp(nil, "shop")
	text := labelledYAML("apps/v1", "Deployment", "web", "", `exempt: "yes"`, "app:1")
	for _, by := range []func(*request.Request){known, madeUp} {
		r := asked(t, state, "carol", "deployments", "", "", text)
		by(r)
		if patch := string(set.Mark(t.Context(), r)); strings.Contains(patch, stamp) == r.Unauthenticated {
			t.Errorf("made up %v: %s", r.Unauthenticated, patch)
		}
	}
	controllers := labelledYAML("apps/v1", "ReplicaSet", "web", ", uid: owner", `exempt: "yes"`, "app:1")
	r := asked(t, owned{state, map[string]string{"ReplicaSet shop/web": controllers}}, kubeSystem+"replicaset-controller", "pods", "", "",
		strings.Replace(childPod(ownedBy("apps/v1", "ReplicaSet", "web", "owner"), ""), "uid: child", `uid: child, labels: {exempt: "yes"}`, 1))
	madeUp(r)
	if d := set.Decide(t.Context(), r); !d.Refuses() || !strings.Contains(messages(d), "no template is marked where callers show no credentials") {
		t.Errorf("%s", messages(d))
	}
}

// askedTimes counts what an authorizer is asked.
type askedTimes struct {
	request.Authorizer
	times int
}

func (a *askedTimes) Allowed(ctx context.Context, user request.User, attributes request.Attributes) (bool, error) {
	a.times++
	return a.Authorizer.Allowed(ctx, user, attributes)
}

// TestMadeUpIsKeptApart: a permission that was found for what may be made up is given to no
// other request.
func TestMadeUpIsKeptApart(t *testing.T) {
	set := setOf(t, strings.Replace(identitySources[0], "spec: {", "spec: {cacheSeconds: 30, ", 1))
	authorizer := &askedTimes{}
	for i, want := range []int{1, 1, 2, 2} {
		r := asked(t, identityCluster(t), holder, "deployments", "", "", deploymentYAML("", claimed, "app:1"))
		r.Unauthenticated = i < 2
		authorizer.Authorizer = r.Authorizer
		r.Authorizer = authorizer
		if d := set.Decide(t.Context(), r); d.Refuses() || authorizer.times != want {
			t.Errorf("request %d: asked %d times, want %d: %s", i, authorizer.times, want, messages(d))
		}
	}
}
