package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	kerberos    = "{key: kerberos, podAnnotation: {}}"
	accountName = "{key: account, serviceAccount: {}}"
	gke         = "{key: cloud.google.com/serviceaccount, serviceAccount: {annotation: iam.gke.io/gcp-service-account}}"
	eks         = "{key: eks, reviewForm: Resource, serviceAccount: {annotation: eks.amazonaws.com/role-arn}}"
	csiPlain    = "{key: spiffe, csiVolume: {driver: csi.spiffe.io}}"
	csiValue    = "{key: vault, csiVolume: {driver: secrets-store.csi.k8s.io, volumeAttribute: role.name}}"
	token       = "{key: token, projectedToken: {audience: sts.amazonaws.com}}"
	certificate = "{key: cert, podCertificate: {signerName: example.com/workload}}"
	custom      = "{key: field, field: {kinds: [{group: example.com, kind: Widget, paths: ['spec.identity', 'spec.parts[*].identity', 'spec.sets.*.identity']}]}}"
	customName  = "{key: run, serviceAccount: {kinds: [{group: tekton.dev, kind: TaskRun, paths: [spec.serviceAccountName, 'spec.more[*].serviceAccountName']}]}}"
)

func everySource(t testing.TB) *Set {
	return setOf(t, kerberos, accountName, gke, eks, csiPlain, csiValue, token, certificate, custom, customName)
}

var testAccounts = map[string]map[string]string{
	"team/default": nil,
	"team/app":     {"iam.gke.io/gcp-service-account": "gcs@mycompany", "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/s3"},
	"other/app":    {"iam.gke.io/gcp-service-account": "other@mycompany"},
	"team/empty":   {"iam.gke.io/gcp-service-account": ""},
}

const podHead = "apiVersion: v1\nkind: Pod\n"

