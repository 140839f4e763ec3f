package policy

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

var exemptRule = rbacv1.PolicyRule{Verbs: []string{"exempt"}, APIGroups: []string{"sallyport.io"}, Resources: []string{"denypolicies"}, ResourceNames: []string{"strict"}}

const hostPIDSpec = `{hostPID: true, containers: [{name: app, image: a}]}`

func podSecurity(kinds, standard, action string) string {
	return `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: p}
spec:
  validationFailureAction: ` + action + `
  rules:
  - name: r
    match: {any: [{resources: {kinds: ` + kinds + `}}]}
    validate: {podSecurity: ` + standard + `}
`
}

func TestRuleNames(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil))
	meta := `metadata: {name: web, namespace: shop}, `
	objects := map[string]struct {
		gvk      schema.GroupVersionKind
		document string
	}{
		"Pod":        {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, `{apiVersion: v1, kind: Pod, ` + meta + `spec: ` + hostPIDSpec + `}`},
		"Deployment": {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, `{apiVersion: apps/v1, kind: Deployment, ` + meta + `spec: {template: {spec: ` + hostPIDSpec + `}}}`},
		"CronJob":    {schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, `{apiVersion: batch/v1, kind: CronJob, ` + meta + `spec: {jobTemplate: {spec: {template: {spec: ` + hostPIDSpec + `}}}}}`},
		"ConfigMap":  {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, `{apiVersion: v1, kind: ConfigMap, ` + meta + `data: {a: b}}`},
		"JobSet":     {schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}, `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, ` + meta + `spec: {replicatedJobs: [{name: a, template: {spec: {template: {spec: ` + hostPIDSpec + `}}}}]}}`},
	}
	cases := []struct {
		kinds, object, rule, path string
	}{
		{"[Pod]", "Pod", "r", "spec.hostPID"},
		{"[v1/Pod]", "Deployment", "autogen-r", "spec.template.spec.hostPID"},
		{"[Pod]", "CronJob", "autogen-cronjob-r", "spec.jobTemplate.spec.template.spec.hostPID"},
		{"[Pod]", "JobSet", "autogen-r", "spec.replicatedJobs[0].template.spec.template.spec.hostPID"},
		{"[Deployment]", "Deployment", "r", "spec.template.spec.hostPID"},
		{"[Deployment]", "Pod", "", ""},
		{"[Pod, Deployment]", "Deployment", "r", "spec.template.spec.hostPID"},
		{"[Pod, Deployment]", "CronJob", "", ""},
		{`["*"]`, "ConfigMap", "", ""},
		{`["*"]`, "CronJob", "r", "spec.jobTemplate.spec.template.spec.hostPID"},
		{`["apps/v1/*"]`, "Deployment", "r", "spec.template.spec.hostPID"},
		{`["apps/v1/*"]`, "Pod", "", ""},
	}
	for _, c := range cases {
		t.Run(c.kinds+" "+c.object, func(t *testing.T) {
			o := objects[c.object]
			d := setOf(t, podSecurity(c.kinds, "{level: baseline}", "Enforce")).Decide(t.Context(), created(t, state, o.gvk, strings.ToLower(c.object)+"s", o.document))
			if c.rule == "" {
				if len(d.Results) != 0 {
					t.Fatalf("%+v; the rule is not about this", d.Results)
				}
				return
			}
			r := only(t, d)
			if r.Rule != c.rule || r.Status != decision.Fail || len(r.Findings) != 1 || r.Findings[0].Path != c.path {
				t.Errorf("rule %q, %s, findings %+v; want rule %q and path %s", r.Rule, r.Status, r.Findings, c.rule, c.path)
			}
		})
	}
}

