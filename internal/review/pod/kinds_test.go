package pod

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// T stands for a pod template, S for a pod spec; each has a privileged container.
const (
	templateText = `{"metadata":{"labels":{"a":"b"}},"spec":` + specText + `}`
	specText     = `{"initContainers":[{"name":"i"}],"containers":[{"name":"a"},{"name":"b","securityContext":{"privileged":true}}]}`
)

// kinds has every kind that makes pods, with the paths at which its pods are
// found.
var kinds = []struct {
	apiVersion, kind, body string
	paths                  []string
}{
	{"v1", "Pod", `"spec":S`, []string{""}},
	{"v1", "PodTemplate", `"template":T`, []string{"template"}},
	{"v1", "ReplicationController", `"spec":{"replicas":1,"template":T}`, []string{"spec.template"}},
	{"apps/v1", "ReplicaSet", `"spec":{"template":T}`, []string{"spec.template"}},
	{"apps/v1", "Deployment", `"spec":{"selector":{},"template":T,"replicas":3}`, []string{"spec.template"}},
	{"apps/v1beta1", "Deployment", `"spec":{"template":T}`, []string{"spec.template"}},
	{"apps/v1beta2", "Deployment", `"spec":{"template":T}`, []string{"spec.template"}},
	{"apps/v1", "DaemonSet", `"spec":{"template":T}`, []string{"spec.template"}},
	{"apps/v1", "StatefulSet", `"spec":{"template":T,"volumeClaimTemplates":[{"spec":{}}]}`, []string{"spec.template"}},
	{"apps/v1", "ControllerRevision", `"revision":1,"data":{"spec":{"template":T}}`, []string{"data.spec.template"}},
	{"extensions/v1beta1", "ReplicaSet", `"spec":{"template":T}`, []string{"spec.template"}},
	{"extensions/v1beta1", "Deployment", `"spec":{"template":T}`, []string{"spec.template"}},
	{"extensions/v1beta1", "DaemonSet", `"spec":{"template":T}`, []string{"spec.template"}},
	{"batch/v1", "Job", `"spec":{"template":T}`, []string{"spec.template"}},
	{"batch/v1", "CronJob", `"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":T}}}`,
		[]string{"spec.jobTemplate.spec.template"}},
	{"batch/v1beta1", "CronJob", `"spec":{"jobTemplate":{"spec":{"template":T}}}`, []string{"spec.jobTemplate.spec.template"}},

	{"argoproj.io/v1alpha1", "Rollout", `"spec":{"template":T}`, []string{"spec.template"}},
	{"argoproj.io/v1alpha1", "Experiment", `"spec":{"templates":[{"name":"x","template":T},{"template":T}]}`,
		[]string{"spec.templates[0].template", "spec.templates[1].template"}},
	{"argoproj.io/v1alpha1", "AnalysisTemplate",
		`"spec":{"metrics":[{"provider":{"web":{}}},{"provider":{"job":{"spec":{"template":T}}}}]}`,
		[]string{"spec.metrics[1].provider.job.spec.template"}},
	{"argoproj.io/v1alpha1", "ClusterAnalysisTemplate", `"spec":{"metrics":[{"provider":{"job":{"spec":{"template":T}}}}]}`,
		[]string{"spec.metrics[0].provider.job.spec.template"}},
	{"argoproj.io/v1alpha1", "AnalysisRun", `"spec":{"metrics":[{"provider":{"job":{"spec":{"template":T}}}}]}`,
		[]string{"spec.metrics[0].provider.job.spec.template"}},

	{"serving.knative.dev/v1", "Service", `"spec":{"template":T,"traffic":[]}`, []string{"spec.template"}},
	{"serving.knative.dev/v1", "Configuration", `"spec":{"template":T}`, []string{"spec.template"}},
	{"serving.knative.dev/v1", "Revision", `"spec":S`, []string{""}},
	{"keda.sh/v1alpha1", "ScaledJob", `"spec":{"jobTargetRef":{"template":T}}`, []string{"spec.jobTargetRef.template"}},

	{"jobset.x-k8s.io/v1alpha2", "JobSet",
		`"spec":{"replicatedJobs":[{"template":{"spec":{"template":T}}},{"template":{"spec":{"template":T}}}]}`,
		[]string{"spec.replicatedJobs[0].template.spec.template", "spec.replicatedJobs[1].template.spec.template"}},
	{"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
		`"spec":{"leaderWorkerTemplate":{"workerTemplate":T,"size":2,"leaderTemplate":T}}`,
		[]string{"spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"}},
	{"disaggregatedset.x-k8s.io/v1", "DisaggregatedSet",
		`"spec":{"roles":[{"name":"x","spec":{"leaderWorkerTemplate":{"leaderTemplate":T,"workerTemplate":T}}}]}`,
		[]string{"spec.roles[0].spec.leaderWorkerTemplate.leaderTemplate", "spec.roles[0].spec.leaderWorkerTemplate.workerTemplate"}},

	{"kubeflow.org/v1", "PyTorchJob", `"spec":{"pytorchReplicaSpecs":{"Worker":{"template":T},"Master":{"template":T}}}`,
		[]string{"spec.pytorchReplicaSpecs.Master.template", "spec.pytorchReplicaSpecs.Worker.template"}},
	{"kubeflow.org/v1", "TFJob", `"spec":{"tfReplicaSpecs":{"PS":{"template":T}}}`, []string{"spec.tfReplicaSpecs.PS.template"}},
	{"kubeflow.org/v2beta1", "MPIJob", `"spec":{"mpiReplicaSpecs":{"Launcher":{"template":T}}}`,
		[]string{"spec.mpiReplicaSpecs.Launcher.template"}},
	{"kubeflow.org/v1", "MXJob", `"spec":{"mxReplicaSpecs":{"Server":{"template":T}}}`, []string{"spec.mxReplicaSpecs.Server.template"}},
	{"kubeflow.org/v1", "XGBoostJob", `"spec":{"xgbReplicaSpecs":{"Master":{"template":T}}}`,
		[]string{"spec.xgbReplicaSpecs.Master.template"}},
	{"kubeflow.org/v1", "PaddleJob", `"spec":{"paddleReplicaSpecs":{"a.b":{"template":T}}}`,
		[]string{`spec.paddleReplicaSpecs["a.b"].template`}},
	{"kubeflow.org/v1", "JAXJob", `"spec":{"jaxReplicaSpecs":{"Worker":{"template":T}}}`, []string{"spec.jaxReplicaSpecs.Worker.template"}},
	{"trainer.kubeflow.org/v1alpha1", "TrainingRuntime",
		`"spec":{"template":{"spec":{"replicatedJobs":[{"template":{"spec":{"template":T}}}]}}}`,
		[]string{"spec.template.spec.replicatedJobs[0].template.spec.template"}},
	{"trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime",
		`"spec":{"template":{"spec":{"replicatedJobs":[{"template":{"spec":{"template":T}}}]}}}`,
		[]string{"spec.template.spec.replicatedJobs[0].template.spec.template"}},
	{"kubeflow.org/v2alpha1", "TrainingRuntime",
		`"spec":{"template":{"spec":{"replicatedJobs":[{"template":{"spec":{"template":T}}}]}}}`,
		[]string{"spec.template.spec.replicatedJobs[0].template.spec.template"}},
	{"kubeflow.org/v2alpha1", "ClusterTrainingRuntime",
		`"spec":{"template":{"spec":{"replicatedJobs":[{"template":{"spec":{"template":T}}}]}}}`,
		[]string{"spec.template.spec.replicatedJobs[0].template.spec.template"}},

	{"ray.io/v1", "RayCluster", `"spec":{"workerGroupSpecs":[{"template":T},{"template":T}],"headGroupSpec":{"template":T}}`,
		[]string{"spec.headGroupSpec.template", "spec.workerGroupSpecs[0].template", "spec.workerGroupSpecs[1].template"}},
	{"ray.io/v1", "RayJob", `"spec":{"rayClusterSpec":{"headGroupSpec":{"template":T}},"submitterPodTemplate":T}`,
		[]string{"spec.rayClusterSpec.headGroupSpec.template", "spec.submitterPodTemplate"}},
	{"ray.io/v1", "RayCronJob", `"spec":{"jobTemplate":{"rayClusterSpec":{"workerGroupSpecs":[{"template":T}]},"submitterPodTemplate":T}}`,
		[]string{"spec.jobTemplate.rayClusterSpec.workerGroupSpecs[0].template", "spec.jobTemplate.submitterPodTemplate"}},
	{"ray.io/v1", "RayService", `"spec":{"rayClusterConfig":{"headGroupSpec":{"template":T}}}`,
		[]string{"spec.rayClusterConfig.headGroupSpec.template"}},

	{"kueue.x-k8s.io/v1beta1", "Workload", `"spec":{"podSets":[{"template":T}]}`, []string{"spec.podSets[0].template"}},
	{"batch.volcano.sh/v1alpha1", "Job", `"spec":{"tasks":[{"template":T}]}`, []string{"spec.tasks[0].template"}},
	{"batch.volcano.sh/v1alpha1", "CronJob", `"spec":{"jobTemplate":{"spec":{"tasks":[{"template":T}]}}}`,
		[]string{"spec.jobTemplate.spec.tasks[0].template"}},
	{"flow.volcano.sh/v1alpha1", "JobTemplate", `"spec":{"tasks":[{"template":T}]}`, []string{"spec.tasks[0].template"}},

	{"apps.kruise.io/v1alpha1", "CloneSet", `"spec":{"template":T}`, []string{"spec.template"}},
	{"apps.kruise.io/v1beta1", "StatefulSet", `"spec":{"template":T}`, []string{"spec.template"}},
	{"apps.kruise.io/v1alpha1", "DaemonSet", `"spec":{"template":T}`, []string{"spec.template"}},
	{"apps.kruise.io/v1alpha1", "BroadcastJob", `"spec":{"template":T}`, []string{"spec.template"}},
	{"apps.kruise.io/v1alpha1", "AdvancedCronJob",
		`"spec":{"template":{"jobTemplate":{"spec":{"template":T}},"broadcastJobTemplate":{"spec":{"template":T}}}}`,
		[]string{"spec.template.broadcastJobTemplate.spec.template", "spec.template.jobTemplate.spec.template"}},
	{"apps.kruise.io/v1alpha1", "UnitedDeployment", `"spec":{"template":{
		"statefulSetTemplate":{"spec":{"template":T}},"advancedStatefulSetTemplate":{"spec":{"template":T}},
		"cloneSetTemplate":{"spec":{"template":T}},"deploymentTemplate":{"spec":{"template":T}}}}`,
		[]string{
			"spec.template.advancedStatefulSetTemplate.spec.template", "spec.template.cloneSetTemplate.spec.template",
			"spec.template.deploymentTemplate.spec.template", "spec.template.statefulSetTemplate.spec.template",
		}},
}