func TestOfObject(t *testing.T) {
	deployment := "apiVersion: apps/v1\nkind: Deployment\nspec: {template: "
	for _, tt := range []struct {
		name, source, object string
		want                 []string
		err                  string
	}{
		// What should find nothing.
		{"no claim", kerberos, podHead + "metadata: {annotations: {a: b}}\nspec: {}", nil, ""},
		{"no annotations at all", kerberos, podHead, nil, ""},
		{"the object's annotation is not the template's", kerberos, deployment + "{}}\nmetadata: {annotations: {kerberos: x}}", nil, ""},
		{"a token for the API server", token, podHead + "spec: {volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: a}}]}}]}", nil, ""},
		{"another audience", token, podHead + "spec: {volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: a, audience: STS.amazonaws.com}}]}}]}", nil, ""},
		{"another signer", certificate, podHead + "spec: {volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: example.com/other}}]}}]}", nil, ""},
		{"a generic ephemeral volume", csiPlain, podHead + "spec: {volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: spiffe}}}}]}", nil, ""},
		{"a mirror pod that names no account", accountName, podHead + "metadata: {annotations: {kubernetes.io/config.mirror: x}}", nil, ""},
		{"an account without the annotation", gke, podHead, nil, ""},
		{"another kind", custom, "apiVersion: example.com/v1\nkind: Gadget\nspec: {identity: a}", nil, ""},
		{"another group", custom, "apiVersion: example.org/v1\nkind: Widget\nspec: {identity: a}", nil, ""},

		// Annotations.
		{"an annotation", kerberos, podHead + "metadata: {annotations: {kerberos: legacy}}", []string{`metadata.annotations.kerberos: kerberos="legacy"`}, ""},
		{"another case is another key", kerberos, podHead + "metadata: {annotations: {Kerberos: legacy}}", nil, ""},
		{"a trailing space is another value", kerberos, podHead + "metadata: {annotations: {kerberos: 'legacy '}}", []string{`metadata.annotations.kerberos: kerberos="legacy "`}, ""},
		{"an empty value is not a way around", kerberos, podHead + "metadata: {annotations: {kerberos: ''}}", []string{`metadata.annotations.kerberos: kerberos=""; its value is empty`}, ""},
		{"a Deployment's template", kerberos, deployment + "{metadata: {annotations: {kerberos: legacy}}}}", []string{`spec.template.metadata.annotations.kerberos: kerberos="legacy"`}, ""},
		{"a CronJob's nested template", kerberos, "apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: {template: {metadata: {annotations: {kerberos: legacy}}}}}}", []string{`spec.jobTemplate.spec.template.metadata.annotations.kerberos: kerberos="legacy"`}, ""},
		{"a ControllerRevision", kerberos, "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 1\ndata: {spec: {template: {metadata: {annotations: {kerberos: legacy}}, spec: {}}}}", []string{`data.spec.template.metadata.annotations.kerberos: kerberos="legacy"`}, ""},
		{"a custom kind that makes pods", kerberos, "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nspec: {template: {metadata: {annotations: {kerberos: legacy}}}}", []string{`spec.template.metadata.annotations.kerberos: kerberos="legacy"`}, ""},
		{"a mirror pod's annotation", kerberos, podHead + "metadata: {annotations: {kubernetes.io/config.mirror: x, kerberos: a}}", []string{`metadata.annotations.kerberos: kerberos="a"`}, ""},
		{"each item of a list", kerberos, "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod}, {apiVersion: v1, kind: Pod, metadata: {annotations: {kerberos: b}}}]", []string{`items[1].metadata.annotations.kerberos: kerberos="b"`}, ""},

		// Service accounts.
		{"the account named", accountName, podHead + "spec: {serviceAccountName: app}", []string{`spec.serviceAccountName: account="team:app"`}, ""},
		{"the account named by the old field", accountName, podHead + "spec: {serviceAccount: app}", []string{`spec.serviceAccountName: account="team:app"`}, ""},
		{"both fields: the new one counts", accountName, podHead + "spec: {serviceAccount: other, serviceAccountName: app}", []string{`spec.serviceAccountName: account="team:app"`}, ""},
		{"no account is default", accountName, podHead, []string{`spec.serviceAccountName: account="team:default"`}, ""},
		{"a mirror pod that names an account", accountName, podHead + "metadata: {annotations: {kubernetes.io/config.mirror: x}}\nspec: {serviceAccountName: app}", []string{`spec.serviceAccountName: account="team:app"`}, ""},
		{"an item's own namespace", accountName, "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {namespace: other}}, {apiVersion: v1, kind: Pod}]", []string{`items[0].spec.serviceAccountName: account="other:default"`, `items[1].spec.serviceAccountName: account="team:default"`}, ""},
		{"an annotation of the account", gke, podHead + "spec: {serviceAccountName: app}", []string{`spec.serviceAccountName: cloud.google.com/serviceaccount="gcs@mycompany"`}, ""},
		{"a role with a slash, as a resource's name", eks, podHead + "spec: {serviceAccountName: app}", []string{`spec.serviceAccountName: eks="arn:aws:iam::1:role/s3"`}, ""},
		{"an empty annotation of the account", gke, podHead + "spec: {serviceAccountName: empty}", []string{`spec.serviceAccountName: cloud.google.com/serviceaccount=""; its value is empty`}, ""},
		{"an account that is not there", gke, podHead + "spec: {serviceAccountName: nobody}", nil, `the identities that the Pod carries are not known: spec.serviceAccountName names service account "nobody", which cannot be read: serviceaccounts "nobody" not found`},
		{"its own annotation under a source's name", gke, podHead + "metadata: {annotations: {iam.gke.io/gcp-service-account: mine}}", nil, ""},

		// Volumes.
		{"a CSI driver without an attribute", csiPlain, podHead + "spec: {serviceAccountName: app, volumes: [{name: a}, {name: b, csi: {driver: csi.spiffe.io}}]}", []string{`spec.volumes[1].csi: spiffe="team:app"`}, ""},
		{"a CSI driver in another case", csiPlain, podHead + "spec: {volumes: [{name: b, csi: {driver: CSI.spiffe.io}}]}", []string{`spec.volumes[0].csi: spiffe="team:default"`}, ""},
		{"a CSI driver's attribute", csiValue, podHead + "spec: {volumes: [{name: b, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {role.name: db}}}]}", []string{`spec.volumes[0].csi.volumeAttributes["role.name"]: vault="db"`}, ""},
		{"a CSI volume that leaves the attribute out", csiValue, podHead + "spec: {volumes: [{name: b, csi: {driver: secrets-store.csi.k8s.io}}]}", []string{`spec.volumes[0].csi.volumeAttributes["role.name"]: vault=""; its value is empty`}, ""},
		{"two CSI volumes, two values", csiValue, podHead + "spec: {volumes: [{name: b, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {role.name: z}}}, {name: c, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {role.name: a}}}, {name: d, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {role.name: z}}}]}", []string{`spec.volumes[0].csi.volumeAttributes["role.name"]: vault="z"`, `spec.volumes[1].csi.volumeAttributes["role.name"]: vault="a"`}, ""},
		{"a token for the audience, second of its volume", token, podHead + "spec: {volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: a}}, {serviceAccountToken: {path: b, audience: sts.amazonaws.com}}]}}]}", []string{`spec.volumes[0].projected.sources[1].serviceAccountToken: token="team:default"`}, ""},
		{"a certificate of the signer", certificate, podHead + "spec: {volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: example.com/workload, keyType: RSA3072}}]}}]}", []string{`spec.volumes[0].projected.sources[0].podCertificate: cert="team:default"`}, ""},

		// Custom kinds.
		{"fields", custom, "apiVersion: example.com/v7\nkind: Widget\nspec: {identity: a, parts: [{}, {identity: b}, {identity: a}], sets: {z: {identity: d}, x: {identity: c}}}", []string{`spec.identity: field="a"`, `spec.parts[1].identity: field="b"`, `spec.sets.x.identity: field="c"`, `spec.sets.z.identity: field="d"`}, ""},
		{"a field that is empty", custom, "apiVersion: example.com/v1\nkind: Widget\nspec: {identity: ''}", []string{`spec.identity: field=""; its value is empty`}, ""},
		{"a field that is not a string", custom, "apiVersion: example.com/v1\nkind: Widget\nspec: {identity: {name: a}}", nil, "the identities that the Widget carries are not known: spec.identity: something else was found, a string belongs here"},
		{"a step that has no room", custom, "apiVersion: example.com/v1\nkind: Widget\nspec: {parts: {a: {identity: b}}}", nil, "the identities that the Widget carries are not known: spec.parts: something else was found, a list belongs here"},
		{"a custom kind's account", customName, "apiVersion: tekton.dev/v1\nkind: TaskRun\nspec: {serviceAccountName: app}", []string{`spec.serviceAccountName: run="team:app"`}, ""},
		{"a custom kind's account left out", customName, "apiVersion: tekton.dev/v1beta1\nkind: TaskRun\nspec: {}", []string{`spec.serviceAccountName: run="team:default"`}, ""},
		{"a custom kind's account empty", customName, "apiVersion: tekton.dev/v1\nkind: TaskRun\nspec: {serviceAccountName: ''}", []string{`spec.serviceAccountName: run="team:default"`}, ""},
		{"a custom kind that looks like a list", custom, "apiVersion: example.com/v1\nkind: Widget\nspec: {identity: a}\nitems: [{apiVersion: v1, kind: Pod}]", []string{`spec.identity: field="a"`}, ""},
		{"a list of a custom kind", customName, "apiVersion: v1\nkind: List\nitems: [{apiVersion: tekton.dev/v1, kind: TaskRun, spec: {serviceAccountName: app}}]", []string{`items[0].spec.serviceAccountName: run="team:app"`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := setOf(t, tt.source).OfObject(t.Context(), objectOf(t, tt.object), "team", accountsOf(testAccounts))
			if text := errText(err); text != tt.err {
				t.Errorf("error %q, want %q", text, tt.err)
			}
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestBoundsAndMissingThings(t *testing.T) {
	set := everySource(t)
	many := podHead + "spec: {volumes: ["
	for i := range 2 * maxClaims {
		many += "{name: v, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {role.name: r" + strings.Repeat("x", i) + "}}},"
	}
	many += "]}"
	if got, err := set.OfObject(t.Context(), objectOf(t, many), "team", accountsOf(testAccounts)); err == nil || got != nil {
		t.Errorf("%d claims were accepted, %v", len(got), err)
	}
	app := objectOf(t, podHead+"spec: {serviceAccountName: app}")
	for name, test := range map[string]struct {
		namespace string
		accounts  Accounts
	}{
		"nobody to ask": {"team", nil}, "no namespace": {"", accountsOf(testAccounts)},
	} {
		if got, err := set.OfObject(t.Context(), app, test.namespace, test.accounts); err == nil || got != nil {
			t.Errorf("%s: %v was found, %v", name, got, err)
		}
	}
	if got, err := set.OfObject(t.Context(), nil, "team", nil); err != nil || got != nil {
		t.Errorf("no object: %v, %v", got, err)
	}
	var none *Set
	if got, err := none.OfObject(t.Context(), app, "team", nil); err != nil || got != nil {
		t.Errorf("no set: %v, %v", got, err)
	}
}
