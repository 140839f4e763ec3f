package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestIdentityOperations has a case, or several, for each row of the operations
// that reach an identity. Each is tried by somebody who holds it, by somebody who
// does not, and by somebody who may do everything inside the namespace.
func TestIdentityOperations(t *testing.T) {
	const image1, image2 = "app:1", "app:2"
	secret := func(account string) string {
		return "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\nmetadata: {name: token, namespace: shop, annotations: {kubernetes.io/service-account.name: " + account + "}}\n"
	}
	account := func(annotations string) string {
		return "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: app, namespace: shop, annotations: {" + annotations + "}}\n"
	}
	binding := func(name, annotations string) string {
		return "apiVersion: v1\nkind: Binding\nmetadata: {name: " + name + ", namespace: shop, annotations: {" + annotations + "}}\ntarget: {kind: Node, name: node-1}\n"
	}
	token := "apiVersion: authentication.k8s.io/v1\nkind: TokenRequest\nmetadata: {name: gcs, namespace: shop}\nspec: {}\n"
	const gcs, gcsAnnotation = "gcs@mycompany.gserviceaccount.com", "iam.gke.io/gcp-service-account: "
	taskRun := func(step string) string {
		return "apiVersion: tekton.dev/v1\nkind: TaskRun\nmetadata: {name: run, namespace: shop}\nspec: {podTemplate: {identity: builder}, step: " + step + "}\n"
	}
	const pods, workloads = "pods", "deployments"
	review, immutable := "kerberos/use ", "kerberos/immutable fail"
	cases := []struct {
		name, resource, subresource, old, document string
		// want is what is judged, with the status left out if it turns on who asks.
		want string
	}{
		{"create pod: every claim", pods, "", "", podYAML("app", claimed, image1), review},
		{"create pod: by generateName", pods, "", "", strings.Replace(podYAML("app", claimed, image1), "name: app, namespace", "generateName: app-, namespace", 1), review},
		{"create pod: no claim", pods, "", "", podYAML("app", "", image1), ""},
		{"create pod: a claim of the account", pods, "", "", strings.Replace(podYAML("app", "", image1), "serviceAccountName: app", "serviceAccountName: gcs", 1), "gke/use "},
		{"create pod: a claim and one of the account", pods, "", "", strings.Replace(podYAML("app", claimed, image1), "serviceAccountName: app", "serviceAccountName: gcs", 1), "kerberos/use , gke/use "},
		{"create pod: in the document's own field", pods, "", "", strings.Replace(podYAML("app", "", image1), "spec: {", "spec: {validatedAnnotations: [{kerberos: legacy-frontend-app}], ", 1), review},
		{"create pod: an empty value", pods, "", "", podYAML("app", `kerberos: ""`, image1), "kerberos/use fail"},
		{"create pod: a slash", pods, "", "", podYAML("app", "kerberos: a/b", image1), "kerberos/use fail"},
		{"create pod: another case is another key", pods, "", "", podYAML("app", "Kerberos: legacy-frontend-app", image1), ""},
		{"create pod: a trailing space is another value", pods, "", "", podYAML("app", `kerberos: "legacy-frontend-app "`, image1), "kerberos/use fail"},

		{"update pod: a claim is added", pods, "", podYAML("app", "", image1), podYAML("app", claimed, image1), immutable},
		{"update pod: a claim is removed", pods, "", podYAML("app", claimed, image1), podYAML("app", "", image1), immutable},
		{"update pod: a claim is changed", pods, "", podYAML("app", claimed, image1), podYAML("app", "kerberos: other-app", image1), immutable + ", " + immutable},
		{"update pod: a changed image", pods, "", podYAML("app", claimed, image1), podYAML("app", claimed, image2), review},
		{"update pod: a changed image, with a claim of the account", pods, "",
			strings.Replace(podYAML("app", "", image1), "serviceAccountName: app", "serviceAccountName: gcs", 1),
			strings.Replace(podYAML("app", "", image2), "serviceAccountName: app", "serviceAccountName: gcs", 1), "gke/use "},
		{"update pod: an added image", pods, "", podYAML("app", claimed, image1), strings.Replace(podYAML("app", claimed, image1), "spec: {", "spec: {initContainers: [{name: i, image: i}], ", 1), review},
		{"update pod: labels", pods, "", podYAML("app", claimed, image1), strings.Replace(podYAML("app", claimed, image1), "namespace: shop", "namespace: shop, labels: {a: b}", 1), ""},
		{"update pod: tolerations", pods, "", podYAML("app", claimed, image1), strings.Replace(podYAML("app", claimed, image1), "spec: {", "spec: {tolerations: [{operator: Exists}], ", 1), ""},
		{"update pod: status", pods, "status", podYAML("app", claimed, image1), podYAML("app", claimed, image1) + "status: {phase: Running}\n", ""},
		{"update pod: a claim by status", pods, "status", podYAML("app", "", image1), podYAML("app", claimed, image1), immutable},
		{"update pod: resize", pods, "resize", podYAML("app", claimed, image1), strings.Replace(podYAML("app", claimed, image1), "name: app, image", "resources: {requests: {cpu: 1}}, name: app, image", 1), ""},

		{"ephemeral containers: every claim", pods, "ephemeralcontainers", podYAML("app", claimed, image1),
			strings.Replace(podYAML("app", claimed, image1), "spec: {", "spec: {ephemeralContainers: [{name: d, image: d}], ", 1), review},
		{"ephemeral containers: no claim", pods, "ephemeralcontainers", podYAML("app", "", image1),
			strings.Replace(podYAML("app", "", image1), "spec: {", "spec: {ephemeralContainers: [{name: d, image: d}], ", 1), ""},

		{"pods/binding: adds a claim", pods, "binding", "", binding("plain", claimed), immutable},
		{"bindings: adds a claim", "bindings", "", "", binding("plain", claimed), immutable},
		{"bindings: changes a claim", "bindings", "", "", binding("app", "kerberos: other-app"), immutable + ", " + immutable},
		{"bindings: the same claim", "bindings", "", "", binding("app", claimed), ""},
		{"bindings: empties a claim", "bindings", "", "", binding("app", `kerberos: ""`), immutable + ", " + immutable},
		{"bindings: no annotation of a source", "bindings", "", "", binding("gone", "a: b"), ""},

		{"create Deployment", workloads, "", "", deploymentYAML("", claimed, image1), review},
		{"create StatefulSet", "statefulsets", "", "", makerYAML("apps/v1", "StatefulSet", "web", "", claimed, image1), review},
		{"create DaemonSet", "daemonsets", "", "", makerYAML("apps/v1", "DaemonSet", "web", "", claimed, image1), review},
		{"create ReplicaSet", "replicasets", "", "", makerYAML("apps/v1", "ReplicaSet", "web", "", claimed, image1), review},
		{"create ReplicationController", "replicationcontrollers", "", "", makerYAML("v1", "ReplicationController", "web", "", claimed, image1), review},
		{"create Job", "jobs", "", "", makerYAML("batch/v1", "Job", "web", "", claimed, image1), review},
		{"create CronJob, whose template is nested", "cronjobs", "", "", makerYAML("batch/v1", "CronJob", "web", "", claimed, image1), review},
		{"create PodTemplate", "podtemplates", "", "", makerYAML("v1", "PodTemplate", "web", "", claimed, image1), review},
		{"create a registered kind", "rollouts", "", "", makerYAML("argoproj.io/v1alpha1", "Rollout", "web", "", claimed, image1), review},
		{"create a custom kind without a template", "taskruns", "", "", taskRun("a"), "tekton/use "},
		{"create ControllerRevision as a user", "controllerrevisions", "", "", makerYAML("apps/v1", "ControllerRevision", "web-1", "", claimed, image1), review},
		{"create a workload with an account that is not there yet", workloads, "", "", strings.Replace(deploymentYAML("", claimed, image1), "serviceAccountName: app", "serviceAccountName: later", 1), review},

		{"update workload: the template", workloads, "", deploymentYAML("", claimed, image1), deploymentYAML("", claimed, image2), review},
		{"update workload: a claim is added", workloads, "", deploymentYAML("", "", image1), deploymentYAML("", claimed, image1), review},
		{"update workload: a claim is removed", workloads, "", deploymentYAML("", claimed, image1), deploymentYAML("", "", image1), ""},
		{"update workload: one of two claims is removed", workloads, "",
			strings.Replace(deploymentYAML("", claimed+", a: b", image1), "serviceAccountName: app", "serviceAccountName: gcs", 1),
			strings.Replace(deploymentYAML("", "a: b", image1), "serviceAccountName: app", "serviceAccountName: gcs", 1), ""},
		{"update workload: a claim is removed and the image changed", workloads, "",
			strings.Replace(deploymentYAML("", claimed, image1), "serviceAccountName: app", "serviceAccountName: gcs", 1),
			strings.Replace(deploymentYAML("", "", image2), "serviceAccountName: app", "serviceAccountName: gcs", 1), "gke/use "},
		{"update workload: scale", workloads, "", deploymentYAML("", claimed, image1), strings.Replace(deploymentYAML("", claimed, image1), "replicas: 1", "replicas: 5", 1), ""},
		{"update workload: labels", workloads, "", deploymentYAML("", claimed, image1), deploymentYAML(", labels: {a: b}", claimed, image1), ""},
		{"update a custom kind without a template", "taskruns", "", taskRun("a"), taskRun("b"), "tekton/use "},
		{"update a custom kind: labels", "taskruns", "", taskRun("a"), strings.Replace(taskRun("a"), "namespace: shop", "namespace: shop, labels: {a: b}", 1), ""},

		{"create ServiceAccount", "serviceaccounts", "", "", account(gcsAnnotation + gcs), "gke/use "},
		{"create ServiceAccount: without", "serviceaccounts", "", "", account(""), ""},
		{"update ServiceAccount: the annotation is swapped", "serviceaccounts", "", account(gcsAnnotation + "harmless"), account(gcsAnnotation + gcs), "gke/use "},
		{"update ServiceAccount: something else", "serviceaccounts", "", account(gcsAnnotation + gcs), account(gcsAnnotation + gcs + ", a: b"), ""},
		{"update ServiceAccount: the annotation is removed", "serviceaccounts", "", account(gcsAnnotation + gcs), account(""), "gke/use "},

		{"serviceaccounts/token", "serviceaccounts", "token", "", token, "gke/use "},
		{"serviceaccounts/token: for an audience", "serviceaccounts", "token", "", strings.Replace(token, "spec: {}", "spec: {audiences: [vault]}", 1), "gke/use , vault/use "},
		{"serviceaccounts/token: an account without identity", "serviceaccounts", "token", "", strings.Replace(token, "gcs", "app", 1), ""},
		{"Secret with a token", "secrets", "", "", secret("gcs"), "gke/use "},
		{"Secret with a token: of an account without identity", "secrets", "", "", secret("app"), ""},
		{"Secret with a token: moved to another account", "secrets", "", secret("app"), secret("gcs"), "gke/use "},
		{"Secret with a token: other changes", "secrets", "", secret("gcs"), secret("gcs") + "data: {token: eA==}\n", ""},
		{"another Secret", "secrets", "", "", strings.Replace(secret("gcs"), "kubernetes.io/service-account-token", "Opaque", 1), ""},

		{"mirror pods carry no claim", pods, "", "", podYAML("app", "kubernetes.io/config.mirror: x, "+claimed, image1), "kerberos/use fail"},
		{"mirror pods without one", pods, "", "", podYAML("app", "kubernetes.io/config.mirror: x", image1), ""},
	}
	state, set := identityCluster(t), identitySet(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for user, status := range map[string]string{holder: "pass", stranger: "fail", "ns-admin": "fail"} {
				r := asked(t, state, user, c.resource, c.subresource, c.old, c.document)
				want := strings.ReplaceAll(c.want, "use ,", "use "+status+",")
				if strings.HasSuffix(want, "use ") {
					want += status
				}
				d := set.Decide(t.Context(), r)
				if got := summary(d); got != want {
					t.Errorf("%s: %q, want %q: %s", user, got, want, messages(d))
				}
				if d.Refuses() != strings.Contains(want, "fail") {
					t.Errorf("%s: %s", user, d.Verdict)
				}
			}
		})
	}
}