func gvkOf(t testing.TB, apiVersion, kind string) schema.GroupVersionKind {
	t.Helper()
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		t.Fatal(err)
	}
	return gv.WithKind(kind)
}

func objectText(apiVersion, kind, body string) []byte {
	body = strings.NewReplacer(":T", ":"+templateText, ":S", ":"+specText).Replace(body)
	return []byte(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"n","namespace":"ns"},%s,"status":{"x":[1]}}`,
		apiVersion, kind, body))
}

// fieldPathsOf lists the paths of every privileged container.
func fieldPathsOf(o *Object) []string {
	var paths []string
	for i := range o.Pods {
		p := &o.Pods[i]
		for c := range p.Containers() {
			if c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged {
				paths = append(paths, p.ContainerPath(c, "securityContext.privileged"))
			}
		}
	}
	return paths
}

func TestEveryKindThatMakesPods(t *testing.T) {
	r := Default()
	seen := map[schema.GroupKind]bool{}
	for _, tt := range kinds {
		gvk := gvkOf(t, tt.apiVersion, tt.kind)
		seen[gvk.GroupKind()] = true
		t.Run(gvk.String(), func(t *testing.T) {
			if !r.Makes(gvk.GroupKind()) {
				t.Error("the registry does not know that it makes pods")
			}
			raw := objectText(tt.apiVersion, tt.kind, tt.body)
			var want []string
			for _, path := range tt.paths {
				want = append(want, strings.TrimPrefix(path+".spec.containers[1].securityContext.privileged", "."))
			}
			for _, known := range []schema.GroupVersionKind{gvk, {}} {
				o, err := r.Decode(known, raw)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, fieldPathsOf(o)); diff != "" {
					t.Error(diff)
				}
				if o.GVK != gvk || o.Meta.Name != "n" || &o.Raw[0] != &raw[0] {
					t.Errorf("kind %v, name %q", o.GVK, o.Meta.Name)
				}
			}
		})
	}
	for gk := range r.kinds {
		if !seen[gk] && !hasManifest(t, gk) {
			t.Errorf("%s is registered and not tested", gk)
		}
	}
}

// hasManifest reports whether TestShippedKinds has a manifest of the kind.
func hasManifest(t *testing.T, gk schema.GroupKind) bool {
	t.Helper()
	files, err := filepath.Glob("testdata/shipped/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^apiVersion: ` + regexp.QuoteMeta(gk.Group) + `/\w+\nkind: ` + gk.Kind + `$`)
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		return err == nil && named.Match(data)
	})
}

