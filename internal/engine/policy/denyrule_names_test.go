package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
)

func compileRule(t *testing.T, text string) field.ErrorList {
	t.Helper()
	rule := &v1alpha1.DenyRule{}
	if err := yaml.UnmarshalStrict([]byte(text), rule); err != nil {
		t.Fatal(err)
	}
	_, errs := deny.CompileDenyRule(rule, field.NewPath("rules").Index(0))
	return errs
}

// TestDenyRuleRefuses gives one name each that no request carries.
func TestDenyRuleRefuses(t *testing.T) {
	const pods = `apiGroups: [""], resources: [pods]}`
	for _, tt := range []struct{ name, rule, path, says string }{
		{"exec as a verb", `{verbs: [exec], ` + pods, "verbs[0]", "resources: [pods/exec]"},
		{"attach as a verb", `{verbs: [attach], ` + pods, "verbs[0]", "resources: [pods/attach]"},
		{"portforward as a verb", `{verbs: [get, portforward], ` + pods, "verbs[1]", "resources: [pods/portforward]"},
		{"port-forward as a verb", `{verbs: [port-forward], ` + pods, "verbs[0]", "resources: [pods/portforward]"},
		{"logs as a verb", `{verbs: [logs], ` + pods, "verbs[0]", "resources: [pods/log]"},
		{"debug as a verb", `{verbs: [debug], ` + pods, "verbs[0]", "resources: [pods/ephemeralcontainers]"},
		{"evict as a verb", `{verbs: [evict], ` + pods, "verbs[0]", "resources: [pods/eviction]"},
		{"Exec as a verb", `{verbs: [Exec], ` + pods, "verbs[0]", "resources: [pods/exec]"},
		{"exec as a verb, every group", `{verbs: [exec], apiGroups: ["*"], resources: ["*"]}`, "verbs[0]", "resources: [pods/exec]"},
		{"a verb in upper case", `{verbs: [GET], ` + pods, "verbs[0]", "lower case: get"},
		{"an operation of admission", `{verbs: [CONNECT], ` + pods, "verbs[0]", "lower case: connect"},
		{"two verbs in one", `{verbs: ["get,list"], ` + pods, "verbs[0]", "on its own"},
		{"a misspelt verb", `{verbs: [creat], ` + pods, "verbs[0]", "did you mean create?"},
		{"a misspelt verb that is a subresource too", `{verbs: [proxz], ` + pods, "verbs[0]", "did you mean proxy?"},
		{"read", `{verbs: [read], ` + pods, "verbs[0]", "get, list and watch"},
		{"all", `{verbs: [all], ` + pods, "verbs[0]", `write "*"`},

		{"no resource", `{verbs: [get], apiGroups: [""], resources: [""]}`, "resources[0]", "an empty name matches nothing"},
		{"the singular", `{verbs: [get], apiGroups: [""], resources: [pod]}`, "resources[0]", "plural, as kubectl api-resources lists them: pods"},
		{"the singular, every group", `{verbs: [get], apiGroups: ["*"], resources: [pod]}`, "resources[0]", "pods"},
		{"the kind", `{verbs: [get], apiGroups: [""], resources: [Pod]}`, "resources[0]", "pods"},
		{"a kind of two words", `{verbs: [get], apiGroups: [apps], resources: [StatefulSet]}`, "resources[0]", "statefulsets"},
		{"a plural that is not an s more", `{verbs: [get], apiGroups: [networking.k8s.io], resources: [networkpolicy]}`, "resources[0]", "networkpolicies"},
		{"a kind of an extension", `{verbs: [get], apiGroups: [apiextensions.k8s.io], resources: [CustomResourceDefinition]}`, "resources[0]", "customresourcedefinitions"},
		{"the plural in upper case", `{verbs: [get], apiGroups: [example.com], resources: [Widgets]}`, "resources[0]", "widgets"},
		{"a short name", `{verbs: [get], apiGroups: [apps], resources: [deploy]}`, "resources[0]", "deployments"},
		{"the singular with a subresource", `{verbs: [get], apiGroups: [""], resources: [pod/exec]}`, "resources[0]", "pods"},
		{"a resource of another group", `{verbs: [get], apiGroups: [""], resources: [statefulsets]}`, "resources[0]", `list "apps" among the apiGroups`},
		{"one of two other groups", `{verbs: [get], apiGroups: [""], resources: [deployments]}`, "resources[0]", `list "apps" or "extensions" among`},
		{"with its group", `{verbs: [get], apiGroups: [apps], resources: [deployments.apps]}`, "resources[0]", `write deployments here, and "apps"`},
		{"only a subresource", `{verbs: [get], apiGroups: [""], resources: [exec]}`, "resources[0]", "pods/exec"},
		{"misspelt", `{verbs: [get], apiGroups: [""], resources: [secrts]}`, "resources[0]", "did you mean secrets?"},
		{"a pattern in upper case", `{verbs: [get], apiGroups: [""], resources: ["Pod*"]}`, "resources[0]", "lower case"},
		{"two in one", `{verbs: [get], apiGroups: [""], resources: ["pods, secrets"]}`, "resources[0]", "on its own"},
		{"a misspelt subresource", `{verbs: [get], apiGroups: [""], resources: [pods/exce]}`, "resources[0]", "did you mean exec?"},
		{"another name of a subresource", `{verbs: [get], apiGroups: [""], resources: [pods/logs]}`, "resources[0]", "did you mean log?"},
		{"a subresource that pods have not", `{verbs: [get], apiGroups: [""], resources: [pods/scale]}`, "resources[0]", "these are attach,"},
		{"a pattern for subresources that pods have not", `{verbs: [get], apiGroups: [""], resources: ["pods/ex?"]}`, "resources[0]", "these are attach,"},
		{"a subresource in the field of its own", `{verbs: [get], apiGroups: [""], resources: [pods], subresources: [exec, port-forward]}`, "subresources[1]", "did you mean portforward?"},

		{"core", `{verbs: [get], apiGroups: [core], resources: [pods]}`, "apiGroups[0]", `the core group is written ""`},
		{"v1", `{verbs: [get], apiGroups: [v1], resources: [pods]}`, "apiGroups[0]", `the core group is written ""`},
		{"a group with its version", `{verbs: [get], apiGroups: [apps/v1], resources: [deployments]}`, "apiGroups[0]", `write only the group: "apps"`},
		{"a group cut short", `{verbs: [get], apiGroups: [networking], resources: [ingresses]}`, "apiGroups[0]", "write networking.k8s.io"},
		{"groups with their version", `{verbs: [get], apiGroups: ["*/*"], resources: ["*"]}`, "apiGroups[0]", `write only the group: "*"`},
		{"a group of two words cut short", `{verbs: [get], apiGroups: [rbac.authorization], resources: [roles]}`, "apiGroups[0]", "write rbac.authorization.k8s.io"},
		{"a pattern of groups in upper case", `{verbs: [get], apiGroups: ["*.K8s.io"], resources: ["*"]}`, "apiGroups[0]", "lower case: *.k8s.io"},
		{"a group in upper case", `{verbs: [get], apiGroups: [Apps], resources: [deployments]}`, "apiGroups[0]", "lower case: apps"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := compileRule(t, tt.rule)
			if len(errs) != 1 || errs[0].Field != "rules[0]."+tt.path || !strings.Contains(errs[0].Error(), tt.says) {
				t.Errorf("got %v, want one error at %s with %q", errs.ToAggregate(), tt.path, tt.says)
			}
		})
	}
}

