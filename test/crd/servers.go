package crd

import "slices"

const secrets = "a server gets no Secrets of the namespace that Sallyport runs in"

var ofServers = slices.Concat(
	framed("PolicyServer", "{apiVersion: sallyport.io/v1alpha1, kind: PolicyServer, metadata: {name: HERE}, spec: {image: a}}",
		row{"a name with a dot", "a.b", "a-b", "the name has to be part of the name of a Service"},
		row{"a long name", "a2345678901234567890123456789012345678901", "a234567890123456789012345678901234567890", "the name has to be part of the name of a Service"},
	),
	pairs("PolicyServer", "{HERE}",
		row{"no image", "image: ''", "image: a", "spec.image"},
		row{"an image with a space", "image: a b", "image: registry.example.com/sallyport:v1", "is not an image"},
		row{"an image with a scheme", "image: 'https://example.com/a'", "image: example.com/a", "is not an image"},
		row{"an image that looks like a flag", "image: -a", "image: a", "is not an image"},
		row{"too many replicas", "image: a, replicas: 101", "image: a, replicas: 100", "spec.replicas"},
		row{"an account in capitals", "image: a, serviceAccountName: A", "image: a, serviceAccountName: a.b", "is not the name of a service account"},
	),
	pairs("PolicyServer", "{image: a, env: [HERE]}",
		row{"a variable without a name", "{name: ''}", "{name: A}", "give the variable a name"},
		row{"a variable twice", "{name: A}, {name: A}", "{name: A}, {name: B}", "spec.env[1]"},
		row{"a value and where it comes from", "{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", "{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", "valueFrom stands beside value"},
		row{"a value out of a Secret", "{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}", "{name: A, valueFrom: {configMapKeyRef: {name: a, key: b}}}", secrets},
		row{"a value out of a Secret beside another", "{name: A, valueFrom: {secretKeyRef: {name: a, key: b}, fieldRef: {fieldPath: metadata.name}}}", "{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", secrets},
		row{"a value from nowhere", "{name: A, valueFrom: {}}", "{name: A}", "valueFrom has to name one of fieldRef"},
		row{"a value from two places", "{name: A, valueFrom: {configMapKeyRef: {name: a, key: b}, fieldRef: {fieldPath: metadata.name}}}", "{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", "valueFrom has to name one of fieldRef"},
		row{"a value out of a file", "{name: A, valueFrom: {fileKeyRef: {volumeName: a, path: b, key: c}}}", "{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}", "valueFrom has to name one of fieldRef"},
		row{"a ConfigMap without a name", "{name: A, valueFrom: {configMapKeyRef: {key: b}}}", "{name: A, valueFrom: {configMapKeyRef: {name: a, key: b}}}", "valueFrom.configMapKeyRef needs a name and a key"},
		row{"no field", "{name: A, valueFrom: {fieldRef: {fieldPath: ''}}}", "{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", "valueFrom.fieldRef needs a field"},
		row{"a resource that a container has not", "{name: A, valueFrom: {resourceFieldRef: {resource: limits.disk}}}", "{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory}}}", "is not one of a container's resources"},
	),
)

const (
	moduleOfAll   = "{module: 'registry://example.com/a:v1', rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}], HERE}"
	oneGrant      = "{module: 'registry://example.com/a:v1', rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}], contextAware: [{HERE}]}"
	moduleAddress = "{module: HERE, rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}"
	moduleRule    = "{module: 'registry://example.com/a:v1', rules: [{HERE}]}"
	selectors     = "operators are In and NotIn, which need values"
)

