package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

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
