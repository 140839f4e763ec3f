package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/defaults"
)

// filledInRules look at what the API server fills in and drops. Each warns, so that
// an answer says of every rule whether it failed.
var filledInRules = []string{
	`pattern: {spec: {dnsPolicy: ClusterFirst, schedulerName: default-scheduler}}`,
	`pattern: {spec: {restartPolicy: "Always | Never", terminationGracePeriodSeconds: ">=30"}}`,
	`pattern: {spec: {containers: [{imagePullPolicy: IfNotPresent}]}}`,
	`pattern: {spec: {=(initContainers): [{imagePullPolicy: Always}]}}`,
	`pattern: {spec: {=(volumes): [{X(hostPath): "?*"}]}}`,
	`pattern: {spec: {=(volumes): [{=(emptyDir): {X(medium): "?*"}}]}}`,
	`pattern: {spec: {containers: [{=(ports): [{protocol: TCP}]}]}}`,
	`pattern: {spec: {containers: [{=(livenessProbe): {periodSeconds: 10, =(httpGet): {scheme: HTTP}}}]}}`,
	`pattern: {spec: {containers: [{(terminationMessagePolicy): File, resources: {X(claims): "*"}}]}}`,
	`pattern: {spec: {securityContext: {X(runAsUser): "*"}}}`,
	`pattern: {spec: {X(hostNetwork): "*"}}`,
	`pattern: {spec: {=(hostAliases): [{X(hostnames): "*"}]}}`,
	`cel: {expressions: [{expression: "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.secret) || v.secret.defaultMode == 420)"}]}`,
	`cel: {expressions: [{expression: "object.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged))"}]}`,
	`cel: {expressions: [{expression: "object.spec.containers.all(c, !has(c.env) || c.env.all(e, !has(e.value) || e.value != ''))"}]}`,
	`cel: {expressions: [{expression: "!has(object.spec.nodeSelector) && !has(object.spec.affinity)"}]}`,
	`cel: {expressions: [{expression: "object.spec.containers.all(c, has(c.resources.limits) && 'cpu' in c.resources.limits)"}]}`,
	`podSecurity: {level: baseline}`,
	`podSecurity: {level: restricted}`,
}

// filledInKinds are the built-in kinds that make pods, and rules about their own
// fields.
var filledInKinds = []struct{ gvk, around, rule string }{
	{"v1/Pod", `POD`, ""},
	{"v1/PodTemplate", `{"template":{"metadata":{"labels":{"app":"web"}},"spec":POD}}`, ""},
	{"v1/ReplicationController", `{"spec":{"replicas":2,"minReadySeconds":3,"selector":{"app":"web"},"template":{"metadata":{"labels":{"app":"web"}},"spec":POD}}}`, `{spec: {replicas: 1}}`},
	{"apps/v1/ReplicaSet", `{"spec":{"replicas":2,"minReadySeconds":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":POD}}}`, `{spec: {replicas: 1}}`},
	{"apps/v1/Deployment", `{"spec":{"replicas":2,"paused":false,"progressDeadlineSeconds":700,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":"10%"}},"revisionHistoryLimit":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"},"annotations":{"a":"b"}},"spec":POD}}}`,
		`{spec: {strategy: {rollingUpdate: {maxSurge: 25%}}, revisionHistoryLimit: 10}}`},
	{"apps/v1/DaemonSet", `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":2}},"revisionHistoryLimit":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":POD}}}`,
		`{spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}}}`},
	{"apps/v1/StatefulSet", `{"spec":{"serviceName":"db","replicas":2,"podManagementPolicy":"Parallel","updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}},"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},"selector":{"matchLabels":{"app":"web"}},` +
		`"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast","volumeMode":"Filesystem","resources":{"requests":{"storage":"1Gi"}}}}],"template":{"metadata":{"labels":{"app":"web"}},"spec":POD}}}`,
		`{spec: {podManagementPolicy: OrderedReady, =(volumeClaimTemplates): [{spec: {volumeMode: Filesystem}}]}}`},
	{"batch/v1/Job", `{"spec":{"completions":3,"parallelism":2,"backoffLimit":1,"suspend":false,"completionMode":"NonIndexed","ttlSecondsAfterFinished":60,"template":{"metadata":{"labels":{"app":"web"}},"spec":JOBPOD}}}`,
		`{spec: {completions: 1, backoffLimit: 6, completionMode: NonIndexed}}`},
	{"batch/v1/CronJob", `{"spec":{"schedule":"0 1 * * *","suspend":false,"concurrencyPolicy":"Forbid","successfulJobsHistoryLimit":1,"failedJobsHistoryLimit":2,"startingDeadlineSeconds":60,"jobTemplate":{"metadata":{"labels":{"app":"web"}},"spec":{"backoffLimit":2,"parallelism":2,"template":{"metadata":{"labels":{"app":"web"}},"spec":JOBPOD}}}}}`,
		`{spec: {concurrencyPolicy: Allow, successfulJobsHistoryLimit: 3}}`},
}