// A template of the wrong kind is refused, an absent one is not there.
func TestEveryKindFailsClosed(t *testing.T) {
	r := Default()
	for _, tt := range kinds {
		gvk := gvkOf(t, tt.apiVersion, tt.kind)
		for _, wrong := range []string{`"x"`, `1`, `true`, `[]`, `[{}]`} {
			body := strings.NewReplacer(":T", ":"+wrong, ":S", ":"+wrong).Replace(tt.body)
			_, err := r.Decode(gvk, objectText(tt.apiVersion, tt.kind, body))
			if err == nil {
				t.Errorf("%v: %s was taken for a pod", gvk, wrong)
			} else if place := strings.TrimPrefix(tt.paths[0], "data."); !strings.Contains(err.Error(), place) && len(tt.paths) == 1 {
				t.Errorf("%v: the error does not name %s: %v", gvk, place, err)
			}
		}
		body := strings.NewReplacer(":T", ":null", ":S", ":null").Replace(tt.body)
		o, err := r.Decode(gvk, objectText(tt.apiVersion, tt.kind, body))
		switch {
		case err != nil:
			t.Errorf("%v: %v", gvk, err)
		case tt.paths[0] == "" && len(o.Pods) != 1:
			t.Errorf("%v: %d pods in an object that is one", gvk, len(o.Pods))
		case tt.paths[0] != "" && len(o.Pods) != 0:
			t.Errorf("%v: null was taken for a pod", gvk)
		}
	}
}
