# A policy of the mode gatekeeper, for tests. A policy of that mode cannot change
# an object.
package policy

violation contains {"msg": "host network is not allowed"} if {
	input.review.object.spec.hostNetwork
	print("a pod on the host's network")
}

violation contains {"msg": sprintf("the label %s is missing", [label]), "details": {"label": label}} if {
	label := input.parameters.label
	not input.review.object.metadata.labels[label]
}

violation contains {"msg": sprintf("no context: namespace %s is not known", [name])} if {
	name := input.parameters.namespace
	not data.inventory.cluster.v1.Namespace[name]
}

violation contains {"msg": sprintf("%s has the host %s already", [name, host])} if {
	host := input.parameters.host
	some name
	data.inventory.namespace[_]["networking.k8s.io/v1"].Ingress[name].spec.host == host
}