// fullPod has much of what a chart can write. Most of it goes again.
const fullPod = `{
 "serviceAccountName":"web","serviceAccount":"web","automountServiceAccountToken":false,"restartPolicy":"Always","dnsPolicy":"ClusterFirst","enableServiceLinks":false,
 "terminationGracePeriodSeconds":60,"schedulerName":"default-scheduler","hostNetwork":false,"hostPID":false,"hostIPC":false,"priorityClassName":"","nodeSelector":{"disk":"ssd"},"runtimeClassName":null,
 "imagePullSecrets":[{"name":"pull"}],"hostAliases":[{"ip":"10.0.0.1","hostnames":["a"]}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"web"}}}],
 "securityContext":{"runAsUser":1000,"runAsNonRoot":true,"fsGroup":2000,"seccompProfile":{"type":"RuntimeDefault"},"sysctls":[{"name":"net.ipv4.tcp_syncookies","value":"1"}]},
 "tolerations":[{"key":"a","operator":"Exists","effect":"NoSchedule"}],
 "affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"web"}}}}]}},
 "dnsConfig":{"nameservers":["10.0.0.1"],"options":[{"name":"ndots","value":"2"}]},
 "initContainers":[{"name":"init","image":"registry.example/init","command":["true"],"imagePullPolicy":"IfNotPresent","resources":{"requests":{"cpu":0.1}}},
  {"name":"side","image":"registry.example/side:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","restartPolicy":"Always","ports":[{"containerPort":9090}]}],
 "containers":[{"name":"web","image":"registry.example:5000/web:1.2","imagePullPolicy":"Always","command":["/web"],"args":["-v"],"workingDir":"/","tty":false,"stdin":false,
   "ports":[{"containerPort":8080,"name":"http","protocol":"TCP"},{"containerPort":53,"protocol":"UDP"}],
   "env":[{"name":"A","value":"b"},{"name":"B","value":""},{"name":"C","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"D","valueFrom":{"secretKeyRef":{"name":"s","key":"k","optional":true}}}],
   "envFrom":[{"configMapRef":{"name":"env"}}],
   "resources":{"limits":{"cpu":0.5,"memory":"128Mi"},"requests":{"cpu":"100m","memory":"0.1Gi"}},
   "livenessProbe":{"httpGet":{"path":"/healthz","port":"http","scheme":"HTTPS","httpHeaders":[{"name":"a","value":"b"}]},"periodSeconds":5,"timeoutSeconds":2,"failureThreshold":5,"successThreshold":1,"initialDelaySeconds":3},
   "readinessProbe":{"tcpSocket":{"port":8080},"periodSeconds":7},"startupProbe":{"grpc":{"port":8080,"service":"x"},"failureThreshold":30},
   "lifecycle":{"preStop":{"exec":{"command":["sleep","1"]}},"postStart":{"httpGet":{"port":8080,"path":"/start"}}},
   "securityContext":{"privileged":false,"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"],"add":["NET_BIND_SERVICE"]},"runAsUser":1001},
   "terminationMessagePath":"/tmp/end","terminationMessagePolicy":"FallbackToLogsOnError",
   "volumeMounts":[{"name":"config","mountPath":"/etc/web","readOnly":true},{"name":"tmp","mountPath":"/tmp"}]},
  {"name":"log","image":"log:latest","resources":{"limits":{"memory":"1500m"}},"securityContext":{"capabilities":{"drop":["NET_RAW"]}}}],
 "volumes":[{"name":"config","configMap":{"name":"web","defaultMode":292,"items":[{"key":"a","path":"a","mode":256}]}},{"name":"tmp","emptyDir":{"medium":"Memory","sizeLimit":"10Mi"}},
  {"name":"secret","secret":{"secretName":"s","defaultMode":256,"optional":true}},{"name":"host","hostPath":{"path":"/var/log","type":"Directory"}},{"name":"claim","persistentVolumeClaim":{"claimName":"c","readOnly":true}},
  {"name":"down","downwardAPI":{"items":[{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}}]}},
  {"name":"all","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":7200,"audience":"x"}},{"configMap":{"name":"a"}},{"downwardAPI":{"items":[{"path":"n","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}]}}]}},
  {"name":"own","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem","resources":{"requests":{"storage":"1Gi"}}}}}}]}`

