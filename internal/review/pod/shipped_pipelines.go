package pod

import "slices"

// pipelines are projects whose objects are run once: workflows, builds and batches.
func pipelines() []Project {
	return []Project{
		{"Argo Workflows", workflows()},
		{"Argo Events", events()},
		{"Tekton", tekton()},
		{"Shipwright", shipwright()},
		{"Spark operator", spark()},
		{"Apache Spark operator", []Registration{
			added("spark.apache.org", "SparkApplication", "spec.driverSpec.podTemplateSpec", "spec.executorSpec.podTemplateSpec"),
			added("spark.apache.org", "SparkCluster", "spec.masterSpec.statefulSetSpec.template", "spec.workerSpec.statefulSetSpec.template"),
		}},
		{"Apache Flink operator", []Registration{
			added("flink.apache.org", "FlinkDeployment", "spec.podTemplate", "spec.jobManager.podTemplate", "spec.taskManager.podTemplate"),
		}},
		{"Dask", dask()},
		{"k6", k6()},
		{"GitHub Actions runners", runners()},
		{"Jenkins", []Registration{addedInParts("jenkins.io", "Jenkins", "spec.master", fields("containers", "volumes", "securityContext", "hostAliases")...)}},
	}
}

// workflows of Argo. A template of theirs holds one container, a script, or a set of
// containers, with others beside it. What it does not say is said for all templates.
func workflows() []Registration {
	const group = "argoproj.io"
	of := func(kind, spec string) []Registration {
		parts := []Part{
			{"container", "spec.containers"}, {"script", "spec.containers"}, {"containerSet.containers", "spec.containers"},
			{"sidecars", "spec.containers"}, {"initContainers", "spec.initContainers"},
			{"metadata", "metadata"}, {"$." + spec + ".podMetadata", "metadata"},
			{"volumes", "spec.volumes"}, {"$." + spec + ".volumes", "spec.volumes"},
			{"$." + spec + ".hostNetwork", "spec.hostNetwork"},
		}
		for _, field := range []string{"securityContext", "serviceAccountName", "automountServiceAccountToken", "hostAliases", "nodeSelector", "tolerations"} {
			for _, from := range []string{field, "$." + spec + ".templateDefaults." + field, "$." + spec + "." + field} {
				parts = append(parts, Part{from, "spec." + field})
			}
		}
		templates := inParts(group, kind, spec+".templates[*]", parts...)
		templates.Paths = append(templates.Paths, spec+".templates[*].steps[*][*].inline", spec+".templates[*].dag.tasks[*].inline")
		return []Registration{templates, addedInParts(group, kind, spec+".templateDefaults", parts...)}
	}
	return slices.Concat(of("Workflow", "spec"), of("WorkflowTemplate", "spec"), of("ClusterWorkflowTemplate", "spec"), of("CronWorkflow", "spec.workflowSpec"))
}

func events() []Registration {
	parts := append(fields("securityContext", "volumes", "serviceAccountName", "nodeSelector", "tolerations"),
		Part{"container", "spec.containers"}, Part{"metadata", "metadata"})
	return []Registration{
		addedInParts("argoproj.io", "EventSource", "spec.template", parts...),
		addedInParts("argoproj.io", "Sensor", "spec.template", parts...),
	}
}

// tekton makes a pod of the steps of a task, each of which takes what it does not say
// from the task's stepTemplate. A run adds fields of a pod to it.
func tekton() []Registration {
	const group = "tekton.dev"
	task := func(at string) []Part {
		return []Part{
			{at + "steps", "spec.containers"}, {at + "sidecars", "spec.containers"}, {at + "stepTemplate", "spec.containers"}, {at + "volumes", "spec.volumes"},
		}
	}
	run := []Part{{"podTemplate", "spec"}, {"serviceAccountName", "spec.serviceAccountName"}}
	tasks := func(kind, spec string) Registration {
		reg := addedInParts(group, kind, spec+".tasks[*].taskSpec", task("")...)
		reg.Paths = append(reg.Paths, spec+".finally[*].taskSpec")
		return reg
	}
	return []Registration{
		addedInParts(group, "Task", "spec", task("")...),
		addedInParts(group, "ClusterTask", "spec", task("")...),
		addedInParts(group, "StepAction", "spec", Part{"image", "container.image"}, Part{"securityContext", "container.securityContext"}, Part{"volumeMounts", "container.volumeMounts"}),
		addedInParts(group, "TaskRun", "spec", slices.Concat(task("taskSpec."), run)...),
		tasks("Pipeline", "spec"),
		tasks("PipelineRun", "spec.pipelineSpec"),
		addedInParts(group, "PipelineRun", "spec", run...),
		addedInParts(group, "PipelineRun", "spec.taskRunTemplate", run...),
		addedInParts(group, "PipelineRun", "spec.taskRunSpecs[*]", append(run, Part{"taskPodTemplate", "spec"}, Part{"taskServiceAccountName", "spec.serviceAccountName"})...),
		added("triggers.tekton.dev", "EventListener", "spec.resources.kubernetesResource.spec.template"),
	}
}