func TestActions(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil))
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	document := `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: ` + hostPIDSpec + `}`
	for action, want := range map[string]struct {
		verdict decision.Verdict
		status  decision.Status
	}{
		"Enforce": {decision.Deny, decision.Fail}, "enforce": {decision.Deny, decision.Fail},
		"Warn":  {decision.AllowWarning, decision.Warn},
		"Audit": {decision.Allow, decision.Fail},
		`""`:    {decision.Deny, decision.Fail},
	} {
		d := setOf(t, podSecurity("[Pod]", "{level: baseline}", action)).Decide(t.Context(), created(t, state, gvk, "pods", document))
		if r := only(t, d); d.Verdict != want.verdict || r.Status != want.status {
			t.Errorf("%s: %s, %s; want %s, %s", action, d.Verdict, r.Status, want.verdict, want.status)
		}
	}
}

// One pod that is exempt by its runtime class does not exempt its neighbours.
func TestExemptPodAmongOthers(t *testing.T) {
	state := clusterOf(t, namespace("shop", map[string]string{"pod-security.kubernetes.io/warn": "baseline"}))
	gvk := schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
	document := `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: web, namespace: shop}, spec: {replicatedJobs: [
	  {name: a, template: {spec: {template: {spec: {runtimeClassName: sandboxed, containers: [{name: app, image: a}]}}}}},
	  {name: b, template: {spec: {template: {spec: ` + hostPIDSpec + `}}}}]}}`
	d := setOf(t, podSecurity("[Pod]", "{level: namespace, exemptions: {runtimeClasses: [sandboxed]}}", "Enforce")).
		Decide(t.Context(), created(t, state, gvk, "jobsets", document))
	if d.Verdict != decision.AllowWarning || !strings.Contains(d.Results[0].Message, "hostPID") {
		t.Errorf("%s: %+v", d.Verdict, d.Results)
	}
}

// TestLabelsThatAreWrong are told of beside what follows.
func TestLabelsThatAreWrong(t *testing.T) {
	state := clusterOf(t, namespace("shop", map[string]string{"pod-security.kubernetes.io/enforce": "bogus"}))
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	document := `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: ` + hostPIDSpec + `}`
	d := setOf(t, podSecurity("[Pod]", "{level: namespace}", "Enforce")).Decide(t.Context(), created(t, state, gvk, "pods", document))
	if got := d.Results[0]; got.Status != decision.Fail || !strings.HasPrefix(got.Message, `violates PodSecurity "restricted:latest": `) || !strings.Contains(got.Message, `; metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "bogus"`) {
		t.Errorf("%s: %s", got.Status, got.Message)
	}
}

// TestModesOfNamespaces holds pods to enforce, and what makes them to the rest only.
func TestModesOfNamespaces(t *testing.T) {
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	meta := `metadata: {name: web, namespace: shop}, `
	pods := `{apiVersion: v1, kind: Pod, ` + meta + `spec: ` + hostPIDSpec + `}`
	templates := `{apiVersion: apps/v1, kind: Deployment, ` + meta + `spec: {template: {spec: ` + hostPIDSpec + `}}}`
	const prefix = "pod-security.kubernetes.io/"
	for name, c := range map[string]struct {
		labels  map[string]string
		action  string
		gvk     schema.GroupVersionKind
		want    decision.Verdict
		results string
	}{
		"enforce, a pod":                   {map[string]string{prefix + "enforce": "baseline"}, "Enforce", pod, decision.Deny, "enforce fail, warn warn, audit pass"},
		"enforce, a template":              {map[string]string{prefix + "enforce": "baseline"}, "Enforce", deployment, decision.AllowWarning, "warn warn, audit pass"},
		"warn, a template":                 {map[string]string{prefix + "warn": "baseline"}, "Enforce", deployment, decision.AllowWarning, "warn warn, audit pass"},
		"audit, a pod":                     {map[string]string{prefix + "audit": "baseline"}, "Enforce", pod, decision.Allow, "enforce pass, warn pass, audit fail"},
		"enforce, of a policy that audits": {map[string]string{prefix + "enforce": "baseline"}, "Audit", pod, decision.Allow, "audit fail, audit fail, audit pass"},
		"enforce, of a policy that warns":  {map[string]string{prefix + "enforce": "baseline"}, "Warn", pod, decision.AllowWarning, "warn warn, warn warn, audit pass"},
		"warn, of a policy that audits":    {map[string]string{prefix + "warn": "baseline"}, "Audit", pod, decision.Allow, "audit pass, audit fail, audit pass"},
		"all":                              {map[string]string{prefix + "enforce": "baseline", prefix + "warn": "baseline", prefix + "audit": "baseline"}, "Enforce", pod, decision.Deny, "enforce fail, warn warn, audit fail"},
	} {
		t.Run(name, func(t *testing.T) {
			document, resource := pods, "pods"
			if c.gvk == deployment {
				document, resource = templates, "deployments"
			}
			d := setOf(t, podSecurity("[Pod]", "{level: namespace}", c.action)).Decide(t.Context(), created(t, clusterOf(t, namespace("shop", c.labels)), c.gvk, resource, document))
			var results []string
			for i := range d.Results {
				results = append(results, string(d.Results[i].Action)+" "+string(d.Results[i].Status))
			}
			if got := strings.Join(results, ", "); d.Verdict != c.want || got != c.results {
				t.Errorf("%s by %q, want %s by %q", d.Verdict, got, c.want, c.results)
			}
		})
	}
}