// needed are fields without which the API server refuses an object.
var needed = []string{"apiVersion", "kind", "name", "image", "containers", "spec", "template", "selector", "matchLabels", "schedule", "jobTemplate",
	"containerPort", "mountPath", "port", "topologyKey", "maxSkew", "whenUnsatisfiable", "ip", "weight", "podAffinityTerm", "key", "path", "fieldPath", "fieldRef", "serviceName",
	"httpGet", "tcpSocket", "grpc", "exec", "configMapRef", "secretKeyRef", "claimName", "secretName", "volumeClaimTemplate", "accessModes", "storage", "type", "hostnames", "config", "tmp"}

// halfWritten writes a manifest as charts come out: fields left out, null, or an
// empty map or list.
type halfWritten struct{ *rand.Rand }

func (h halfWritten) spoil(value any, above string) {
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			if above == "metadata" && name == "labels" || above == "labels" || above == "matchLabels" || above == "selector" {
				continue
			}
			_, claim := value["accessModes"]
			if slices.Contains(needed, name) && !(name == "type" && above == "hostPath") || name == "metadata" || claim && name == "resources" || above == "exec" {
				h.spoil(value[name], name)
				continue
			}
			switch n := h.IntN(100); {
			case n < 30:
				delete(value, name)
			case n < 45:
				value[name] = nil
			case n < 48 && above != "limits" && above != "requests":
				switch value[name].(type) {
				case map[string]any:
					value[name] = map[string]any{}
				case []any:
					value[name] = []any{}
				case string:
					value[name] = ""
				}
			default:
				h.spoil(value[name], name)
			}
		}
	case []any:
		for i := range value {
			h.spoil(value[i], above)
		}
	}
}

// manifest makes the nth one.
func (h halfWritten) manifest(t *testing.T, n int) map[string]any {
	t.Helper()
	kind := filledInKinds[n%len(filledInKinds)]
	pod := strings.ReplaceAll(fullPod, "\n", "")
	text := strings.ReplaceAll(kind.around, "JOBPOD", strings.Replace(pod, `"restartPolicy":"Always","dnsPolicy"`, `"dnsPolicy"`, 1))
	text = strings.ReplaceAll(text, "POD", pod)
	var object map[string]any
	if kind.around == "POD" {
		text = `{"spec":` + text + `}`
	}
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	h.spoil(object, "")
	mounted(object)
	cut := strings.LastIndexByte(kind.gvk, '/')
	object["apiVersion"], object["kind"] = kind.gvk[:cut], kind.gvk[cut+1:]
	object["metadata"] = map[string]any{"name": fmt.Sprintf("half-%d", n), "namespace": "shop", "annotations": nil}
	if strings.HasSuffix(kind.gvk, "Job") {
		at := object
		for _, name := range []string{"spec", "jobTemplate", "spec", "template", "spec"} {
			if below, ok := at[name].(map[string]any); ok {
				at = below
			}
		}
		at["restartPolicy"] = "Never"
	}
	return object
}

