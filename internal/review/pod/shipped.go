package pod

import "slices"

// Project is what Sallyport knows by itself of the kinds of another project.
type Project struct {
	Name          string
	Registrations []Registration
}

// Shipped are registrations for kinds of other projects that make pods. Each path
// is a field of the kind's published API. What is not in them:
//
//   - Objects that refer to a template in another object (a Rollout with
//     workloadRef, a TrainJob): the other object is judged.
//   - Patches of pods as text (podSpecPatch of a Workflow), and what a controller
//     takes from elsewhere: the pods that come of it are judged.
func Shipped() []Registration {
	var all []Registration
	for _, project := range Projects() {
		all = append(all, project.Registrations...)
	}
	return all
}

// Projects are the shipped registrations by the project that they are of.
func Projects() []Project {
	return slices.Concat([]Project{
		{"Argo Rollouts", rollouts()},
		{"Knative Serving", knative()},
		{"KEDA", []Registration{of("keda.sh", "ScaledJob", "spec.jobTargetRef.template")}},
		{"JobSet, LeaderWorkerSet", sets()},
		{"Kubeflow Trainer", training()},
		{"KubeRay", ray()},
		{"Kueue", []Registration{of("kueue.x-k8s.io", "Workload", "spec.podSets[*].template")}},
		{"Volcano", volcano()},
		{"OpenKruise", kruise()},
	}, pipelines(), workloads(), databases(), observability())
}

// of registers one kind.
func of(group, kind string, paths ...string) Registration {
	return Registration{Group: group, Kind: kind, Paths: paths}
}

// added registers one kind whose controller adds to what stands in its templates.
func added(group, kind string, paths ...string) Registration {
	reg := of(group, kind, paths...)
	reg.Completed = true
	return reg
}

// served names the resource of a kind whose plural is not the usual one.
func served(reg Registration, resource string) Registration {
	reg.Resource = resource
	return reg
}

// inParts registers a place at which parts of a pod stand.
func inParts(group, kind, place string, parts ...Part) Registration {
	reg := of(group, kind, place)
	reg.Parts = parts
	return reg
}

// addedInParts is inParts for what is completed by the controller.
func addedInParts(group, kind, place string, parts ...Part) Registration {
	reg := inParts(group, kind, place, parts...)
	reg.Completed = true
	return reg
}

// fields are parts that are called as in a pod spec.
func fields(names ...string) []Part {
	var parts []Part
	for _, name := range names {
		parts = append(parts, Part{From: name, To: "spec." + name})
	}
	return parts
}

// usual are the fields of a pod that many kinds have by their own names.
func usual() []Part {
	return fields("containers", "initContainers", "volumes", "securityContext", "hostNetwork", "serviceAccountName")
}

// rollouts of Argo. The metrics of an analysis can be jobs.
func rollouts() []Registration {
	const group, job = "argoproj.io", "spec.metrics[*].provider.job.spec.template"
	return []Registration{
		of(group, "Rollout", "spec.template"),
		of(group, "Experiment", "spec.templates[*].template"),
		of(group, "AnalysisTemplate", job),
		of(group, "ClusterAnalysisTemplate", job),
		of(group, "AnalysisRun", job),
	}
}

// knative is Knative's, whose Revision is a template in itself.
func knative() []Registration {
	return []Registration{
		of("serving.knative.dev", "Service", "spec.template"),
		of("serving.knative.dev", "Configuration", "spec.template"),
		of("serving.knative.dev", "Revision", "."),
	}
}

// sets of jobs and of groups of pods, from the SIGs of Kubernetes.
func sets() []Registration {
	return []Registration{
		of("jobset.x-k8s.io", "JobSet", "spec.replicatedJobs[*].template.spec.template"),
		of("leaderworkerset.x-k8s.io", "LeaderWorkerSet",
			"spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"),
		of("disaggregatedset.x-k8s.io", "DisaggregatedSet",
			"spec.roles[*].spec.leaderWorkerTemplate.leaderTemplate",
			"spec.roles[*].spec.leaderWorkerTemplate.workerTemplate"),
	}
}

// training jobs of Kubeflow, and the runtimes that its later API makes jobs of.
func training() []Registration {
	regs := []Registration{
		of("kubeflow.org", "PyTorchJob", "spec.pytorchReplicaSpecs.*.template"),
		of("kubeflow.org", "TFJob", "spec.tfReplicaSpecs.*.template"),
		of("kubeflow.org", "MPIJob", "spec.mpiReplicaSpecs.*.template"),
		of("kubeflow.org", "MXJob", "spec.mxReplicaSpecs.*.template"),
		of("kubeflow.org", "XGBoostJob", "spec.xgbReplicaSpecs.*.template"),
		of("kubeflow.org", "PaddleJob", "spec.paddleReplicaSpecs.*.template"),
		of("kubeflow.org", "JAXJob", "spec.jaxReplicaSpecs.*.template"),
	}
	for _, group := range []string{"trainer.kubeflow.org", "kubeflow.org"} {
		for _, kind := range []string{"TrainingRuntime", "ClusterTrainingRuntime"} {
			regs = append(regs, of(group, kind, "spec.template.spec.replicatedJobs[*].template.spec.template"))
		}
	}
	return regs
}

func ray() []Registration {
	cluster := func(at string) []string {
		return []string{at + ".headGroupSpec.template", at + ".workerGroupSpecs[*].template"}
	}
	job := func(at string) []string {
		return append(cluster(at+".rayClusterSpec"), at+".submitterPodTemplate")
	}
	return []Registration{
		of("ray.io", "RayCluster", cluster("spec")...),
		of("ray.io", "RayJob", job("spec")...),
		of("ray.io", "RayCronJob", job("spec.jobTemplate")...),
		of("ray.io", "RayService", cluster("spec.rayClusterConfig")...),
	}
}

func volcano() []Registration {
	return []Registration{
		of("batch.volcano.sh", "Job", "spec.tasks[*].template"),
		of("batch.volcano.sh", "CronJob", "spec.jobTemplate.spec.tasks[*].template"),
		of("flow.volcano.sh", "JobTemplate", "spec.tasks[*].template"),
	}
}

func kruise() []Registration {
	const group = "apps.kruise.io"
	return []Registration{
		of(group, "CloneSet", "spec.template"),
		of(group, "StatefulSet", "spec.template"),
		of(group, "DaemonSet", "spec.template"),
		of(group, "BroadcastJob", "spec.template"),
		of(group, "AdvancedCronJob",
			"spec.template.jobTemplate.spec.template", "spec.template.broadcastJobTemplate.spec.template"),
		of(group, "UnitedDeployment",
			"spec.template.statefulSetTemplate.spec.template",
			"spec.template.advancedStatefulSetTemplate.spec.template",
			"spec.template.cloneSetTemplate.spec.template",
			"spec.template.deploymentTemplate.spec.template"),
	}
}
