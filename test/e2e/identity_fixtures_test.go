package e2e

import "strings"

// identityFixture is a request that the lab and the command line judge alike.
type identityFixture struct {
	name string
	// rules are those of a ClusterRole, in a YAML list, that the requester is bound
	// to in the cluster; with inNamespace only in the namespace.
	rules       string
	inNamespace bool
	// subject is what the binding is to: User when it is empty, Group, or
	// ServiceAccount, which makes the requester one.
	subject string
	// Either object is written, in place of old where there is one, or the requester
	// execs into the pod of this name, which is among the objects.
	old, object string
	exec        string
	want        bool
	says        []string
}

// fixtureSources are one of each way to read a value.
var fixtureSources = documentSources +
	sourceOf("role", accountSource) +
	sourceOf("account", "{key: example.com/account, serviceAccount: {}}") +
	sourceOf("spiffe", "{key: spiffe, csiVolume: {driver: csi.spiffe.io}}") +
	sourceOf("secrets", "{key: secretstore, csiVolume: {driver: secrets.example.com, volumeAttribute: provider}}") +
	sourceOf("vault", "{key: vault, projectedToken: {audience: vault}}") +
	sourceOf("tier", "{key: tier, podAnnotation: {name: example.com/tier}, reviewForm: Resource}")