// TestIdentityAccess goes through the ways into a pod that runs, by each verb, at
// both doors.
func TestIdentityAccess(t *testing.T) {
	state, set := identityCluster(t), identitySet(t)
	at := func(door request.Door, verb, subresource, pod, user string) *request.Request {
		r := access1(state, subresource, "shop", pod)
		r.Verb, r.User, r.Authorizer = verb, request.User{Name: user}, state
		if door == request.Admission {
			r.Door, r.Verb, r.Operation = door, "", request.Connect
		}
		return r
	}
	for _, c := range []struct {
		name        string
		door        request.Door
		verb        string
		subresource string
		pod         string
		// want is the status for somebody who does not hold the identity.
		want string
	}{
		{"exec by get", request.Access, "get", "exec", "app", "kerberos/use fail"},
		{"exec by create", request.Access, "create", "exec", "app", "kerberos/use fail"},
		{"exec by a verb of somebody's own", request.Access, "whatever", "exec", "app", "kerberos/use fail"},
		{"attach by get", request.Access, "get", "attach", "app", "kerberos/use fail"},
		{"attach by create", request.Access, "create", "attach", "app", "kerberos/use fail"},
		{"ephemeral containers by patch", request.Access, "patch", "ephemeralcontainers", "app", "kerberos/use fail"},
		{"ephemeral containers by update", request.Access, "update", "ephemeralcontainers", "app", "kerberos/use fail"},
		{"ephemeral containers are read", request.Access, "get", "ephemeralcontainers", "app", ""},
		{"port-forward, not configured", request.Access, "create", "portforward", "app", ""},
		{"proxy, not configured", request.Access, "get", "proxy", "app", ""},
		{"log", request.Access, "get", "log", "app", ""},
		{"log of a pod that is not there", request.Access, "get", "log", "gone", ""},
		{"exec, an identity of the account", request.Access, "create", "exec", "gcs", "gke/use fail"},
		{"exec into a pod without identity", request.Access, "create", "exec", "plain", ""},
		{"exec into a pod that is not there", request.Access, "create", "exec", "gone", "identities/use error"},
		{"CONNECT exec", request.Admission, "", "exec", "app", "kerberos/use fail"},
		{"CONNECT attach", request.Admission, "", "attach", "app", "kerberos/use fail"},
		{"CONNECT port-forward, not configured", request.Admission, "", "portforward", "app", ""},
		{"a question about all pods", request.Access, "create", "exec", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, user := range []string{stranger, "ns-admin"} {
				d := set.Decide(t.Context(), at(c.door, c.verb, c.subresource, c.pod, user))
				if got := summary(d); got != c.want {
					t.Errorf("%s: %q, want %q: %s", user, got, c.want, messages(d))
				}
				if d.Refuses() != (c.want != "") {
					t.Errorf("%s: %s", user, d.Verdict)
				}
			}
			if d := set.Decide(t.Context(), at(c.door, c.verb, c.subresource, c.pod, holder)); d.Refuses() && c.pod != "gone" {
				t.Errorf("%s is refused: %s", holder, messages(d))
			}
		})
	}
	t.Run("port-forward, as configured", func(t *testing.T) {
		configured := setOf(t, strings.Replace(identitySources[0], "podAnnotation: {}", "podAnnotation: {}, subresources: [exec, attach, ephemeralcontainers, portforward, proxy]", 1))
		for _, way := range []string{"portforward", "proxy"} {
			if got := summary(configured.Decide(t.Context(), at(request.Access, "create", way, "app", stranger))); got != "kerberos/use fail" {
				t.Errorf("%s: %q", way, got)
			}
		}
		// No source guards the kubelet of a node.
		r := at(request.Access, "create", "proxy", "node-1", stranger)
		r.Resource.Resource, r.Namespace = "nodes", ""
		if d := configured.Decide(t.Context(), r); len(d.Results) > 0 {
			t.Errorf("%+v", d.Results)
		}
	})
	t.Run("a review of our own gets no opinion", func(t *testing.T) {
		r := &request.Request{Door: request.Access, Verb: "use", User: request.User{Name: stranger}, Cluster: unreadable{}, Authorizer: unreadable{}, Name: "kerberos", Subresource: "legacy-frontend-app"}
		r.Resource.Group, r.Resource.Resource = "authorization.k8s.io", "validatedannotations"
		if d := set.Decide(t.Context(), r); len(d.Results) != 0 {
			t.Errorf("%+v", d.Results)
		}
	})
}
