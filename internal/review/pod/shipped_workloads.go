package pod

import "slices"

// workloads are projects whose objects run on: servers of applications and of models,
// games, notebooks and platforms.
func workloads() []Project {
	return []Project{
		{"OpenShift", []Registration{of("apps.openshift.io", "DeploymentConfig", "spec.template")}},
		{"Strimzi", strimzi()},
		{"KServe", kserve()},
		{"Seldon Core", []Registration{added("machinelearning.seldon.io", "SeldonDeployment", "spec.predictors[*].componentSpecs[*]")}},
		{"Kubeflow Notebooks", []Registration{added("kubeflow.org", "Notebook", "spec.template")}},
		{"Grove", grove()},
		{"Agent Sandbox", []Registration{
			of("agents.x-k8s.io", "Sandbox", "spec.podTemplate"),
			of("extensions.agents.x-k8s.io", "SandboxTemplate", "spec.podTemplate"),
		}},
		{"Agones", []Registration{
			added("agones.dev", "GameServer", "spec.template"),
			added("agones.dev", "GameServerSet", "spec.template.spec.template"),
			added("agones.dev", "Fleet", "spec.template.spec.template"),
		}},
		{"OpenKruiseGame", []Registration{of("game.kruise.io", "GameServerSet", "spec.gameServerTemplate")}},
		{"Apache Camel K", []Registration{added("camel.apache.org", "Integration", "spec.template")}},
		{"Crossplane", []Registration{added("pkg.crossplane.io", "DeploymentRuntimeConfig", "spec.deploymentTemplate.spec.template")}},
		{"Keycloak", []Registration{added("k8s.keycloak.org", "Keycloak", "spec.unsupported.podTemplate")}},
		{"Argo CD operator", argoCD()},
	}
}

// strimzi writes whole pods into sets. What its other kinds say of pods is a part.
func strimzi() []Registration {
	const group = "kafka.strimzi.io"
	of := func(kind, place, container string) Registration {
		return addedInParts(group, kind, place,
			Part{"template.pod.metadata", "metadata"}, Part{"template.pod.securityContext", "spec.securityContext"}, Part{"template.pod.volumes", "spec.volumes"},
			Part{"template." + container + ".securityContext", "container.securityContext"}, Part{"template." + container + ".volumeMounts", "container.volumeMounts"},
			Part{"image", "container.image"})
	}
	return []Registration{
		{Group: "core.strimzi.io", Kind: "StrimziPodSet", Paths: []string{"spec.pods[*]"}},
		of("Kafka", "spec.kafka", "kafkaContainer"),
		of("KafkaNodePool", "spec", "kafkaContainer"),
		of("KafkaConnect", "spec", "connectContainer"),
		of("KafkaBridge", "spec", "bridgeContainer"),
		of("KafkaMirrorMaker2", "spec", "connectContainer"),
	}
}

// kserve has the fields of a pod spec beside others of its own, and a model that is
// served by a container.
func kserve() []Registration {
	const group = "serving.kserve.io"
	pod := fields("containers", "initContainers", "volumes", "securityContext", "hostNetwork", "hostPID", "hostIPC", "serviceAccountName")
	service := addedInParts(group, "InferenceService", "spec.predictor", slices.Concat(pod,
		[]Part{{"model", "spec.containers"}, {"labels", "metadata.labels"}, {"annotations", "metadata.annotations"}})...)
	service.Paths = append(service.Paths, "spec.transformer", "spec.explainer", "spec.predictor.workerSpec")
	runtime := slices.Concat(pod, []Part{{"labels", "metadata.labels"}, {"annotations", "metadata.annotations"}})
	return []Registration{
		service,
		addedInParts(group, "ServingRuntime", "spec", runtime...),
		addedInParts(group, "ClusterServingRuntime", "spec", runtime...),
	}
}

func grove() []Registration {
	specs := func(kind, path string) Registration {
		reg := of("grove.io", kind, path)
		reg.PodSpecOnly = true
		return reg
	}
	return []Registration{specs("PodCliqueSet", "spec.template.cliques[*].spec.podSpec"), specs("PodClique", "spec.podSpec")}
}

func argoCD() []Registration {
	parts := []Part{{"sidecarContainers", "spec.containers"}, {"initContainers", "spec.initContainers"}, {"volumes", "spec.volumes"}}
	reg := addedInParts("argoproj.io", "ArgoCD", "spec.repo", parts...)
	reg.Paths = append(reg.Paths, "spec.server", "spec.controller")
	return []Registration{reg}
}