// TestDenyRuleTakes gives names that only look odd.
func TestDenyRuleTakes(t *testing.T) {
	for _, tt := range []struct{ name, rule string }{
		{"every verb of Kubernetes", `{verbs: [get, list, watch, create, update, patch, delete, deletecollection, impersonate, bind, escalate, approve, sign, use, exempt, proxy, connect, "*"], apiGroups: [""], resources: [pods]}`},
		{"a verb of somebody's own", `{verbs: [frobnicate, "impersonate:user-info"], apiGroups: [""], resources: [pods]}`},
		{"verbs that are none of Kubernetes", `{verbs: [read, creat], apiGroups: [example.com], resources: [shells]}`},
		{"a short verb like another", `{verbs: [set], apiGroups: [""], resources: [pods]}`},
		{"patterns like names of Kubernetes", `{verbs: ["delete*"], apiGroups: [""], resources: ["pods*"]}`},
		{"groups like versions", `{verbs: [get], apiGroups: [1password.com, v, v.example.com, velero.io], resources: [shells]}`},
		{"a resource of another group like a subresource of pods", `{verbs: [get], apiGroups: [apps], resources: [exec]}`},
		{"a subresource of pods of another group", `{verbs: [get], apiGroups: [metrics.k8s.io], resources: [pods/other]}`},
		{"a subresource of pods of one of two groups", `{verbs: [get], apiGroups: ["", metrics.k8s.io], resources: [pods/other]}`},
		{"exec as a verb of another group", `{verbs: [exec], apiGroups: [example.com], resources: [shells]}`},
		{"patterns", `{verbs: ["delete*"], apiGroups: ["*.k8s.io"], resources: ["*policies"]}`},
		{"a custom resource in the singular", `{verbs: [get], apiGroups: [example.com], resources: [pod]}`},
		{"a custom resource like a short name", `{verbs: [get], apiGroups: ["*"], resources: [limits, quota]}`},
		{"a custom resource like a built-in one", `{verbs: [get], apiGroups: [metrics.k8s.io], resources: [pods, nodes]}`},
		{"several groups at once", `{verbs: [get], apiGroups: ["", apps, batch], resources: [pods, deployments, cronjobs/status]}`},
		{"what is the same in both numbers", `{verbs: [get], apiGroups: [""], resources: [endpoints]}`},
		{"events of both groups", `{verbs: [get], apiGroups: [events.k8s.io], resources: [events]}`},
		{"impersonation", `{verbs: [impersonate], apiGroups: ["", authentication.k8s.io], resources: [users, groups, serviceaccounts, userextras/scopes, uids]}`},
		{"signers", `{verbs: [approve, sign], apiGroups: [certificates.k8s.io], resources: [signers]}`},
		{"what looks like a type that no URL is of", `{verbs: [get], apiGroups: [""], resources: [podlist, deleteoptions, apigroup]}`},
		{"a resource of a version to come", `{verbs: [get], apiGroups: [batch], resources: [workflows]}`},
		{"a resource of a version that is gone", `{verbs: [use], apiGroups: [policy], resources: [podsecuritypolicies]}`},
		{"subresources of the kubelet", `{verbs: ["*"], apiGroups: [""], resources: [nodes/proxy, nodes/metrics, nodes/log, nodes/configz]}`},
		{"every subresource", `{verbs: ["*"], apiGroups: [""], resources: ["pods/*", "*/scale", "pods/port*"]}`},
		{"scale of what scales", `{verbs: [update], apiGroups: [apps], resources: [deployments], subresources: [scale]}`},
		{"our own", `{verbs: [exempt], apiGroups: [sallyport.io], resources: [denypolicies]}`},
		{"a virtual machine", `{verbs: [get], apiGroups: [subresources.kubevirt.io], resources: [virtualmachineinstances/portforward]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if errs := compileRule(t, tt.rule); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

// TestCheckRuleNames finds fault with the same names before a rule is compiled.
func TestCheckRuleNames(t *testing.T) {
	rule := v1alpha1.DenyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"services", "pods"}, Subresources: []string{"exec", "proxy"}}
	var got []string
	for _, err := range builtin.CheckRuleNames(&rule, field.NewPath("rules").Index(0)) {
		got = append(got, err.Field)
	}
	if strings.Join(got, " ") != "rules[0].subresources[0]" {
		t.Errorf("%v", got)
	}
}

// TestConnectVerb says that connect means the same at both doors.
func TestConnectVerb(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil))
	set := setOf(t, `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: rules}, spec: {rules: [{verbs: [connect], apiGroups: [""], resources: ["pods", "pods/*"]}]}}`)
	at := func(verb, subresource string) *request.Request {
		r := access1(state, subresource, "shop", "web")
		r.Verb = verb
		return r
	}
	admitted := at("", "exec")
	admitted.Door, admitted.Operation = request.Admission, request.Connect
	for _, tt := range []struct {
		name    string
		request *request.Request
		want    decision.Verdict
	}{
		{"exec by SPDY", at("create", "exec"), decision.Deny},
		{"exec by WebSocket", at("get", "exec"), decision.Deny},
		{"a proxied DELETE", at("delete", "proxy"), decision.Deny},
		{"at admission", admitted, decision.Deny},
		{"the log", at("get", "log"), decision.Allow},
		{"the pod", at("get", ""), decision.Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := set.Decide(t.Context(), tt.request); d.Verdict != tt.want {
				t.Errorf("%s, want %s: %+v", d.Verdict, tt.want, d.Results)
			}
		})
	}
}
