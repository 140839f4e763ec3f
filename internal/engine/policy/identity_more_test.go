package policy

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestIdentityNodeCredentials is about tokens that kubelets ask for their pods,
// and that the control plane asks for itself.
func TestIdentityNodeCredentials(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	token := func(bound string) string {
		return "apiVersion: authentication.k8s.io/v1\nkind: TokenRequest\nmetadata: {name: gcs, namespace: shop}\nspec: {" + bound + "}\n"
	}
	ref := func(pod, uid string) string {
		return "boundObjectRef: {kind: Pod, apiVersion: v1, name: " + pod + ", uid: " + uid + "}"
	}
	for _, c := range []struct {
		name, user, group, bound, want string
	}{
		{"of a pod that it runs", "system:node:node-1", "system:nodes", ref("gcs", "pod-gcs"), "pass"},
		{"of a pod of another node", "system:node:node-2", "system:nodes", ref("gcs", "pod-gcs"), "fail"},
		{"of another pod under this name", "system:node:node-1", "system:nodes", ref("gcs", "pod-old"), "fail"},
		{"of a pod that runs as another account", "system:node:node-1", "system:nodes", ref("app", "pod-app"), "fail"},
		{"of a pod that is not there", "system:node:node-1", "system:nodes", ref("gone", "pod-gone"), "fail"},
		{"bound to nothing", "system:node:node-1", "system:nodes", "", "fail"},
		{"bound to a Secret", "system:node:node-1", "system:nodes", strings.Replace(ref("gcs", "pod-gcs"), "Pod", "Secret", 1), "fail"},
		{"by somebody who is called like a node", "system:node:node-1", "developers", ref("gcs", "pod-gcs"), "fail"},
		{"by kube-controller-manager outside of kube-system", "system:kube-controller-manager", "", "", "fail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, state, c.user, "serviceaccounts", "token", "", token(c.bound))
			r.User.Groups = []string{c.group}
			d := set.Decide(t.Context(), r)
			if got := summary(d); got != "gke/use "+c.want {
				t.Errorf("%q: %s", got, messages(d))
			}
		})
	}
	t.Run("by kube-controller-manager for its own", func(t *testing.T) {
		r := asked(t, state, "system:kube-controller-manager", "serviceaccounts", "token", "", strings.Replace(token("audiences: [vault]"), "namespace: shop", "namespace: kube-system", 1))
		if d := set.Decide(t.Context(), r); len(d.Results) != 0 {
			t.Errorf("%s", messages(d))
		}
	})
}

// hanging answers nothing until its caller gives up.
type hanging struct{ request.Cluster }

func (hanging) Allowed(ctx context.Context, _ request.User, _ request.Attributes) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

