package pod

import "slices"

// observability are projects of metrics, logs and traces.
func observability() []Project {
	return []Project{
		{"Prometheus operator", prometheus()},
		{"VictoriaMetrics operator", victoria()},
		{"OpenTelemetry operator", openTelemetry()},
		{"Elastic Cloud on Kubernetes", elastic()},
		{"Grafana operator", []Registration{added("grafana.integreatly.org", "Grafana", "spec.deployment.spec.template")}},
	}
}

// prometheus has containers that are merged into those of its operator.
func prometheus() []Registration {
	parts := append(usual(), Part{"podMetadata", "metadata"})
	const group = "monitoring.coreos.com"
	return []Registration{
		served(addedInParts(group, "Prometheus", "spec", parts...), "prometheuses"),
		addedInParts(group, "PrometheusAgent", "spec", parts...),
		addedInParts(group, "Alertmanager", "spec", parts...),
		addedInParts(group, "ThanosRuler", "spec", parts...),
	}
}

func victoria() []Registration {
	parts := append(usual(), Part{"podMetadata", "metadata"})
	const group = "operator.victoriametrics.com"
	var regs []Registration
	for _, kind := range []string{"VMAgent", "VMAlert", "VMAlertmanager", "VMAuth", "VMSingle"} {
		regs = append(regs, addedInParts(group, kind, "spec", parts...))
	}
	cluster := addedInParts(group, "VMCluster", "spec.vmstorage", parts...)
	cluster.Paths = append(cluster.Paths, "spec.vmselect", "spec.vminsert")
	return append(regs, cluster)
}

func openTelemetry() []Registration {
	return []Registration{addedInParts("opentelemetry.io", "OpenTelemetryCollector", "spec", slices.Concat(
		fields("initContainers", "volumes", "hostNetwork", "shareProcessNamespace"),
		[]Part{{"additionalContainers", "spec.containers"}, {"podSecurityContext", "spec.securityContext"}, {"serviceAccount", "spec.serviceAccountName"}},
		[]Part{{"securityContext", "container.securityContext"}, {"image", "container.image"}, {"volumeMounts", "container.volumeMounts"}},
		[]Part{{"podAnnotations", "metadata.annotations"}},
	)...)}
}

func elastic() []Registration {
	return []Registration{
		served(added("elasticsearch.k8s.elastic.co", "Elasticsearch", "spec.nodeSets[*].podTemplate"), "elasticsearches"),
		added("kibana.k8s.elastic.co", "Kibana", "spec.podTemplate"),
		added("apm.k8s.elastic.co", "ApmServer", "spec.podTemplate"),
		served(added("enterprisesearch.k8s.elastic.co", "EnterpriseSearch", "spec.podTemplate"), "enterprisesearches"),
		added("maps.k8s.elastic.co", "ElasticMapsServer", "spec.podTemplate"),
		served(added("logstash.k8s.elastic.co", "Logstash", "spec.podTemplate"), "logstashes"),
		added("beat.k8s.elastic.co", "Beat", "spec.deployment.podTemplate", "spec.daemonSet.podTemplate"),
		added("agent.k8s.elastic.co", "Agent", "spec.deployment.podTemplate", "spec.daemonSet.podTemplate", "spec.statefulSet.podTemplate"),
	}
}
