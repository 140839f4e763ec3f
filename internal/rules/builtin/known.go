package builtin

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// builtinResources are the resources of Kubernetes itself, so that a rule which
// names one as nobody asks for it can be told from one about a custom resource.
type builtinResources struct {
	// Groups has the resources of each group, in the plural.
	Groups map[string]map[string]bool
	// plurals finds the plural by what people write for it: the singular, which
	// is the kind in lower case too, and the short name of kubectl.
	plurals map[string][]schema.GroupResource
}

// Builtins reads them off the types of Kubernetes that this version knows.
var Builtins = sync.OnceValue(func() *builtinResources {
	b := &builtinResources{Groups: map[string]map[string]bool{}, plurals: map[string][]schema.GroupResource{}}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if !noResource(gvk) {
			plural, singular := meta.UnsafeGuessKindToResource(gvk)
			b.add(gvk.Group, plural.Resource, singular.Resource)
		}
	}
	b.add("apiextensions.k8s.io", "customresourcedefinitions", "customresourcedefinition", "crd")
	b.add("apiregistration.k8s.io", "apiservices", "apiservice")
	for plural, short := range shortNames {
		for group, resources := range b.Groups {
			if resources[plural] {
				b.add(group, plural, short)
			}
		}
	}
	// Who impersonates or signs asks for the right to, in the name of resources
	// that no object is of.
	for group, names := range map[string][]string{
		"": {"users", "groups"}, "authentication.k8s.io": {"users", "groups", "uids", "userextras", "serviceaccounts", "nodes"},
		"certificates.k8s.io": {"signers"},
	} {
		for _, name := range names {
			b.add(group, name)
		}
	}
	return b
})

func (b *builtinResources) add(group, plural string, others ...string) {
	if b.Groups[group] == nil {
		b.Groups[group] = map[string]bool{}
	}
	b.Groups[group][plural] = true
	for _, other := range others {
		found := schema.GroupResource{Group: group, Resource: plural}
		if other != plural && !slices.Contains(b.plurals[other], found) {
			b.plurals[other] = append(b.plurals[other], found)
		}
	}
}

// noResource reports whether a type stands only in a body, and not under a URL
// of its own.
func noResource(gvk schema.GroupVersionKind) bool {
	switch gvk.Kind {
	case "WatchEvent", "Status", "Scale", "DeploymentRollback", "RangeAllocation", "SerializedReference", "TokenRequest":
		return true
	case "Eviction":
		return gvk.Group == "policy"
	}
	return strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") || strings.HasPrefix(gvk.Kind, "API")
}

// shortNames are those that kubectl api-resources lists.
var shortNames = map[string]string{
	"pods": "po", "services": "svc", "namespaces": "ns", "nodes": "no", "configmaps": "cm", "serviceaccounts": "sa",
	"persistentvolumes": "pv", "persistentvolumeclaims": "pvc", "endpoints": "ep", "events": "ev", "replicationcontrollers": "rc",
	"resourcequotas": "quota", "limitranges": "limits", "componentstatuses": "cs", "deployments": "deploy", "daemonsets": "ds",
	"replicasets": "rs", "statefulsets": "sts", "cronjobs": "cj", "horizontalpodautoscalers": "hpa", "ingresses": "ing",
	"networkpolicies": "netpol", "poddisruptionbudgets": "pdb", "priorityclasses": "pc", "storageclasses": "sc",
	"certificatesigningrequests": "csr",
}

// groupOf finds a group that has the resource and that groups matches.
func (b *builtinResources) groupOf(resource string, groups *glob.List) (string, bool) {
	for group, resources := range b.Groups {
		if resources[resource] && groups.Match(group) {
			return group, true
		}
	}
	return "", false
}

// groupsOf are all groups that have the resource.
func (b *builtinResources) groupsOf(resource string) []string {
	var groups []string
	for group, resources := range b.Groups {
		if resources[resource] {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return groups
}

// closed reports whether the entries are only groups of Kubernetes itself, in
// which a name that is not known is most likely a slip.
func (b *builtinResources) closed(entries []string) bool {
	return !slices.ContainsFunc(entries, func(entry string) bool { return b.Groups[entry] == nil })
}

// pluralOf finds what a name that is not a resource stands for in one of the
// groups. Short names count only where the group itself is listed: with a
// pattern for the groups they may be the resources of somebody else.
func (b *builtinResources) pluralOf(name string, entries []string, groups *glob.List) string {
	for _, found := range b.plurals[name] {
		if !groups.Match(found.Group) {
			continue
		}
		if shortNames[found.Resource] != name || slices.Contains(entries, found.Group) {
			return found.Resource
		}
	}
	return ""
}

// misspelt finds the resource of one of the groups that a slip of one letter
// away from name.
func (b *builtinResources) misspelt(name string, entries []string) string {
	for _, group := range entries {
		if near := apijson.Misspelt(name, b.Groups[group]); near != "" {
			return near
		}
	}
	return ""
}

// subresources are those of the resources of the core group that lead into what
// runs, with what people call them instead.
var subresources = map[string]map[string]string{
	"pods": {
		"attach": "", "binding": "", "ephemeralcontainers": "debug", "eviction": "evict", "exec": "", "log": "logs",
		"portforward": "port-forward", "proxy": "", "resize": "", "status": "",
	},
	"services": {"proxy": "", "status": ""},
}

// subresourceOf finds the subresource of a resource that name is, or that it is
// another name of.
func subresourceOf(resource, name string) string {
	known := subresources[resource]
	if _, ok := known[name]; ok {
		return name
	}
	for subresource, other := range known {
		if other == name && name != "" {
			return subresource
		}
	}
	return apijson.Misspelt(name, known)
}

// verbs are those of requests for resources; others are possible.
var verbs = map[string]bool{
	"get": true, "list": true, "watch": true, "create": true, "update": true, "patch": true, "delete": true, "deletecollection": true,
	"impersonate": true, "bind": true, "escalate": true, "approve": true, "sign": true, "attest": true, "use": true, "exempt": true,
	"proxy": true, VerbConnect: true,
}

// meantVerbs are words for verbs that are none.
var meantVerbs = map[string]string{
	"read": "get, list and watch", "view": "get, list and watch", "write": "create, update, patch and delete", "edit": "update and patch",
	"apply": "create and patch", "remove": "delete", "all": `"*"`, "any": `"*"`,
}