var ofModules = slices.Concat(
	pairs("ClusterAdmissionPolicy", moduleAddress,
		row{"no module", "''", "'example.com/a:v1'", "spec.module"},
		row{"a scheme that is not known", "'oci://example.com/a:v1'", "'registry://example.com/a:v1'", "has a scheme that is not known"},
		row{"an address with a space", "'https://example.com/a b'", "'https://example.com/a'", "is not an address"},
		row{"a scheme and no address", "'https://'", "'https://example.com/a.wasm'", "is not an address"},
		row{"a path that is not whole", "'file://a.wasm'", "'file:///a.wasm'", "is not the whole path of a file"},
		row{"a ConfigMap without a key", "'configmap://a/b'", "'configmap://a/b/c'", "names no key of a ConfigMap"},
	),
	pairs("AdmissionPolicy", moduleAddress,
		row{"a file of the server", "'file:///a.wasm'", "'https://example.com/a.wasm'", "the module is a file of the server"},
	),
	pairs("AdmissionPolicy", moduleRule,
		row{"a scope beyond the namespace", "apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE], scope: Cluster", "apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE], scope: Namespaced", "an AdmissionPolicy is about what is in its namespace"},
	),
	pairs("ClusterAdmissionPolicy", moduleRule,
		row{"no groups", "apiGroups: [], apiVersions: [v1], resources: [pods], operations: [CREATE]", "apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]", "each name one or more"},
		row{"no operations", "apiGroups: [''], apiVersions: [v1], resources: [pods]", "apiGroups: [''], apiVersions: [v1], resources: [pods], operations: ['*']", "each name one or more"},
		row{"a scope that there is not", "apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE], scope: cluster", "apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: [CREATE], scope: Cluster", "scope is *, Cluster or Namespaced"},
	),
	pairs("ClusterAdmissionPolicy", "{module: 'registry://example.com/a:v1', rules: HERE, objectSelector: {matchLabels: {a: b}}}",
		row{"labels of what has none", "[{apiGroups: [''], apiVersions: [v1], resources: [pods/exec], operations: [CONNECT]}]", "[{apiGroups: [''], apiVersions: [v1], resources: [pods/exec], operations: [CONNECT]}, {apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]", "objectSelector selects nothing"},
	),
	pairs("ClusterAdmissionPolicy", moduleOfAll,
		row{"a mode that there is not", "mode: audit", "mode: monitor", "spec.mode"},
		row{"no time", "timeoutSeconds: 0", "timeoutSeconds: 1", "spec.timeoutSeconds"},
		row{"a server that no Service is called after", "policyServer: A", "policyServer: a", "cannot be part of the name of a Service"},
		row{"a server of a long name", "policyServer: a2345678901234567890123456789012345678901", "policyServer: a234567890123456789012345678901234567890", "cannot be part of the name of a Service"},
		row{"settings that are a list", "settings: [a]", "settings: {a: [b]}", "spec.settings"},
		row{"an operator that there is not", "objectSelector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}", "objectSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}", selectors},
		row{"In without values", "objectSelector: {matchExpressions: [{key: a, operator: In}]}", "objectSelector: {matchExpressions: [{key: a, operator: Exists}]}", selectors},
		row{"Exists with values", "namespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}", "namespaceSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}", selectors},
		row{"a condition without a name", "matchConditions: [{name: '', expression: 'true'}]", "matchConditions: [{name: a, expression: 'true'}]", "give the condition a name"},
		row{"a condition of nothing", "matchConditions: [{name: a, expression: ''}]", "matchConditions: [{name: a, expression: 'true'}]", "an expression belongs here"},
		row{"a condition twice", "matchConditions: [{name: a, expression: 'true'}, {name: a, expression: 'true'}]", "matchConditions: [{name: a, expression: 'true'}, {name: b, expression: 'true'}]", "spec.matchConditions[1]"},
		row{"a capability twice", "capabilities: [net, net]", "capabilities: [net, oci]", "spec.capabilities[1]"},
		row{"a capability that there is not", "capabilities: [dns]", "capabilities: [net, crypto, oci, can_i]", "spec.capabilities[0]"},
	),
	pairs("ClusterAdmissionPolicy", oneGrant,
		row{"neither a resource nor a kind", "version: v1", "version: v1, resource: pods", "give group, version and resource; or apiVersion and kind"},
		row{"a resource and a kind", "apiVersion: v1, kind: Pod, resource: pods", "apiVersion: v1, kind: Pod, resource: ''", "give group, version and resource; or apiVersion and kind"},
		row{"a kind with a version", "version: v1, kind: Pod", "apiVersion: v1, kind: Pod", "beside kind, apiVersion says group and version"},
		row{"a kind with a group", "apiVersion: apps/v1, group: apps, kind: Deployment", "apiVersion: apps/v1, kind: Deployment", "beside kind, apiVersion says group and version"},
		row{"a resource without a version", "resource: pods", "resource: pods, version: v1", "beside resource, give group and version"},
		row{"a resource with an apiVersion", "resource: pods, apiVersion: v1, version: v1", "resource: pods, version: v1, group: ''", "beside resource, give group and version"},
		row{"a subresource", "resource: pods/log, version: v1", "resource: pods, version: v1", "spec.contextAware[0].resource"},
		row{"a resource in capitals", "resource: Pods, version: v1", "resource: pods, version: v1", "spec.contextAware[0].resource"},
		row{"every group", "resource: pods, version: v1, group: '*'", "resource: pods, version: v1, group: metrics.k8s.io", "spec.contextAware[0].group"},
		row{"no namespaces", "resource: pods, version: v1, namespaces: []", "resource: pods, version: v1", "spec.contextAware[0].namespaces"},
		row{"a pattern of namespaces", "resource: pods, version: v1, namespaces: ['a*']", "resource: pods, version: v1, namespaces: [a]", "spec.contextAware[0].namespaces[0]"},
		row{"an empty name", "resource: pods, version: v1, names: ['']", "resource: pods, version: v1, names: [a]", "spec.contextAware[0].names[0]"},
	),
)