// TestIdentityErrors refuses whatever cannot be found out.
func TestIdentityErrors(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	pod := podYAML("app", claimed, "app:1")
	cases := map[string]func(t *testing.T) decision.Decision{
		"the authorizer fails": func(t *testing.T) decision.Decision {
			r := asked(t, state, holder, "pods", "", "", pod)
			r.Authorizer = unreadable{}
			return set.Decide(t.Context(), r)
		},
		"there is no authorizer": func(t *testing.T) decision.Decision {
			r := asked(t, state, holder, "pods", "", "", pod)
			r.Authorizer = nil
			return set.Decide(t.Context(), r)
		},
		"the authorizer does not answer in time": func(t *testing.T) decision.Decision {
			r := asked(t, state, holder, "pods", "", "", pod)
			r.Authorizer = hanging{}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			return set.Decide(ctx, r)
		},
		"the service account cannot be read": func(t *testing.T) decision.Decision {
			r := asked(t, state, holder, "pods", "", "", pod)
			r.Cluster = unreadable{}
			return set.Decide(t.Context(), r)
		},
		"the service account is not there": func(t *testing.T) decision.Decision {
			return set.Decide(t.Context(), asked(t, state, holder, "pods", "", "", strings.Replace(pod, "serviceAccountName: app", "serviceAccountName: gone", 1)))
		},
		"there is no cluster": func(t *testing.T) decision.Decision {
			r := asked(t, state, holder, "pods", "", "", pod)
			r.Cluster = nil
			return set.Decide(t.Context(), r)
		},
		"the pod that is entered cannot be read": func(t *testing.T) decision.Decision {
			r := exec(unreadable{}, "shop", "app")
			r.Authorizer = state
			return set.Decide(t.Context(), r)
		},
		"the service account of the pod that is entered is not there": func(t *testing.T) decision.Decision {
			entered := clusterOf(t, append(identityObjects(), podNamed("shop", "orphan", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "gone" }))...)
			r := exec(entered, "shop", "orphan")
			r.Authorizer = entered
			return set.Decide(t.Context(), r)
		},
		"the document's annotation is not JSON": func(t *testing.T) decision.Decision {
			return set.Decide(t.Context(), asked(t, state, holder, "pods", "", "", podYAML("app", v1alpha1.AnnotationValidatedAnnotations+": x", "app:1")))
		},
	}
	for name, decide := range cases {
		t.Run(name, func(t *testing.T) {
			d := decide(t)
			if d.Verdict != decision.Deny || d.Summary.Error != 1 || !strings.Contains(messages(d), "what cannot be judged is refused") {
				t.Errorf("%s: %s", d.Verdict, messages(d))
			}
		})
	}
}

// TestIdentityDenial is what a person reads, in as much room as the API server
// leaves.
func TestIdentityDenial(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	r := exec(state, "shop", "app")
	r.Authorizer = state
	d := set.Decide(t.Context(), r)
	text := decision.Reason(decision.Subject(r), &d, 768)
	for _, want := range []string{
		"exec into pod shop/app is denied by IdentitySource kerberos, rule use",
		`"alice" may not act as kerberos="legacy-frontend-app" (metadata.annotations.kerberos)`,
		`the permission to use "validatedannotations/legacy-frontend-app" named "kerberos" in authorization.k8s.io, in the whole cluster, is missing`,
		`this rule of a ClusterRole grants it: {apiGroups: [authorization.k8s.io], resources: ["validatedannotations/legacy-frontend-app"], resourceNames: ["kerberos"], verbs: [use]}`,
		"Next: have that rule bound to you by a ClusterRoleBinding, or ask for an exception to IdentitySource kerberos with a PolicyExceptionRequest.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "... and") {
		t.Errorf("is cut: %s", text)
	}
}

// TestIdentityUser passes on who asks, whole.
func TestIdentityUser(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	r := exec(state, "shop", "app")
	r.User = request.User{Name: "alice", UID: "u1", Groups: []string{"g1", "g2"}, Extra: map[string][]string{"scopes": {"a", "b"}}}
	var got request.User
	var what request.Attributes
	r.Authorizer = authorizerFunc(func(user request.User, attributes request.Attributes) bool {
		got, what = user, attributes
		return true
	})
	if d := set.Decide(t.Context(), r); d.Verdict != decision.Allow {
		t.Fatal(messages(d))
	}
	if got.UID != "u1" || len(got.Groups) != 2 || len(got.Extra["scopes"]) != 2 {
		t.Errorf("%+v", got)
	}
	if want := (request.Attributes{Verb: "use", Group: "authorization.k8s.io", Resource: "validatedannotations", Subresource: "legacy-frontend-app", Name: "kerberos"}); what != want {
		t.Errorf("%+v, want %+v", what, want)
	}
}

type authorizerFunc func(request.User, request.Attributes) bool

func (f authorizerFunc) Allowed(_ context.Context, user request.User, attributes request.Attributes) (bool, error) {
	return f(user, attributes), nil
}