// TestMessagesOfStandards says what is found, after what the rule says, and of each
// pod that an object makes.
func TestMessagesOfStandards(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
	job := func(spec string) string { return `{name: a, template: {spec: {template: {spec: ` + spec + `}}}}` }
	const good, bad = `{containers: [{name: app, image: a}]}`, `violates PodSecurity "baseline:latest": host namespaces (hostPID=true)`
	const exception = "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: shop}\nspec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [JobSet]}}]}}"
	rule := podSecurity("[JobSet]", "{level: baseline}", "Enforce")
	exempting := podSecurity("[JobSet]", "{level: namespace, defaults: {warn: baseline}, exemptions: {namespaces: [shop]}}", "Enforce")
	for name, c := range map[string]struct {
		policies []string
		jobs     []string
		status   decision.Status
		says     string
	}{
		"one":                 {[]string{rule}, []string{hostPIDSpec}, decision.Fail, bad},
		"one of two":          {[]string{rule}, []string{good, hostPIDSpec}, decision.Fail, bad},
		"both":                {[]string{rule}, []string{hostPIDSpec, hostPIDSpec}, decision.Fail, bad + "; " + bad},
		"none":                {[]string{rule}, []string{good}, decision.Pass, `meets PodSecurity "baseline:latest"`},
		"a message":           {[]string{strings.Replace(rule, "validate: {", "validate: {message: no hosts, ", 1)}, []string{hostPIDSpec}, decision.Fail, "no hosts: " + bad},
		"an exempt namespace": {[]string{exempting}, []string{hostPIDSpec}, decision.Pass, "not judged: "},
		"an exception":        {[]string{rule, exception}, []string{hostPIDSpec}, decision.Skip, ""},
		"an exclusion":        {[]string{podSecurity("[JobSet]", "{level: baseline, exclude: [{controlName: Host Namespaces}]}", "Enforce")}, []string{hostPIDSpec}, decision.Pass, `meets PodSecurity "baseline:latest"`},
	} {
		t.Run(name, func(t *testing.T) {
			var jobs []string
			for _, spec := range c.jobs {
				jobs = append(jobs, job(spec))
			}
			document := `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: web, namespace: shop}, spec: {replicatedJobs: [` + strings.Join(jobs, ", ") + `]}}`
			r := only(t, setOf(t, c.policies...).Decide(t.Context(), created(t, clusterOf(t, namespace("shop", nil)), gvk, "jobsets", document)))
			if r.Status != c.status || c.status == decision.Fail && r.Message != c.says || !strings.HasPrefix(r.Message, c.says) {
				t.Errorf("%s: %q, want %s: %q", r.Status, r.Message, c.status, c.says)
			}
		})
	}
}