// mounted leaves out mounts of volumes that are left out.
func mounted(at any) {
	switch at := at.(type) {
	case map[string]any:
		if volumes, ok := at["volumes"].([]any); ok && len(volumes) > 0 || at["containers"] == nil {
			for _, below := range at {
				mounted(below)
			}
			return
		}
		containers, _ := at["containers"].([]any)
		for _, c := range containers {
			delete(c.(map[string]any), "volumeMounts")
		}
	case []any:
		for _, below := range at {
			mounted(below)
		}
	}
}

func filledInPolicies() string {
	policies := &strings.Builder{}
	policy := func(name, kind, validate string) {
		fmt.Fprintf(policies, "---\napiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec:\n  validationFailureAction: Warn\n  rules:\n"+
			"  - {name: rule, match: {any: [{resources: {kinds: [%s]}}]}, validate: {message: \"<%[1]s>\", %[3]s}}\n", name, kind, validate)
	}
	for i, validate := range filledInRules {
		policy(fmt.Sprintf("pods-%d", i), "Pod", validate)
	}
	for i, kind := range filledInKinds {
		if kind.rule != "" {
			policy(fmt.Sprintf("kind-%d", i), kind.gvk[strings.LastIndexByte(kind.gvk, '/')+1:], "pattern: "+kind.rule)
		}
	}
	return policies.String()
}

// TestFilledIn puts half-written manifests to check and, in a dry run, to the API
// server that asks Sallyport. The same rules must fail, and what check judged must
// be what the API server made of it.
func TestFilledIn(t *testing.T) { filledIn(t, 90) }

func filledIn(t *testing.T, count int) {
	policies := filledInPolicies()
	if err := shared.Apply(t.Context(), "{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop}}"); err != nil {
		t.Fatal(err)
	}
	guard(t, admissionDoor, policies)
	seed := rand.Uint64()
	half := halfWritten{rand.New(rand.NewPCG(seed, 2))}
	objects := make([]map[string]any, count)
	written := &strings.Builder{}
	for i := range objects {
		objects[i] = half.manifest(t, i)
		text, err := json.Marshal(objects[i])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(written, "%s\n", text)
	}
	failed := checkWarnings(t, policies, written.String())
	refused, warned, different := 0, 0, 0
	for i, object := range objects {
		made, names, err := dryRunWarnings(t, object)
		text, _ := json.Marshal(object)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			refused++
			t.Logf("refused: %v", err)
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		warned += len(names)
		name := fmt.Sprintf("half-%d", i)
		if diff := cmp.Diff(names, failed[name]); diff != "" {
			different++
			t.Errorf("rules that fail (-API server +check):\n%s\n%s", diff, text)
		}
		if diff := cmp.Diff(withoutAdded(made), withoutAdded(filled(t, object))); diff != "" {
			different++
			t.Errorf("the object (-API server +check):\n%s\n%s", diff, text)
		}
	}
	if refused > count/2 || warned < count {
		t.Errorf("%d of %d were refused, and %d rules failed; too little was compared", refused, count, warned)
	}
	fmt.Printf("%d manifests of %d kinds, %d refused by the API server, %d rules failed, %d different; seed %d\n", count, len(filledInKinds), refused, warned, different, seed)
}

var namedRule = regexp.MustCompile(`<([a-z]+-[0-9]+)>`)