// TestIdentityExceptions excuses the rules of a source as those of any policy, and
// suggests how to ask for it.
func TestIdentityExceptions(t *testing.T) {
	state := identityCluster(t)
	exception := func(excepted, match string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: bypass, namespace: shop, creationTimestamp: \"2026-11-01T00:00:00Z\"}\nspec:\n  exceptions: [" + excepted + "]\n  match: {any: [{resources: " + match + "}]}\n"
	}
	for _, c := range []struct {
		name, excepted, match string
		want                  string
	}{
		{"by kind and name", "{policyName: kerberos, policyKind: IdentitySource, ruleNames: [use]}", "{kinds: [Pod], names: [app]}", "kerberos/use skip"},
		{"only by name", "{policyName: kerberos}", "{kinds: [Pod], names: [app]}", "kerberos/use skip"},
		{"only for entering", "{policyName: kerberos}", "{kinds: [Pod/exec], names: [app]}", "kerberos/use fail"},
		{"of another source", "{policyName: gke, policyKind: IdentitySource}", "{kinds: [Pod]}", "kerberos/use fail"},
		{"of another rule", "{policyName: kerberos, ruleNames: [immutable]}", "{kinds: [Pod]}", "kerberos/use fail"},
		{"of another kind", "{policyName: kerberos, policyKind: DenyPolicy}", "{kinds: [Pod]}", "kerberos/use fail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := identitySet(t, exception(c.excepted, c.match))
			d := set.Decide(t.Context(), asked(t, state, stranger, "pods", "", "", podYAML("app", claimed, "app:1")))
			if got := summary(d); got != c.want {
				t.Errorf("%q: %s", got, messages(d))
			}
		})
	}
	t.Run("strays", func(t *testing.T) {
		set := identitySet(t, exception("{policyName: kerberos, policyKind: IdentitySource, ruleNames: [use, immutable]}", "{kinds: [Pod]}"))
		if warnings := set.Warnings(); len(warnings) > 0 {
			t.Error(warnings)
		}
		set = identitySet(t, exception("{policyName: kerberos, policyKind: IdentitySource, ruleNames: [autogen-use, template-judged]}", "{kinds: [Pod]}"))
		if warnings := set.Warnings(); len(warnings) != 2 {
			t.Error(warnings)
		}
	})
	t.Run("suggested", func(t *testing.T) {
		set := identitySet(t)
		for _, r := range []*request.Request{exec(state, "shop", "app"), asked(t, state, stranger, "pods", "", "", podYAML("app", claimed, "app:1"))} {
			r.Authorizer = state
			d := set.Decide(t.Context(), r)
			suggestion := Suggest(r, &d.Results[0])
			if suggestion == nil {
				t.Fatal("nothing is suggested")
			}
			if e := suggestion.Spec.Exceptions[0]; e.PolicyKind != "IdentitySource" || e.PolicyName != "kerberos" || e.RuleNames[0] != identityrule.RuleUse {
				t.Errorf("%+v", e)
			}
		}
		forged := set.Decide(t.Context(), asked(t, state, stranger, "deployments", "", "", deploymentYAML(marked(frontend), "", "app:1")))
		if Suggest(&request.Request{}, &forged.Results[0]) != nil {
			t.Error("a forged mark can be excused")
		}
	})
}

// TestIdentityWithoutUser says what is carried where nobody is known to ask.
func TestIdentityWithoutUser(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	r := asked(t, state, "", "pods", "", "", podYAML("app", claimed, "app:1"))
	if d := set.Decide(t.Context(), r); summary(d) != "kerberos/use skip" || d.Refuses() {
		t.Errorf("%s", messages(d))
	}
	r = asked(t, state, "", "pods", "", "", podYAML("app", "kerberos: a/b", "app:1"))
	if d := set.Decide(t.Context(), r); summary(d) != "kerberos/use fail" {
		t.Errorf("a value that nobody can have: %s", messages(d))
	}
	r.Background = true
	if d := set.Decide(t.Context(), r); len(d.Results) != 0 {
		t.Errorf("in the background: %s", messages(d))
	}
}
