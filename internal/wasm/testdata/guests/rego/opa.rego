# A policy of the mode opa, for tests. It does what its sisters in Go and
# AssemblyScript do, as far as Rego can.
package policy

main := {
	"apiVersion": "admission.k8s.io/v1",
	"kind": "AdmissionReview",
	"response": response,
}

response := {"allowed": false, "status": {"message": concat(", ", denied)}} if {
	count(denied) > 0
} else := {
	"allowed": true,
	"patchType": "JSONPatch",
	"patch": base64.encode(json.marshal([{"op": "add", "path": "/metadata/labels", "value": {data.label: "set"}}])),
} if {
	data.label
} else := {"allowed": true, "status": {"message": shown}} if {
	shown
} else := {"allowed": true}

denied contains "host network is not allowed" if {
	input.request.object.spec.hostNetwork
	print("a pod on the host's network")
}

denied contains sprintf("no context: namespace %s is not known", [data.namespace]) if {
	not data.kubernetes.namespaces[data.namespace]
	data.namespace
}

shown := sprintf("namespace %s has the team %s", [data.namespace, data.kubernetes.namespaces[data.namespace].metadata.labels.team])