// checkWarnings judges all objects by check, and gives the rules that failed, by the
// name of the object.
func checkWarnings(t *testing.T, policies, objects string) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"policies.yaml": policies, "objects.json": objects} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), binary, "check", "-p", filepath.Join(dir, "policies.yaml"), "-o", "json", filepath.Join(dir, "objects.json")).Output()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	var judged struct {
		Results []struct {
			Status, Message string
			Resource        struct{ Name string }
		}
	}
	if err := json.Unmarshal(out, &judged); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	failed := map[string][]string{}
	for _, r := range judged.Results {
		if r.Status == "error" {
			failed[r.Resource.Name] = append(failed[r.Resource.Name], r.Message)
		}
		if r.Status != "pass" && r.Status != "skip" {
			for _, name := range namedRule.FindAllStringSubmatch(r.Message, -1) {
				failed[r.Resource.Name] = append(failed[r.Resource.Name], name[1])
			}
		}
	}
	for name := range failed {
		slices.Sort(failed[name])
	}
	return failed
}

// warnings collects what an answer warns of.
type warnings struct {
	sync.Mutex
	names []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	for _, name := range namedRule.FindAllStringSubmatch(text, -1) {
		w.names = append(w.names, name[1])
	}
}

func dryRunWarnings(t *testing.T, object map[string]any) (made map[string]any, names []string, err error) {
	t.Helper()
	told := &warnings{}
	config := rest.CopyConfig(shared.Config)
	config.WarningHandler = told
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	created, err := client.Resource(resource).Namespace("shop").Create(t.Context(), u.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(told.names)
	return created.Object, told.names, nil
}

func filled(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	full, err := defaults.Newest().Fill(u.GroupVersionKind(), text, "shop")
	if err != nil {
		t.Fatal(err)
	}
	made := &unstructured.Unstructured{}
	if err := made.UnmarshalJSON(full); err != nil {
		t.Fatal(err)
	}
	return made.Object
}

// withoutAdded is an object without what storage and admission plugins give it.
func withoutAdded(object map[string]any) map[string]any {
	u := &unstructured.Unstructured{Object: object}
	delete(u.Object, "status")
	// The answer has been through storage, which does not tell them apart.
	withoutEmptyLists(u.Object)
	for _, name := range []string{"uid", "creationTimestamp", "generation", "managedFields", "resourceVersion"} {
		unstructured.RemoveNestedField(u.Object, "metadata", name)
	}
	switch u.GroupVersionKind() {
	case schema.GroupVersionKind{Version: "v1", Kind: "Pod"}:
		for _, name := range []string{"priority", "preemptionPolicy", "tolerations", "serviceAccount", "serviceAccountName"} {
			unstructured.RemoveNestedField(u.Object, "spec", name)
		}
		withoutTokens(u.Object["spec"].(map[string]any))
	case schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}:
		unstructured.RemoveNestedField(u.Object, "spec", "selector")
		unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "labels")
		unstructured.RemoveNestedField(u.Object, "metadata", "labels")
	}
	return u.Object
}

func withoutEmptyLists(at any) {
	switch at := at.(type) {
	case map[string]any:
		for name, below := range at {
			if list, ok := below.([]any); below == nil || ok && len(list) == 0 {
				delete(at, name)
			}
			withoutEmptyLists(below)
		}
	case []any:
		for _, below := range at {
			withoutEmptyLists(below)
		}
	}
}

// withoutTokens takes out the volume of a service account's token.
func withoutTokens(spec map[string]any) {
	isToken := func(entry any) bool {
		name, _ := entry.(map[string]any)["name"].(string)
		return strings.HasPrefix(name, "kube-api-access-")
	}
	drop := func(in map[string]any, list string) {
		entries, ok := in[list].([]any)
		if !ok {
			return
		}
		if entries = slices.DeleteFunc(entries, isToken); len(entries) == 0 {
			delete(in, list)
			return
		}
		in[list] = entries
	}
	drop(spec, "volumes")
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			drop(c.(map[string]any), "volumeMounts")
		}
	}
}
