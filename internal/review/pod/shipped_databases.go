package pod

import "slices"

// databases are projects of databases, queues and stores. Their controllers make most
// of each pod.
func databases() []Project {
	return []Project{
		{"CloudNativePG", []Registration{added("postgresql.cnpg.io", "Pooler", "spec.template")}},
		{"Crunchy PGO", []Registration{addedInParts("postgres-operator.crunchydata.com", "PostgresCluster", "spec.instances[*]",
			Part{"containers", "spec.containers"}, Part{"metadata", "metadata"})}},
		{"Zalando Postgres operator", []Registration{addedInParts("acid.zalan.do", "postgresql", "spec",
			Part{"sidecars", "spec.containers"}, Part{"initContainers", "spec.initContainers"}, Part{"podAnnotations", "metadata.annotations"})}},
		{"Percona operators", percona()},
		{"K8ssandra", []Registration{added("cassandra.datastax.com", "CassandraDatacenter", "spec.podTemplateSpec")}},
		{"MongoDB community operator", []Registration{served(added("mongodbcommunity.mongodb.com", "MongoDBCommunity", "spec.statefulSet.spec.template"), "mongodbcommunity")}},
		{"RabbitMQ cluster operator", []Registration{added("rabbitmq.com", "RabbitmqCluster", "spec.override.statefulSet.spec.template")}},
		{"ClickHouse operator", []Registration{
			added("clickhouse.altinity.com", "ClickHouseInstallation", "spec.templates.podTemplates[*]"),
			added("clickhouse.altinity.com", "ClickHouseInstallationTemplate", "spec.templates.podTemplates[*]"),
			added("clickhouse-keeper.altinity.com", "ClickHouseKeeperInstallation", "spec.templates.podTemplates[*]"),
		}},
		{"TiDB operator", tidb()},
		{"Redis operator (Spotahome)", redis()},
		{"Apache Solr operator", solr()},
	}
}

func percona() []Registration {
	parts := []Part{
		{"sidecars", "spec.containers"}, {"sidecarVolumes", "spec.volumes"}, {"podSecurityContext", "spec.securityContext"},
		{"containerSecurityContext", "container.securityContext"}, {"image", "container.image"}, {"serviceAccountName", "spec.serviceAccountName"},
		{"labels", "metadata.labels"}, {"annotations", "metadata.annotations"},
	}
	mysql := addedInParts("pxc.percona.com", "PerconaXtraDBCluster", "spec.pxc", parts...)
	mysql.Paths = append(mysql.Paths, "spec.haproxy", "spec.proxysql")
	mongo := addedInParts("psmdb.percona.com", "PerconaServerMongoDB", "spec.replsets[*]", parts...)
	mongo.Paths = append(mongo.Paths, "spec.sharding.configsvrReplSet", "spec.sharding.mongos")
	return []Registration{mysql, mongo}
}

func tidb() []Registration {
	reg := addedInParts("pingcap.com", "TidbCluster", "spec.tidb", append(fields("initContainers", "hostNetwork", "nodeSelector", "tolerations"),
		Part{"additionalContainers", "spec.containers"}, Part{"additionalVolumes", "spec.volumes"}, Part{"podSecurityContext", "spec.securityContext"},
		Part{"labels", "metadata.labels"}, Part{"annotations", "metadata.annotations"})...)
	reg.Paths = append(reg.Paths, "spec.tikv", "spec.pd", "spec.tiflash", "spec.ticdc", "spec.pump")
	return []Registration{reg}
}

func redis() []Registration {
	reg := addedInParts("databases.spotahome.com", "RedisFailover", "spec.redis", slices.Concat(
		fields("initContainers", "securityContext", "hostNetwork", "serviceAccountName"),
		[]Part{{"extraContainers", "spec.containers"}, {"extraVolumes", "spec.volumes"}, {"podAnnotations", "metadata.annotations"}},
		[]Part{{"containerSecurityContext", "container.securityContext"}, {"image", "container.image"}},
	)...)
	reg.Paths = append(reg.Paths, "spec.sentinel")
	return []Registration{reg}
}

func solr() []Registration {
	parts := []Part{
		{"sidecarContainers", "spec.containers"}, {"initContainers", "spec.initContainers"}, {"podSecurityContext", "spec.securityContext"},
		{"containerSecurityContext", "container.securityContext"}, {"serviceAccountName", "spec.serviceAccountName"},
		{"labels", "metadata.labels"}, {"annotations", "metadata.annotations"},
	}
	return []Registration{
		addedInParts("solr.apache.org", "SolrCloud", "spec.customSolrKubeOptions.podOptions", parts...),
		addedInParts("solr.apache.org", "SolrPrometheusExporter", "spec.customKubeOptions.podOptions", parts...),
	}
}