func shipwright() []Registration {
	parts := []Part{{"steps", "spec.containers"}, {"buildSteps", "spec.containers"}, {"securityContext", "spec.securityContext"}, {"volumes", "spec.volumes"}}
	const group = "shipwright.io"
	return []Registration{
		served(addedInParts(group, "BuildStrategy", "spec", parts...), "buildstrategies"),
		served(addedInParts(group, "ClusterBuildStrategy", "spec", parts...), "clusterbuildstrategies"),
	}
}

// spark of the operator that Kubeflow took over.
func spark() []Registration {
	const group = "sparkoperator.k8s.io"
	of := func(kind, spec string) Registration {
		reg := addedInParts(group, kind, spec+".driver", slices.Concat(
			[]Part{{"sidecars", "spec.containers"}, {"podSecurityContext", "spec.securityContext"}, {"serviceAccount", "spec.serviceAccountName"}},
			[]Part{{"labels", "metadata.labels"}, {"annotations", "metadata.annotations"}, {"template.metadata", "metadata"}, {"template.spec", "spec"}},
			[]Part{{"image", "container.image"}, {"$." + spec + ".image", "container.image"}},
			[]Part{{"securityContext", "container.securityContext"}, {"volumeMounts", "container.volumeMounts"}, {"lifecycle", "container.lifecycle"}},
			fields("initContainers", "hostNetwork", "shareProcessNamespace", "hostAliases"),
			[]Part{{"$." + spec + ".volumes", "spec.volumes"}},
		)...)
		reg.Paths = append(reg.Paths, spec+".executor")
		return reg
	}
	return []Registration{of("SparkApplication", "spec"), of("ScheduledSparkApplication", "spec.template"),
		added(group, "SparkConnect", "spec.server.template", "spec.executor.template")}
}

func dask() []Registration {
	const group = "kubernetes.dask.org"
	specs := func(kind string, paths ...string) Registration {
		reg := of(group, kind, paths...)
		reg.PodSpecOnly = true
		return reg
	}
	return []Registration{
		specs("DaskCluster", "spec.worker.spec", "spec.scheduler.spec"),
		specs("DaskWorkerGroup", "spec.worker.spec"),
		specs("DaskJob", "spec.job.spec", "spec.cluster.spec.worker.spec", "spec.cluster.spec.scheduler.spec"),
	}
}

func k6() []Registration {
	reg := addedInParts("k6.io", "TestRun", "spec.runner", slices.Concat(
		fields("initContainers", "volumes", "securityContext", "serviceAccountName"),
		[]Part{{"metadata", "metadata"}, {"image", "container.image"}, {"containerSecurityContext", "container.securityContext"}, {"volumeMounts", "container.volumeMounts"}},
	)...)
	reg.Paths = append(reg.Paths, "spec.starter", "spec.initializer")
	return []Registration{reg}
}

func runners() []Registration {
	const now, before = "actions.github.com", "actions.summerwind.dev"
	runner := func(kind, place string) Registration {
		return addedInParts(before, kind, place, append(fields("containers", "initContainers", "volumes", "securityContext", "serviceAccountName"),
			Part{"sidecarContainers", "spec.containers"}, Part{"image", "container.image"})...)
	}
	return []Registration{
		added(now, "AutoscalingRunnerSet", "spec.template", "spec.listenerTemplate"),
		added(now, "EphemeralRunnerSet", "spec.ephemeralRunnerSpec"),
		added(now, "EphemeralRunner", "spec"),
		runner("Runner", "spec"),
		runner("RunnerDeployment", "spec.template.spec"),
		runner("RunnerReplicaSet", "spec.template.spec"),
		added(before, "RunnerSet", "spec.template"),
	}
}