func TestNamespaceThatCannotBeRead(t *testing.T) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	document := `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: ` + hostPIDSpec + `}`
	policy := podSecurity("[Pod]", "{level: namespace}", "Enforce")
	if d := setOf(t, policy).Decide(t.Context(), created(t, unreadable{}, gvk, "pods", document)); d.Verdict != decision.VerdictError {
		t.Errorf("%s, want an error: %+v", d.Verdict, d.Results)
	}
	ignoring := strings.Replace(policy, "spec:\n", "spec:\n  failurePolicy: Ignore\n", 1)
	if d := setOf(t, ignoring).Decide(t.Context(), created(t, unreadable{}, gvk, "pods", document)); d.Verdict != decision.Allow || d.Summary.Error != 1 {
		t.Errorf("%s, want to be let in with an error noted: %+v", d.Verdict, d.Results)
	}
}

func TestUpdatesThatChangeNothing(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil))
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	document := `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, finalizers: [a/b]}, spec: ` + hostPIDSpec + `}`
	set := setOf(t, podSecurity("[Pod]", "{level: baseline}", "Enforce"))
	r := created(t, state, gvk, "pods", strings.Replace(document, ", finalizers: [a/b]", "", 1))
	r.Operation, r.OldObject = request.Update, created(t, state, gvk, "pods", document).Object
	if d := set.Decide(t.Context(), r); len(d.Results) != 0 {
		t.Errorf("a finalizer cannot be taken off: %+v", d.Results)
	}
	r = created(t, state, gvk, "pods", strings.Replace(document, "image: a", "image: b", 1))
	r.Operation, r.OldObject = request.Update, created(t, state, gvk, "pods", document).Object
	if d := set.Decide(t.Context(), r); d.Verdict != decision.Deny {
		t.Errorf("a changed image is not judged: %s", d.Verdict)
	}
	r = created(t, state, gvk, "pods", document)
	r.Operation = request.Update
	if d := set.Decide(t.Context(), r); d.Verdict != decision.Deny {
		t.Errorf("an update that does not show what was there is not judged: %s", d.Verdict)
	}
	r.Operation, r.OldObject = request.Create, r.Object
	if d := set.Decide(t.Context(), r); d.Verdict != decision.Deny {
		t.Errorf("what is created is not judged beside one that is old: %s", d.Verdict)
	}
	r = access1(state, "exec", "shop", "web")
	r.Door, r.Operation, r.Verb = request.Admission, request.Connect, ""
	everything := setOf(t, podSecurity(`["Pod/*"]`, "{level: baseline}", "Enforce"))
	if d := everything.Decide(t.Context(), r); d.Verdict != decision.Allow {
		t.Errorf("a request without an object is judged by what pods are: %s: %s", d.Verdict, messages(d))
	}
}

func TestPolicyObjects(t *testing.T) {
	state := clusterOf(t)
	gvk := schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: "DenyPolicy"}
	for name, c := range map[string]struct {
		document string
		want     decision.Verdict
		says     string
	}{
		"one that works":                {strict, decision.Allow, ""},
		"a factor that is not":          {strings.Replace(strict, "privilegedContainer: 90", "privileged: 90", 1), decision.Deny, "spec.podSecurityRules.riskFactors.privileged"},
		"thresholds that do not ascend": {strings.Replace(strict, "maxScore: 100", "maxScore: 50", 1), decision.Deny, "spec.podSecurityRules.thresholds[1].maxScore"},
	} {
		t.Run(name, func(t *testing.T) {
			d := setOf(t).Decide(t.Context(), created(t, state, gvk, "denypolicies", c.document))
			if r := only(t, d); d.Verdict != c.want || !strings.Contains(r.Message, c.says) {
				t.Errorf("%s: %q; want %s: %q", d.Verdict, r.Message, c.want, c.says)
			}
		})
	}
}
