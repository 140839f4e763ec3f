package match_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

func gvk(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// thing is a kind with a subresource, read from group/version/Kind#subresource;
// the core group is empty.
func thing(t *testing.T, s string) (schema.GroupVersionKind, string) {
	t.Helper()
	s, subresource, _ := strings.Cut(s, "#")
	parts := strings.Split(s, "/")
	if len(parts) != 3 {
		t.Fatalf("%q is not group/version/Kind#subresource", s)
	}
	return gvk(parts[0], parts[1], parts[2]), subresource
}

func TestKindMatch(t *testing.T) {
	for _, c := range []struct{ entry, about, notAbout string }{
		{"Pod", "/v1/Pod /v1/Pod#ephemeralcontainers /v1/Pod#resize foo.io/v2/Pod", "/v1/Pod#exec /v1/Pod#status /v1/Pod#binding foo.io/v2/Pod#resize foo.io/v2/Pod#ephemeralcontainers /v1/PodTemplate"},
		{"v1/Pod", "/v1/Pod /v1/Pod#ephemeralcontainers /v1/Pod#resize", "/v2/Pod /v1/Pod#exec"},
		{"core/v1/Pod", "/v1/Pod", "foo.io/v1/Pod core/v1/Pod"},
		{"apps/v1/Deployment", "apps/v1/Deployment", "apps/v1beta1/Deployment extensions/v1/Deployment apps/v1/Deployment#scale"},
		{"apps/*/Deployment", "apps/v1/Deployment apps/v1beta1/Deployment", "extensions/v1beta1/Deployment"},
		{"*/Deployment", "apps/v1/Deployment extensions/v1beta1/Deployment", "apps/v1/Deployment#scale"},
		{"Pod/exec", "/v1/Pod#exec /v1/PodExecOptions#exec", "/v1/Pod /v1/Pod#attach /v1/PodExecOptions"},
		{"v1/Pod/exec", "/v1/Pod#exec", "/v2/Pod#exec /v1/Pod"},
		{"core/v1/Pod/exec", "/v1/Pod#exec", "foo.io/v1/Pod#exec"},
		{"*/v1/Pod/exec", "/v1/Pod#exec foo.io/v1/Pod#exec", "/v1/Pod"},
		{"Pod/*", "/v1/Pod /v1/Pod#exec /v1/Pod#ephemeralcontainers policy/v1/Eviction#eviction /v1/Binding#binding", "/v1/Node#proxy"},
		{"Pod/?*", "/v1/Pod#exec", "/v1/Pod"},
		{"Pod/e*", "/v1/Pod#exec /v1/Pod#eviction /v1/Pod#ephemeralcontainers", "/v1/Pod#attach /v1/Pod"},
		{"Pod*", "/v1/Pod /v1/PodTemplate /v1/Pod#ephemeralcontainers", "/v1/Pod#exec"},
		{"Pod*/exec", "/v1/Pod#exec", "/v1/Pod"},
		{"*", "/v1/Pod apps/v1/Deployment foo.io/v1/Bar /v1/Pod#ephemeralcontainers /v1/Pod#resize", "/v1/Pod#exec apps/v1/Deployment#scale"},
		{"*/*", "/v1/Pod /v1/Pod#exec apps/v1/Deployment#scale", ""},
		{"*/scale", "apps/v1/Deployment#scale foo.io/v1/Bar#scale", "apps/v1/Deployment /v1/Pod#exec"},
		{"*/*/scale", "apps/v1/Deployment#scale", "apps/v1/Deployment"},
		{"*/*scale", "apps/v1/Deployment#scale", "apps/v1/Deployment#status"},
		{"*Set", "apps/v1/ReplicaSet apps/v1/DaemonSet", "apps/v1/Deployment apps/v1/ReplicaSet#scale"},
		{"*/*Set", "apps/v1/ReplicaSet", "apps/v1/ReplicaSet#scale"},
		{"*Set/scale", "apps/v1/ReplicaSet#scale", "apps/v1/ReplicaSet"},
		{"v1/*", "apps/v1/Deployment /v1/Pod", "apps/v1beta1/Deployment /v1/Pod#exec"},
		{"v1beta?/*", "apps/v1beta1/Deployment", "apps/v1/Deployment"},
		{"v1/*/*", "/v1/Pod#exec /v1/Pod", "apps/v1beta1/Deployment"},
		{"apps/v1/*", "apps/v1/Deployment", "batch/v1/Job apps/v1/Deployment#scale"},
		{"*/*/*", "apps/v1/Deployment /v1/Pod", "/v1/Pod#exec"},
		{"*/*/*/*", "apps/v1/Deployment#scale /v1/Pod /v1/Pod#exec", ""},
		{"*.k8s.io/*/*", "networking.k8s.io/v1/Ingress", "/v1/Pod apps/v1/Deployment"},
		{"*.k8s.io/*/*/status", "networking.k8s.io/v1/Ingress#status", "networking.k8s.io/v1/Ingress"},
		{"kubevirt.io/v1/VirtualMachineInstance/portforward", "kubevirt.io/v1/VirtualMachineInstance#portforward", "/v1/Pod#portforward"},
		{"batch.volcano.sh/v1alpha1/Job", "batch.volcano.sh/v1alpha1/Job", "batch/v1/Job"},
		{"v1alpha1/Job", "batch.volcano.sh/v1alpha1/Job", "batch/v1/Job"},
		{"Node/proxy", "/v1/Node#proxy /v1/NodeProxyOptions#proxy", "/v1/Service#proxy"},
		{"ServiceAccount/token", "authentication.k8s.io/v1/TokenRequest#token", "/v1/ServiceAccount"},
		{"Binding", "/v1/Binding", "/v1/Binding#binding"},
		{"lifecycle.k8s.io/v1alpha1/Eviction", "lifecycle.k8s.io/v1alpha1/Eviction", "policy/v1/Eviction#eviction"},
	} {
		t.Run(c.entry, func(t *testing.T) {
			m := compile(t, filterOf(c.entry))
			for _, list := range []struct {
				things string
				want   bool
			}{{c.about, true}, {c.notAbout, false}} {
				for _, s := range strings.Fields(list.things) {
					kind, subresource := thing(t, s)
					if got, err := m.Match(&match.Target{Kind: kind, Subresource: subresource}); err != nil || got != list.want {
						t.Errorf("about %s: %v, %v; want %v", s, got, err, list.want)
					}
				}
			}
		})
	}
}

func TestParseKindRefuses(t *testing.T) {
	for _, c := range []struct{ entry, problem string }{
		{"", "is not a kind"},
		{"/", "is not a kind"},
		{"Pod/", "is not a kind"},
		{" Pod", "is not a kind"},
		{"a/b/C/d/e", "has 5 parts"},
		{"pod", "begin with an upper case letter"},
		{"pods", "begin with an upper case letter"},
		{"pods/exec", "begin with an upper case letter"},
		{"v1/pods", "begin with an upper case letter"},
		{"apps/v1/deployments", "begin with an upper case letter"},
		{"apps/v1/deployments/scale", "begin with an upper case letter"},
		{"apps/Deployment", "write apps/*/Deployment"},
		{"*.k8s.io/Ingress", "write *.k8s.io/*/Ingress"},
		{"apps/Deployment/scale", "write apps/*/Deployment/scale"},
		{"apps/Deployment/*", "write apps/*/Deployment/*"},
		{"apps/*", "write apps/*/*"},
		{"?1/*", "can be read as version/Kind and as Kind/subresource"},
		{"Pod/exec/stdin", "begins with the kind"},
		{"Pod/Exec", "subresources are in lower case"},
		{"v1/Pod/Exec", "subresources are in lower case"},
		{"Po d", "kind that cannot exist"},
		{"Pod{a}", "kind that cannot exist"},
		{"Apps/v1/Deployment", "begins with the kind"},
		{"apps,batch/v1/Job", "group that cannot exist"},
		{"foo.io/v1.0/Bar", "version that cannot exist"},
		{"v2/Pod", `there is no version "v2" of Pod; write Pod or core/v1/Pod`},
		{"v2*/Pod", `there is no version "v2*" of Pod`},
		{"*/v2/Pod", `there is no version`},
		{"apps/v1/Pod", `the group "apps" has no Pod; write Pod or core/v1/Pod`},
		{"app/v1/Deployment", `the group "app" has no Deployment; write Deployment or apps/v1/Deployment`},
		{"core/v1/Deployment", `the group "core" has no Deployment`},
		{"core/v1/Deployment/scale", `write Deployment/scale or apps/v1/Deployment/scale`},
		{"networking.k8s.io/v1/Pod", `has no Pod`},
		{"apps/v2/Deployment", `there is no version "v2" of Deployment`},
		{"batch/v1alpha1/Job", `there is no version "v1alpha1" of Job`},
		{"Pod/exce", `pods have no subresource "exce"; they have attach`},
		{"v1/Pod/x*", `pods have no subresource`},
		{"PodExecOptions", "such as Pod/exec"},
		{"v1/PodExecOptions", "such as Pod/exec"},
		{"Eviction", "such as Pod/eviction"},
		{"Scale", "such as Deployment/scale"},
		{"NodeProxyOptions", "such as Node/proxy"},
		{"Binding/binding", "such as Pod/binding"},
	} {
		t.Run(c.entry, func(t *testing.T) {
			_, err := match.ParseKind(c.entry)
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("ParseKind: %v; want %q in it", err, c.problem)
			}
		})
	}
}