// fixtureRoles let everybody use the accounts themselves, which each pod has, but
// that of guarded.
const fixtureRoles = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fixtures-accounts}
rules: [{apiGroups: [authorization.k8s.io], resources: ["validatedannotations/NAMESPACE:default", "validatedannotations/NAMESPACE:paid"], resourceNames: [example.com/account], verbs: [use]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fixtures-accounts}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fixtures-accounts}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: fixtures}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: fixtures, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: fixtures}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: paid, namespace: NAMESPACE, annotations: {cloud.example.com/role: payments}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: guarded, namespace: NAMESPACE}
`

// fixturePods are those that the fixtures get into.
var fixturePods = podOf("app", bothClaims) + podOf("one", kerberos) + podOf("plain", noClaim) + podOf("paid", noClaim, "serviceAccountName: paid")

const (
	useKerberos = "{apiGroups: [authorization.k8s.io], resources: [validatedannotations/legacy-frontend-app], resourceNames: [kerberos], verbs: [use]}"
	useGCP      = "{apiGroups: [authorization.k8s.io], resources: [validatedannotations/gcs@mycompany.gserviceaccount.com], resourceNames: [cloud.google.com/serviceaccount], verbs: [use]}"
	useBoth     = "[" + useKerberos + ", " + useGCP + "]"
)

// granted is a rule of authorization.k8s.io as a list.
func granted(resources, names string) string {
	rule := "[{apiGroups: [authorization.k8s.io], resources: " + resources + ", verbs: [use]"
	if names != "" {
		rule += ", resourceNames: " + names
	}
	return rule + "}]"
}

const (
	csiVolume       = `volumes: [{name: v, csi: {driver: csi.spiffe.io, readOnly: true}}]`
	attributeVolume = `volumes: [{name: v, csi: {driver: secrets.example.com, volumeAttributes: {provider: payments}}}]`
	tokenVolume     = `volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: token, audience: vault}}]}}]`
	plainVolume     = `volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: token, audience: other}}]}}]`
)

// deploymentImage is a Deployment that makes no pods.
func deploymentImage(annotations, image string) string {
	return strings.Replace(workloadOf("Deployment").with("web", annotations, image, ""), "replicas: 1", "replicas: 0", 1)
}

func scaled(manifest string) string {
	return strings.Replace(manifest, "replicas: 0", "replicas: 3", 1)
}

func imageOf(manifest, image string) string { return strings.Replace(manifest, appImage, image, 1) }

var identityFixtures = []identityFixture{
	// What RBAC's rules give.
	{name: "no rule", object: podOf("new", bothClaims), says: []string{kerberosKey, gcpKey}},
	{name: "no claim", object: podOf("new", noClaim), want: true},
	{name: "both", rules: useBoth, object: podOf("new", bothClaims), want: true},
	{name: "one of both", rules: "[" + useKerberos + "]", object: podOf("new", bothClaims), says: []string{gcpKey}},
	{name: "the one", rules: "[" + useKerberos + "]", object: podOf("new", kerberos), want: true},
	{name: "to a group", rules: useBoth, subject: "Group", object: podOf("new", bothClaims), want: true},
	{name: "to a service account", rules: useBoth, subject: "ServiceAccount", object: podOf("new", kerberos), want: true},
	{name: "a service account without", subject: "ServiceAccount", object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "only in the namespace", rules: useBoth, inNamespace: true, object: podOf("new", bothClaims), says: []string{kerberosKey, gcpKey}},
	{name: "everything in the namespace", rules: `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`, inNamespace: true, object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "everything", rules: `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`, object: podOf("new", bothClaims), want: true},
	{name: "a star for the value", rules: granted(`["validatedannotations/*"]`, "[kerberos]"), object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "a star for the resource", rules: granted(`["*"]`, "[kerberos]"), object: podOf("new", kerberos), want: true},
	{name: "any resource with the value", rules: granted("['*/legacy-frontend-app']", ""), object: podOf("new", kerberos), want: true},
	{name: "any key", rules: granted("[validatedannotations/legacy-frontend-app]", ""), object: podOf("new", kerberos), want: true},
	{name: "another key", rules: granted("[validatedannotations/legacy-frontend-app]", "[cloud.google.com/serviceaccount]"), object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "a key in another case", rules: granted("[validatedannotations/legacy-frontend-app]", "[Kerberos]"), object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "a value in another case", rules: granted("[validatedannotations/Legacy-Frontend-App]", "[kerberos]"), object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "no value", rules: granted("[validatedannotations]", "[kerberos]"), object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "the resource form for the other", rules: granted("[kerberos]", "[legacy-frontend-app]"), object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "another verb", rules: "[{apiGroups: [authorization.k8s.io], resources: [validatedannotations/legacy-frontend-app], verbs: [get, create]}]", object: podOf("new", kerberos), says: []string{kerberosKey}},
	{name: "another group", rules: `[{apiGroups: [""], resources: [validatedannotations/legacy-frontend-app], verbs: [use]}]`, object: podOf("new", kerberos), says: []string{kerberosKey}},

	// The ways to read a value.
	{name: "an account's annotation", object: podOf("new", noClaim, "serviceAccountName: paid"), says: []string{roleKey, roleValue}},
	{name: "an account's annotation, held", rules: granted("[validatedannotations/payments]", "[cloud.example.com/role]"), object: podOf("new", noClaim, "serviceAccountName: paid"), want: true},
	{name: "an account", object: podOf("new", noClaim, "serviceAccountName: guarded"), says: []string{"example.com/account", ownNamespace + ":guarded"}},
	{name: "an account, held", rules: granted("['validatedannotations/"+ownNamespace+":guarded']", "[example.com/account]"), object: podOf("new", noClaim, "serviceAccountName: guarded"), want: true},
	{name: "a CSI volume", object: podOf("new", noClaim, csiVolume), says: []string{"spiffe", ownNamespace + ":default"}},
	{name: "a CSI volume, held", rules: granted("['validatedannotations/"+ownNamespace+":default']", "[spiffe]"), object: podOf("new", noClaim, csiVolume), want: true},
	{name: "an attribute of a CSI volume", object: podOf("new", noClaim, attributeVolume), says: []string{"secretstore", "payments"}},
	{name: "an attribute of a CSI volume, held", rules: granted("[validatedannotations/payments]", "[secretstore]"), object: podOf("new", noClaim, attributeVolume), want: true},
	{name: "a token for an audience", object: podOf("new", noClaim, tokenVolume), says: []string{"vault", ownNamespace + ":default"}},
	{name: "a token for an audience, held", rules: granted("['validatedannotations/"+ownNamespace+":default']", "[vault]"), object: podOf("new", noClaim, tokenVolume), want: true},
	{name: "a token for another audience", object: podOf("new", noClaim, plainVolume), want: true},
	{name: "the resource form", object: podOf("new", "{example.com/tier: gold}"), says: []string{"tier", "gold"}},
	{name: "the resource form, one value", rules: granted("[tier]", "[gold]"), object: podOf("new", "{example.com/tier: gold}"), want: true},
	{name: "the resource form, every value", rules: granted("[tier]", ""), object: podOf("new", "{example.com/tier: gold}"), want: true},
	{name: "the resource form, another value", rules: granted("[tier]", "[silver]"), object: podOf("new", "{example.com/tier: gold}"), says: []string{"tier"}},

	// Values that are none.
	{name: "a slash", rules: useBoth, object: podOf("new", "{kerberos: a/b}"), says: []string{kerberosKey}},
	{name: "an empty value", rules: useBoth, object: podOf("new", "{kerberos: ''}"), says: []string{kerberosKey}},

	// What is written.
	{name: "a Deployment", object: deploymentImage(kerberos, "a:1"), says: []string{kerberosKey, kerberosValue}},
	{name: "a Deployment, held", rules: useBoth, object: deploymentImage(bothClaims, "a:1"), want: true},
	{name: "a CronJob", object: workloadOf("CronJob").of("cron", kerberos), says: []string{kerberosKey, kerberosValue}},
	{name: "a CronJob, held", rules: useBoth, object: workloadOf("CronJob").of("cron", bothClaims), want: true},
	{name: "an update of the image", old: deploymentImage(kerberos, "a:1"), object: deploymentImage(kerberos, "a:2"), says: []string{kerberosKey}},
	{name: "an update of the image, held", rules: useBoth, old: deploymentImage(bothClaims, "a:1"), object: deploymentImage(bothClaims, "a:2"), want: true},
	{name: "an update of the image without claims", old: deploymentImage(noClaim, "a:1"), object: deploymentImage(noClaim, "a:2"), want: true},
	{name: "a scale", old: deploymentImage(kerberos, "a:1"), object: scaled(deploymentImage(kerberos, "a:1")), want: true},
	{name: "an added claim", old: deploymentImage(noClaim, "a:1"), object: deploymentImage(kerberos, "a:1"), says: []string{kerberosKey}},
	{name: "another value", rules: useBoth, old: deploymentImage(kerberos, "a:1"), object: deploymentImage("{kerberos: other}", "a:1"), says: []string{kerberosKey, "other"}},
	{name: "a pod's image", old: podOf("changed", kerberos), object: imageOf(podOf("changed", kerberos), "evil:1"), says: []string{kerberosKey}},
	{name: "a pod's image, held", rules: useBoth, old: podOf("held", bothClaims), object: imageOf(podOf("held", bothClaims), "good:1"), want: true},
	{name: "a pod's claim", rules: useBoth, old: podOf("one", kerberos), object: podOf("one", "{kerberos: other}"), says: []string{kerberosKey}},
	{name: "an account swapped", old: accountOf("poor", "{note: a}"), object: accountOf("poor", "{cloud.example.com/role: payments}"), says: []string{roleKey, roleValue}},
	{name: "an account swapped, held", rules: granted("[validatedannotations/payments]", "[cloud.example.com/role]"), old: accountOf("poor", "{note: a}"), object: accountOf("poor", "{cloud.example.com/role: payments}"), want: true},

	// The side door.
	{name: "exec", exec: "app", says: []string{kerberosKey, gcpKey}},
	{name: "exec, one of both", rules: "[" + useKerberos + "]", exec: "app", says: []string{gcpKey}},
	{name: "exec, held", rules: useBoth, exec: "app", want: true},
	{name: "exec, held by a group", rules: useBoth, subject: "Group", exec: "app", want: true},
	{name: "exec, only in the namespace", rules: useBoth, inNamespace: true, exec: "app", says: []string{kerberosKey}},
	{name: "exec without claims", exec: "plain", want: true},
	{name: "exec into the account's pod", exec: "paid", says: []string{roleKey, roleValue}},
	{name: "exec into the account's pod, held", rules: granted("[validatedannotations/payments]", "[cloud.example.com/role]"), exec: "paid", want: true},
}
