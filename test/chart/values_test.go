package chart_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/app/configfile"
	"github.com/sallyport-io/sallyport/internal/app/serve"
)

// TestRefused looks at what values cannot say, and at what they are refused with.
func TestRefused(t *testing.T) {
	const tls = "tls: {existingSecret: {name: a, caBundle: \"-----BEGIN CERTIFICATE-----\\n\"}}\n"
	const callers = "callers: {clientCA: {existingSecret: a}}\n"
	const proxy = "callers: {proxy: {enabled: true}}\n"
	const from = "networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8}}]}\n"
	const key = "templateKey: {existingSecret: a}\n"
	const contained = "extraContainers: [{name: proxy, image: x}]\n"
	for name, c := range map[string]struct{ values, says string }{
		"nothing is given":                     {"", "callers.clientCA.existingSecret or callers.tokens.existingSecret"},
		"a certificate of its own":             {callers, ""},
		"a certificate of its own, elsewhere":  {callers + "tls: {serverNames: [guard.example.com, 10.0.0.1]}", ""},
		"its own, before it is made":           {callers + "webhook: {follow: false}", "webhook.follow=false has webhooks installed before"},
		"its own, for a proxy":                 {proxy + contained + from, "callers.proxy.enabled needs a certificate"},
		"the CA of no certificate":             {callers + "tls: {existingSecret: {caBundle: \"-----BEGIN CERTIFICATE-----\\n\"}}", "without tls.existingSecret.name"},
		"names for another's certificate":      {callers + "tls: {serverNames: [a], existingSecret: {name: a}}", "tls.serverNames is given"},
		"a CA in the Secret":                   {callers + "tls: {existingSecret: {name: a}}", ""},
		"by the network":                       {"callers: {network: {enabled: true, from: [172.16.0.0/28, fd00::/64]}}", ""},
		"by no network":                        {"callers: {network: {enabled: true}}", "needs callers.network.from"},
		"by what is not a network":             {"callers: {network: {enabled: true, from: [a]}}", "/callers/network/from/0"},
		"by a network for nobody":              {"callers: {clientCA: {existingSecret: a}, network: {from: [10.0.0.0/8]}}", "callers.network.from is given"},
		"by a network and a proxy":             {tls + contained + from + "callers: {proxy: {enabled: true}, network: {enabled: true, from: [10.0.0.0/8]}}", "callers.network.enabled is given with callers.proxy.enabled"},
		"servers of policies, by the network":  {"callers: {network: {enabled: true, from: [10.0.0.0/8]}}\nfeatures: {policyServers: true}", "features.policyServers needs"},
		"the least":                            {tls + callers, ""},
		"an unknown value":                     {tls + callers + "replica: 3", "'replica' not allowed"},
		"an unknown value within":              {tls + callers + "image: {registri: x}", "'registri' not allowed"},
		"an unknown feature":                   {tls + callers + "features: {backgroundScan: {enable: true}}", "'enable' not allowed"},
		"an unknown probe field":               {tls + callers + "livenessProbe: {httpGet: {}}", "'httpGet' not allowed"},
		"a value taken away":                   {tls + callers + "doors: null", "'doors'"},
		"a number as text":                     {tls + callers + "replicas: \"2\"", "/replicas"},
		"no replica":                           {tls + callers + "replicas: 0", "/replicas"},
		"an unknown door":                      {tls + callers + "doors: [front]", "/doors/0"},
		"no door":                              {tls + callers + "doors: []", "/doors"},
		"a namespace that is not one":          {tls + callers + "webhook: {startNamespaces: [kube-system, \"a' || true || 'b\"]}", "/webhook/startNamespaces/1"},
		"kube-system is not started with":      {tls + callers + "webhook: {startNamespaces: [network]}", "/webhook/startNamespaces"},
		"observing that refuses":               {tls + callers + "mode: observe\nwebhook: {failurePolicy: Fail}", "leave it out"},
		"observing":                            {tls + callers + key + "mode: observe", ""},
		"observing, with marks by anybody":     {tls + callers + "mode: observe", "openssl rand -hex 32"},
		"letting in, with marks by anybody":    {tls + callers + "webhook: {failurePolicy: Ignore}", "templateKey.existingSecret"},
		"letting in":                           {tls + callers + key + "webhook: {failurePolicy: Ignore}", ""},
		"a label that grants":                  {tls + callers + "commonLabels: {rbac.authorization.k8s.io/aggregate-to-admin: \"true\"}", "commonLabels has rbac.authorization.k8s.io/aggregate-to-admin"},
		"a label that grants to policies":      {tls + callers + "commonLabels: {sallyport.io/aggregate-to-context: \"true\"}", "commonLabels has sallyport.io/aggregate-to-context"},
		"no time for a decision":               {tls + callers + "decisionTimeout: 0s", "decisionTimeout is 0s; 1ms or more"},
		"a scan without end":                   {tls + callers + "features: {backgroundScan: {enabled: true, interval: 900ms}}", "features.backgroundScan.interval is 900ms; 1s or more"},
		"too little staleness":                 {tls + callers + "maxStaleness: 4s999ms", "maxStaleness is 4s999ms; 5s or more"},
		"times of several parts":               {tls + callers + "maxStaleness: 0h0.1m\ndecisionTimeout: 1.5s", ""},
		"an end that is cut off":               {tls + callers + "shutdownDelaySeconds: 20", "give 55 or more"},
		"all at once, one by one":              {tls + callers + "updateStrategy: {type: Recreate}", "set it to null"},
		"all at once":                          {tls + callers + "updateStrategy: {type: Recreate, rollingUpdate: null}", ""},
		"one more than there are nodes":        {tls + callers + "hostNetwork: true", "updateStrategy.rollingUpdate.maxSurge=0"},
		"in the node's network":                {tls + callers + "hostNetwork: true\nupdateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", ""},
		"a proxy at the port of Sallyport":     {tls + contained + from + "callers: {proxy: {enabled: true, port: 8443}}", "both 8443"},
		"two limits of memory for Go":          {tls + callers + "extraEnv: [{name: GOMEMLIMIT, value: 1GiB}]", "GOMEMLIMIT"},
		"a limit of memory for Go":             {tls + callers + "resources: {limits: null}\nextraEnv: [{name: GOMEMLIMIT, value: 1GiB}]", ""},
		"another mode":                         {tls + callers + "extraArgs: [--mode=observe]", "extraArgs has --mode"},
		"a flag that values stand for":         {tls + callers + "extraArgs: [--insecure-http]", "extraArgs has --insecure-http"},
		"two flags in one":                     {tls + callers + "extraArgs: [\"--exception-retention 48h\"]", "/extraArgs/0"},
		"a port of nodes that is not one":      {tls + callers + "service: {nodePort: 30443}", "service.nodePort"},
		"reports of no scan":                   {tls + callers + "features: {backgroundScan: {reports: true}}", "features.backgroundScan.enabled=true"},
		"Secrets that are not read":            {tls + callers + "features: {clusters: {secretNames: [a]}}", "features.clusters.enabled=true"},
		"peers of no policy":                   {tls + callers + "networkPolicy: {enabled: false, from: [{}]}", "networkPolicy.enabled=true"},
		"a policy of our own":                  {tls + callers + "extraObjects: [{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: p}}]", "extraObjects has the DenyPolicy p"},
		"cert-manager's annotation":            {callers + "webhook: {annotations: {cert-manager.io/inject-ca-from: a/b}}", "webhook.annotations has cert-manager.io/inject-ca-from"},
		"a checksum of one's own":              {tls + callers + "podAnnotations: {checksum/config: a}", "podAnnotations has checksum/config"},
		"a network that is everybody":          {tls + "callers: {network: {enabled: true, from: [0.0.0.0/0]}}", "0.0.0.0/0, which is everybody"},
		"a network that is not one":            {tls + "callers: {network: {enabled: true, from: [10.0.0.0/33]}}", "/callers/network/from/0"},
		"a network of IPv6":                    {tls + "callers: {network: {enabled: true, from: [\"2001:DB8::/64\"]}}", ""},
		"the side door by the network":         {tls + "callers: {network: {enabled: true, from: [10.0.0.0/28]}}\ndoors: [admission, access]", "doors has access"},
		"a proxy for everybody":                {tls + proxy + contained + "networkPolicy: {from: [{ipBlock: {cidr: 0.0.0.0/0}}]}", "lets everybody reach it"},
		"left out twice":                       {callers + "webhook: {excludeNamespaces: [kube-system]}", "kube-system is in webhook.startNamespaces and in webhook.excludeNamespaces"},
		"Sallyport's own is left out":          {callers + "webhook: {excludeNamespaces: [sallyport-system]}", "which is left out anyway"},
		"kinds of Kubernetes as others":        {tls + callers + "webhook: {podKinds: [{group: apps, resources: [deployments]}]}", "/webhook/podKinds/0/group"},
		"a subresource as a kind":              {tls + callers + "webhook: {podKinds: [{group: a.b, resources: [c/status]}]}", "/webhook/podKinds/0/resources/0"},
		"an unknown mode":                      {tls + callers + "mode: audit", "/mode"},
		"an unknown failure policy":            {tls + callers + "webhook: {failurePolicy: Deny}", "/webhook/failurePolicy"},
		"a digest that is not one":             {tls + callers + "image: {digest: abc}", "/image/digest"},
		"a flag that is not one":               {tls + callers + "extraArgs: [addr]", "/extraArgs/0"},
		"no time":                              {tls + callers + "maxStaleness: 60", "/maxStaleness"},
		"a CA that is a path":                  {callers + "tls: {existingSecret: {name: a, caBundle: ca.crt}}", "/tls/existingSecret/caBundle"},
		"both a Secret and cert-manager":       {callers + "tls: {existingSecret: {name: a}, certManager: {enabled: true, issuerRef: {name: b}}}", "give one of them"},
		"no issuer":                            {callers + "tls: {certManager: {enabled: true}}", "tls.certManager.issuerRef.name"},
		"no CA for webhooks":                   {callers + "tls: {existingSecret: {name: a}}\nwebhook: {follow: false}", "--set-file tls.existingSecret.caBundle=ca.crt"},
		"a CA beside cert-manager":             {callers + "tls: {certManager: {enabled: true, issuerRef: {name: b}}, existingSecret: {caBundle: \"-----BEGIN CERTIFICATE-----\\n\"}}", "leave it out"},
		"callers are not told apart":           {tls, "callers.clientCA.existingSecret or callers.tokens.existingSecret"},
		"a proxy that is not there":            {tls + proxy + from, "extraContainers"},
		"a proxy that all reach":               {tls + proxy + contained, "networkPolicy.from"},
		"a proxy whose policy is not there":    {tls + proxy + contained + "networkPolicy: {enabled: false, from: [{}]}", "networkPolicy.from"},
		"a proxy, and a CA of callers":         {tls + contained + from + "callers: {proxy: {enabled: true}, clientCA: {existingSecret: a}}", "give one of them"},
		"a proxy in the node's network":        {tls + proxy + contained + from + "hostNetwork: true", "hostNetwork"},
		"PolicyServers that know no callers":   {tls + proxy + contained + from + "features: {policyServers: true}", "features.policyServers"},
		"metrics for nobody":                   {tls + callers + "serviceMonitor: {enabled: true}", "serviceMonitor.authorization"},
		"metrics for nobody, with only a CA":   {tls + callers + "serviceMonitor: {enabled: true, tlsConfig: {ca: {}}}", "serviceMonitor.authorization"},
		"metrics by a certificate":             {tls + callers + "serviceMonitor: {enabled: true, tlsConfig: {cert: {secret: {name: a, key: b}}}}", ""},
		"no webhooks, and so no CA":            {callers + "tls: {existingSecret: {name: a}}\nwebhook: {enabled: false}", ""},
		"a chart that has this one as a part":  {tls + callers + "global: {any: thing}", ""},
		"no limit of memory":                   {tls + callers + "resources: {limits: null}", ""},
		"a proxy that some reach, and nothing": {tls + proxy + contained + from, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := try("-values", file(t, c.values))
			switch {
			case c.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// TestNamespaces refuses what is not to be Sallyport's own, since that is not guarded.
func TestNamespaces(t *testing.T) {
	for namespace, says := range map[string]string{
		"default": "--create-namespace", "kube-system": "--create-namespace", "kube-public": "--create-namespace",
		"network": "webhook.startNamespaces", guard: "", own: "",
	} {
		_, err := try("-namespace", namespace, "-values", set("everything"))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", namespace, err, says)
		}
	}
}

// TestWayOut: what takes the webhooks away is refused nowhere, whatever else is given.
func TestWayOut(t *testing.T) {
	out := file(t, "webhook: {enabled: false}")
	for _, name := range sets {
		for _, namespace := range []string{guard, "default", "network"} {
			for _, more := range []string{"", "webhook: {failurePolicy: Ignore}\ntemplateKey: {existingSecret: a}\n"} {
				rendered, err := try("-namespace", namespace, "-values", set(name), "-values", file(t, more), "-values", out)
				if err != nil || strings.Contains(rendered, "WebhookConfiguration\n") {
					t.Errorf("%s in %s: %v", name, namespace, err)
				}
			}
		}
	}
}

// TestFlagsOfValues finds a flag that a template renders and extraArgs may give again.
func TestFlagsOfValues(t *testing.T) {
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(chart, "templates", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	fields := map[string]string{}
	var settings serve.Flags
	command := &cobra.Command{Use: "serve"}
	settings.Add(command)
	command.Flags().VisitAll(func(f *pflag.Flag) { fields[configfile.Field(f.Name)] = f.Name })
	known := regexp.MustCompile(`--[a-z][-a-z]+`).FindAllString(read("_checks_run.tpl"), -1)
	rendered := regexp.MustCompile(`(?m)^([a-z]\w+): `).FindAllStringSubmatch(read("_config.tpl"), -1)
	if len(rendered) < 25 {
		t.Fatal(rendered)
	}
	for _, found := range rendered {
		switch flag, ok := fields[found[1]]; {
		case found[1] == "apiVersion" || found[1] == "kind":
		case !ok:
			t.Errorf("%s is not a field of the configuration", found[1])
		case !slices.Contains(known, "--"+flag):
			t.Errorf("sallyport.valueFlags lacks --%s", flag)
		}
	}
	for _, flag := range known {
		if command.Flags().Lookup(strings.TrimPrefix(flag, "--")) == nil && flag != "--kubeconfig" && flag != "--context" {
			t.Errorf("sallyport.valueFlags has %s, which serve does not know", flag)
		}
	}
}

// TestSame renders each set twice.
func TestSame(t *testing.T) {
	for _, name := range sets {
		second, err := try("-namespace", guard, "-values", set(name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(render(t, guard, set(name)), second); diff != "" {
			t.Errorf("%s: two renders differ (-first +second):\n%s", name, diff)
		}
	}
}

// TestNothingIsMadeUp finds functions that give something else each time, or read the
// cluster, where the one that renders may see none.
func TestNothingIsMadeUp(t *testing.T) {
	forbidden := regexp.MustCompile(`\b(genCA|genCAWithKey|genSelfSignedCert|genSelfSignedCertWithKey|genSignedCert|genSignedCertWithKey|genPrivateKey|lookup|now|uuidv4|rand\w+|htpasswd|bcrypt|encryptAES|ago|getHostByName|IsUpgrade|IsInstall|Revision)\b|helm\.sh/hook`)
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.FindString(string(content)); found != "" {
			t.Errorf("%s has %s", file, found)
		}
	}
}

// TestNotes says how to go on, in the namespace of the release.
func TestNotes(t *testing.T) {
	for _, c := range []struct{ set, says, saysNot string }{
		{"minimal", "sallyport.guard.svc", "authorizer"},
		{"everything", "sallyport.guard.svc:8443", "401 and"},
		{"ha", "authorization-config.yaml", "let in"},
		{"observe", "It only observes", "is refused"},
		{"managed", "kubectl rollout status -n guard", "401"},
	} {
		notes, err := try("-namespace", guard, "-notes", "-values", set(c.set))
		if err != nil || !strings.Contains(notes, c.says) || strings.Contains(notes, c.saysNot) {
			t.Errorf("%s: %v\n%s", c.set, err, notes)
		}
	}
}

// schema is a part of values.schema.json.
type schema struct {
	Type                 any                `json:"type"`
	AdditionalProperties any                `json:"additionalProperties"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	Items                *schema            `json:"items"`
}

// free are the values that are of a type of Kubernetes, or of another operator, which
// holds them to it: objects of theirs may be whole, and lists have such objects.
var free = []string{
	"global", "affinity", "podSecurityContext", "securityContext", "serviceMonitor.authorization", "serviceMonitor.tlsConfig",
	"tolerations", "topologySpreadConstraints", "resources.claims", "networkPolicy.from",
	"extraEnv", "extraVolumes", "extraVolumeMounts", "extraContainers", "extraObjects",
}

// TestSchema holds values.yaml and the schema together, both ways, and finds an object in
// the schema that takes whatever it is given.
func TestSchema(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all schema
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	content, err = os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, &values); err != nil {
		t.Fatal(err)
	}
	var open []string
	var walk func(path string, s *schema, value any)
	walk = func(path string, s *schema, value any) {
		if s.Items != nil && s.Items.Type == "object" && s.Items.AdditionalProperties == nil {
			open = append(open, path)
		}
		object := s.Type == "object" || len(s.Properties) > 0
		if object && s.AdditionalProperties == nil {
			open = append(open, path)
		}
		if len(s.Properties) == 0 {
			return
		}
		if s.AdditionalProperties != false {
			t.Errorf("%s takes what it does not know", path)
		}
		given, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if _, ok := given[name]; !ok && slices.Contains(s.Required, name) && given != nil {
				t.Errorf("values.yaml has no %s, which the schema has", at)
			}
			walk(at, s.Properties[name], given[name])
		}
	}
	walk("", &all, values)
	slices.Sort(open)
	slices.Sort(free)
	if diff := cmp.Diff(free, open); diff != "" {
		t.Errorf("what takes anything (-known +schema):\n%s", diff)
	}
}
