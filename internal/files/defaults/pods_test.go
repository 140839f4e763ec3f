package defaults

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

var (
	podGVK        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deploymentGVK = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// Each default of a pod by itself: a part of a pod spec, and the same part as it
// stands in a Pod and in a template after defaulting.
func TestPods(t *testing.T) {
	const container = `"imagePullPolicy":"IfNotPresent","terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"`
	tests := []struct {
		name, spec      string
		inPod, template string // template: empty for the same
	}{
		{"the spec", `{}`, `{"enableServiceLinks":true}`, `{}`},
		{"chosen values stay", `{"restartPolicy":"Never","dnsPolicy":"None","schedulerName":"x","terminationGracePeriodSeconds":0,
			"securityContext":{"runAsUser":0},"enableServiceLinks":false}`,
			`{"restartPolicy":"Never","dnsPolicy":"None","schedulerName":"x","terminationGracePeriodSeconds":0,
			"securityContext":{"runAsUser":0},"enableServiceLinks":false}`, ``},
		{"negative grace period", `{"terminationGracePeriodSeconds":-5}`,
			`{"terminationGracePeriodSeconds":1,"enableServiceLinks":true}`, `{"terminationGracePeriodSeconds":-5}`},
		{"deprecated service account", `{"serviceAccount":"a"}`,
			`{"serviceAccountName":"a","serviceAccount":"a","enableServiceLinks":true}`, `{"serviceAccountName":"a","serviceAccount":"a"}`},
		{"both service accounts", `{"serviceAccount":"a","serviceAccountName":"b"}`,
			`{"serviceAccountName":"b","serviceAccount":"b","enableServiceLinks":true}`, `{"serviceAccountName":"b","serviceAccount":"b"}`},
		{"volume without source", `{"volumes":[{"name":"v"}]}`,
			`{"volumes":[{"name":"v","emptyDir":{}}],"enableServiceLinks":true}`, `{"volumes":[{"name":"v","emptyDir":{}}]}`},
		{"host path", `{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}`,
			`{"volumes":[{"name":"v","hostPath":{"path":"/","type":""}}],"enableServiceLinks":true}`,
			`{"volumes":[{"name":"v","hostPath":{"path":"/","type":""}}]}`},
		{"modes", `{"volumes":[{"name":"a","secret":{}},{"name":"b","configMap":{}},{"name":"c","downwardAPI":{"items":[{"fieldRef":{}}]}},
			{"name":"d","projected":{"sources":[{"serviceAccountToken":{}},{"downwardAPI":{"items":[{"fieldRef":{}}]}}]}},
			{"name":"e","secret":{"defaultMode":256}}]}`,
			`{"volumes":[{"name":"a","secret":{"defaultMode":420}},{"name":"b","configMap":{"defaultMode":420}},
			{"name":"c","downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1"}}],"defaultMode":420}},
			{"name":"d","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3600}},
			{"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1"}}]}}],"defaultMode":420}},
			{"name":"e","secret":{"defaultMode":256}}],"enableServiceLinks":true}`, ``},
		{"image volume", `{"volumes":[{"name":"v","image":{"reference":"a"}},{"name":"w","image":{"reference":"a:1"}}]}`,
			`{"volumes":[{"name":"v","image":{"reference":"a","pullPolicy":"Always"}},
			{"name":"w","image":{"reference":"a:1","pullPolicy":"IfNotPresent"}}],"enableServiceLinks":true}`, ``},
		{"every list of containers", `{"initContainers":[{"image":"a:1"}],"containers":[{"image":"a:1"}],"ephemeralContainers":[{"image":"a:1"}]}`,
			`{"initContainers":[{"image":"a:1",` + container + `}],"containers":[{"image":"a:1",` + container + `}],
			"ephemeralContainers":[{"image":"a:1",` + container + `}],"enableServiceLinks":true}`, ``},
		{"protocol", `{"containers":[{"image":"a:1","ports":[{"containerPort":1},{"containerPort":2,"protocol":"UDP"}]}]}`,
			`{"containers":[{"image":"a:1","ports":[{"containerPort":1,"protocol":"TCP"},{"containerPort":2,"protocol":"UDP"}],` +
				container + `}],"enableServiceLinks":true}`, ``},
		{"host ports", `{"hostNetwork":true,"initContainers":[{"image":"a:1","ports":[{"containerPort":1}]}],
			"containers":[{"image":"a:1","ports":[{"containerPort":2},{"containerPort":3,"hostPort":4}]}]}`,
			`{"hostNetwork":true,"initContainers":[{"image":"a:1","ports":[{"containerPort":1,"hostPort":1,"protocol":"TCP"}],` + container + `}],
			"containers":[{"image":"a:1","ports":[{"containerPort":2,"hostPort":2,"protocol":"TCP"},
			{"containerPort":3,"hostPort":4,"protocol":"TCP"}],` + container + `}],"enableServiceLinks":true}`,
			`{"hostNetwork":true,"initContainers":[{"image":"a:1","ports":[{"containerPort":1,"protocol":"TCP"}],` + container + `}],
			"containers":[{"image":"a:1","ports":[{"containerPort":2,"protocol":"TCP"},
			{"containerPort":3,"hostPort":4,"protocol":"TCP"}],` + container + `}]}`},
		{"limits", `{"containers":[{"image":"a:1","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m"}}}]}`,
			`{"containers":[{"image":"a:1","resources":{"limits":{"cpu":"1","memory":"1Gi"},
			"requests":{"cpu":"100m","memory":"1Gi"}},` + container + `}],"enableServiceLinks":true}`,
			`{"containers":[{"image":"a:1","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m"}},` + container + `}]}`},
		{"only limits", `{"initContainers":[{"image":"a:1","resources":{"limits":{"cpu":"1"}}}]}`,
			`{"initContainers":[{"image":"a:1","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}},` + container + `}],
			"enableServiceLinks":true}`,
			`{"initContainers":[{"image":"a:1","resources":{"limits":{"cpu":"1"}},` + container + `}]}`},
		{"probes", `{"containers":[{"image":"a:1","livenessProbe":{"httpGet":{"port":1}},"readinessProbe":{"grpc":{"port":1}},
			"startupProbe":{"tcpSocket":{"port":1},"periodSeconds":3}}]}`,
			`{"containers":[{"image":"a:1",
			"livenessProbe":{"httpGet":{"port":1,"path":"/","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},
			"readinessProbe":{"grpc":{"port":1,"service":""},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},
			"startupProbe":{"tcpSocket":{"port":1},"timeoutSeconds":1,"periodSeconds":3,"successThreshold":1,"failureThreshold":3},` +
				container + `}],"enableServiceLinks":true}`, ``},
		{"lifecycle and environment", `{"containers":[{"image":"a:1","lifecycle":{"postStart":{"httpGet":{"port":1}},
			"preStop":{"httpGet":{"port":1,"path":"/x","scheme":"HTTPS"}}},"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"x"}}},{"name":"B"}]}]}`,
			`{"containers":[{"image":"a:1","lifecycle":{"postStart":{"httpGet":{"port":1,"path":"/","scheme":"HTTP"}},
			"preStop":{"httpGet":{"port":1,"path":"/x","scheme":"HTTPS"}}},
			"env":[{"name":"A","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"x"}}},{"name":"B"}],` + container + `}],
			"enableServiceLinks":true}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compareSpec(t, podGVK, `{"spec":`+tt.spec+`}`, tt.inPod)
			want := tt.template
			if want == "" {
				want = tt.inPod
			}
			compareSpec(t, deploymentGVK, `{"spec":{"template":{"spec":`+tt.spec+`}}}`, want)
		})
	}
}

// compareSpec fills in an object with one pod and compares the spec with what is
// wanted, to which the defaults that every pod gets are added.
func compareSpec(t *testing.T, gvk schema.GroupVersionKind, written, wanted string) {
	t.Helper()
	want := &corev1.PodSpec{}
	if err := apijson.Unmarshal([]byte(wanted), want); err != nil {
		t.Fatal(err)
	}
	fill(&want.RestartPolicy, "Always")
	fill(&want.DNSPolicy, "ClusterFirst")
	fill(&want.SchedulerName, "default-scheduler")
	fill(&want.SecurityContext, &corev1.PodSecurityContext{})
	seconds := int64(30)
	fill(&want.TerminationGracePeriodSeconds, &seconds)
	if gvk != podGVK && want.EnableServiceLinks != nil && *want.EnableServiceLinks {
		want.EnableServiceLinks = nil
	}
	once := mustFill(t, gvk, written)
	o, err := pod.Default().Decode(gvk, once)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, o.Pods[0].Spec); diff != "" {
		t.Errorf("at %q (-want +got):\n%s", o.Pods[0].Path, diff)
	}
	if diff := cmp.Diff(string(once), string(mustFill(t, gvk, string(once)))); diff != "" {
		t.Errorf("filled in twice:\n%s", diff)
	}
}

func mustFill(t *testing.T, gvk schema.GroupVersionKind, raw string) []byte {
	t.Helper()
	full, err := Newest().Fill(gvk, []byte(raw), "")
	if err != nil {
		t.Fatal(err)
	}
	return full
}

func fill[T comparable](at *T, value T) {
	var empty T
	if *at == empty {
		*at = value
	}
}

func TestPullPolicy(t *testing.T) {
	for image, want := range map[string]string{
		"":                                 "IfNotPresent",
		"a":                                "Always",
		"a:latest":                         "Always",
		"a:1":                              "IfNotPresent",
		"example.com:5000/a":               "Always",
		"example.com:5000/a:1":             "IfNotPresent",
		"example.com:5000/b/a:latest":      "Always",
		"a@sha256:0123456789abcdef":        "IfNotPresent",
		"a:latest@sha256:0123456789abcdef": "IfNotPresent", // too short to be read
		"a:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": "Always",
		"A":                           "IfNotPresent",
		"a:1@sha256:0123456789abcdef": "IfNotPresent",
	} {
		if got := string(pullPolicy(image)); got != want {
			t.Errorf("%q: %s, want %s", image, got, want)
		}
	}
}
