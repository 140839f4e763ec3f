package policy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// TestWhatAMarkVouchesFor says of each result that refuses whether the object has a mark by
// which what it refuses would count as judged.
func TestWhatAMarkVouchesFor(t *testing.T) {
	state := clusterOf(t, exemptObjects()...)
	claims, labels := identity.Signature(nil, "shop", []identity.Claim{frontend}), exemptStamp(nil, "shop")
	both := strings.Replace(labelledYAML("apps/v1", "Deployment", "web", "", `exempt: "yes"`, "app:1"), "metadata: {labels", "metadata: {annotations: {"+claimed+"}, labels", 1)
	with := func(document string, marks ...string) string {
		return strings.Replace(document, "metadata: {name: web", "metadata: {annotations: {sallyport.io/template-judged: \""+identity.Mark(marks...)+"\"}, name: web", 1)
	}
	plain := strings.Replace(both, claimed, "", 1)
	for name, c := range map[string]struct {
		old, document string
		// claims and labels: whether what refuses these is vouched for; nil where nothing does.
		claims, labels *bool
	}{
		"no mark":                               {"", both, new(false), new(false)},
		"both":                                  {"", with(both, claims, labels), new(true), new(true)},
		"only of the identity":                  {"", with(both, claims), new(true), new(false)},
		"only of the labels":                    {"", with(both, labels), new(false), new(true)},
		"another template under an old mark":    {with(both, claims, labels), strings.Replace(with(both, claims, labels), "app:1", "app:2", 1), new(true), nil},
		"another, and the mark is taken out":    {with(both, claims, labels), strings.Replace(both, "app:1", "app:2", 1), new(false), nil},
		"labels that come to a mark that stays": {with(plain, labels), with(both, labels), new(false), nil},
		"the same template":                     {with(both, claims, labels), with(both, claims, labels), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, append([]string{strict}, identitySources...)...)
			r := asked(t, state, stranger, "deployments", "", c.old, c.document)
			d := set.Decide(t.Context(), r)
			var gotClaims, gotLabels *bool
			for i := range d.Results {
				switch result := &d.Results[i]; {
				case !result.Blocks():
				case result.Kind == identity.KindSource:
					gotClaims = &result.Marked
				case result.Rule == stored.RuleExemptLabels:
					gotLabels = &result.Marked
				default:
					t.Errorf("%+v", result)
				}
			}
			if vouched(gotClaims) != vouched(c.claims) || vouched(gotLabels) != vouched(c.labels) {
				t.Errorf("claims %v, labels %v: %+v", vouched(gotClaims), vouched(gotLabels), d.Results)
			}
		})
	}
}

func vouched(b *bool) string {
	switch {
	case b == nil:
		return "not refused"
	case *b:
		return "marked"
	}
	return "not marked"
}

// TestAMadeUpMarkIsVouchedFor also where no source reads identities.
func TestAMadeUpMarkIsVouchedFor(t *testing.T) {
	state := clusterOf(t, exemptObjects()...)
	r := asked(t, state, stranger, "deployments", "", "", deploymentYAML(`, annotations: {sallyport.io/template-judged: "`+exemptStamp(nil, "shop")+`"}`, "", "app:1"))
	if got := only(t, setOf(t, strict).Decide(t.Context(), r)); got.Status != decision.Fail || !got.Marked {
		t.Errorf("%+v", got)
	}
}

// TestAMarkOnAnotherTemplateThatIsNotRead is taken out where nothing is refused.
func TestAMarkOnAnotherTemplateThatIsNotRead(t *testing.T) {
	const token = "serviceAccountName: app, volumes: [{name: t, projected: {sources: [{serviceAccountToken: {audience: vault, path: t}}]}}]"
	old := strings.Replace(deploymentYAML(marked(frontend), claimed, "app:1"), "serviceAccountName: app", token, 1)
	for name, c := range map[string]struct {
		document string
		kept     bool
	}{
		"the same template": {strings.Replace(old, "replicas: 1", "replicas: 2", 1), true},
		"another image":     {strings.Replace(old, "app:1", "app:2", 1), false},
	} {
		r := asked(t, unreadable{}, stranger, "deployments", "", old, c.document)
		r.Observing = true
		patch := string(setOf(t, identitySources...).Mark(t.Context(), r))
		if kept := patch == ""; kept != c.kept {
			t.Errorf("%s: %q", name, patch)
		}
	}
}

// TestLevelsThatOnlyWarn count as what would be refused only where they would be.
func TestLevelsThatOnlyWarn(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		want   []bool
	}{
		"warned of and audited": {map[string]string{"pod-security.kubernetes.io/warn": "restricted", "pod-security.kubernetes.io/audit": "restricted"}, []bool{false, false}},
		"refused":               {map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "privileged"}, []bool{true}},
	} {
		for _, action := range []string{"Audit", "Warn", "Enforce"} {
			state := clusterOf(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: c.labels}})
			set := setOf(t, yamlOf("ClusterPolicy", "p", "spec: {validationFailureAction: "+action+", rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: namespace}}}]}"))
			d := set.Decide(t.Context(), asked(t, state, stranger, "pods", "", "", podYAML("web", "", "app:1")))
			var got []bool
			for i := range d.Results {
				if d.Results[i].Status == decision.Fail || d.Results[i].Status == decision.Warn {
					got = append(got, d.Results[i].WouldDeny)
				}
			}
			for i, want := range c.want {
				if len(got) != len(c.want) || got[i] != (want && action != "Enforce") {
					t.Errorf("%s, %s: %v: %+v", name, action, got, d.Results)
					break
				}
			}
		}
	}
}
