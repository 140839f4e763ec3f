package wiring

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Namespace is that of Sallyport in the files.
const Namespace = "sallyport-system"

// toStartWith is the list of namespaces in the files whose own controllers are not
// asked about.
const toStartWith = "['kube-system']"

// LeftOut returns the match conditions by which webhooks that follow policies leave out
// what has to run so that Sallyport can start, and what it is repaired by. own is the
// namespace of Sallyport, and start are the namespaces that have to run before it.
func LeftOut(own string, start []string) []admissionregistrationv1.MatchCondition {
	conditions := slices.Clone(leftOut)
	for i := range conditions {
		conditions[i].Expression = strings.NewReplacer(
			"'"+Namespace+"'", "'"+own+"'", "'system:serviceaccount:"+Namespace+":", "'system:serviceaccount:"+own+":",
			toStartWith, "["+quoted(start)+"]", "ROLES", "["+quoted(Roles)+"]", "\n", " ",
		).Replace(conditions[i].Expression)
	}
	return conditions
}

// Roles are the names of the ClusterRoles of config/rbac, and of their bindings.
var Roles = []string{"sallyport", "sallyport-after-use", "sallyport-certificates", "sallyport-context", "sallyport-member", "sallyport-policy-server", "sallyport-policy-server-controller", "sallyport-scan", "sallyport-webhooks"}

// leftOut are what no webhook that follows policies asks about, whatever policies are
// about, with ROLES for the names of Sallyport's roles.
var leftOut = []admissionregistrationv1.MatchCondition{
	// NOT GUARDED: what Sallyport itself writes, and what it is repaired by: its roles and
	// their bindings to accounts of its own namespace, the definitions of its kinds, and
	// its namespace. Deleting them is asked about.
	{Name: "not-what-sallyport-is-repaired-by", Expression: `!(request.userInfo.username == 'system:serviceaccount:sallyport-system:sallyport' && request.operation != 'CONNECT'
|| request.operation in ['CREATE', 'UPDATE'] && request.?subResource.orValue('') == ''
&& (request.resource.group == 'rbac.authorization.k8s.io' && request.resource.resource == 'clusterroles'
&& object.metadata.?name.orValue('') in ROLES
|| request.resource.group == 'rbac.authorization.k8s.io' && request.resource.resource == 'clusterrolebindings'
&& [object.metadata.?name.orValue(''), object.roleRef.name].all(n, n in ROLES)
&& object.?subjects.orValue([]).all(s, s.kind == 'ServiceAccount' && s.?namespace.orValue('') == 'sallyport-system')
|| request.resource.group == 'apiextensions.k8s.io' && request.resource.resource == 'customresourcedefinitions' && object.spec.group == 'sallyport.io'
|| request.resource.group == '' && request.resource.resource == 'namespaces' && object.metadata.?name.orValue('') == 'sallyport-system'))`},
	// NOT GUARDED: what nodes write: their leases, what they say of themselves, events. The
	// API server holds them to their own. Pods that a node makes are asked about.
	{Name: "not-by-a-node", Expression: `!('system:nodes' in request.userInfo.?groups.orValue([]) && request.userInfo.username.startsWith('system:node:') && request.operation != 'CONNECT'
&& !(request.operation == 'CREATE' && request.resource.group == '' && request.resource.resource == 'pods' && request.?subResource.orValue('') == ''))`},
	// NOT GUARDED: what the API server writes; the certificates that new nodes ask for; and
	// what the control plane, and the service accounts of the namespaces that are listed,
	// write there, leases among it, except for pods and what makes them; and what the control
	// plane writes of nodes, their certificates and volumes, and of roles that are
	// aggregated.
	{Name: "not-by-the-control-plane-to-start-with", Expression: `!(request.operation != 'CONNECT' && (request.userInfo.username == 'system:apiserver'
|| 'system:bootstrappers' in request.userInfo.?groups.orValue([]) && request.operation == 'CREATE' && request.resource.group == 'certificates.k8s.io'
&& request.resource.resource == 'certificatesigningrequests' && object.spec.signerName == 'kubernetes.io/kube-apiserver-client-kubelet'
|| (request.?namespace.orValue('') in ['kube-system'] && ('system:serviceaccounts:' + request.?namespace.orValue('')) in request.userInfo.?groups.orValue([])
|| (request.userInfo.username in ['system:kube-controller-manager', 'system:kube-scheduler', 'system:cloud-controller-manager']
|| 'system:serviceaccounts:kube-system' in request.userInfo.?groups.orValue([]))
&& (request.?namespace.orValue('') in ['kube-system'] || request.?namespace.orValue('') == 'kube-node-lease'
|| (request.resource.group + '/' + request.resource.resource) in ['/nodes', 'certificates.k8s.io/certificatesigningrequests', 'storage.k8s.io/csinodes', 'storage.k8s.io/volumeattachments']
|| request.userInfo.username in ['system:kube-controller-manager', 'system:serviceaccount:kube-system:clusterrole-aggregation-controller']
&& request.resource.group == 'rbac.authorization.k8s.io' && request.resource.resource == 'clusterroles'))
&& !(request.resource.group in ['apps', 'batch'] || request.resource.group == '' && request.resource.resource in ['pods', 'replicationcontrollers', 'podtemplates'])))`},
}

// PodsLeftOut returns the match conditions of pods.sallyport.io as they are shipped,
// which leave out what has to run so that Sallyport can start. The first of them lists
// namespaces.
func PodsLeftOut() ([]admissionregistrationv1.MatchCondition, error) {
	conditions, err := podsLeftOut()
	return slices.Clone(conditions), err
}

var podsLeftOut = sync.OnceValues(func() ([]admissionregistrationv1.MatchCondition, error) {
	config, err := Webhook("https://sallyport", nil, "")
	if err != nil {
		return nil, err
	}
	return config.Webhooks[0].MatchConditions, nil
})

var (
	listOfNamespaces = regexp.MustCompile(`request\.namespace in \[ ?((?:['"][a-z0-9-]+['"](?: ?, ?)?)+) ?\]`)
	aNamespace       = regexp.MustCompile(`[a-z0-9-]+`)
)

// LeavesPodsOut reports whether a match condition is one of PodsLeftOut, by its name
// and by its expression, as it is shipped or was by an earlier version. Its namespaces
// are those that the administrator lists in it.
func LeavesPodsOut(c admissionregistrationv1.MatchCondition) (namespaces []string, is bool, err error) {
	shipped, err := podsLeftOut()
	if err != nil {
		return nil, false, err
	}
	form, namespaces := formOf(c.Expression)
	for _, s := range shipped {
		if s.Name != c.Name {
			continue
		}
		now, _ := formOf(s.Expression)
		earlier := strings.ReplaceAll(now, "request.?subResource.orValue('')", "request.subResource")
		if form == now || form == earlier {
			return namespaces, true, nil
		}
	}
	return nil, false, nil
}

// formOf is an expression with one space for each gap and without the namespaces that
// it lists, and these.
func formOf(expression string) (form string, namespaces []string) {
	form = listOfNamespaces.ReplaceAllStringFunc(strings.Join(strings.Fields(expression), " "), func(list string) string {
		namespaces = append(namespaces, aNamespace.FindAllString(listOfNamespaces.FindStringSubmatch(list)[1], -1)...)
		return "request.namespace in []"
	})
	return form, namespaces
}
