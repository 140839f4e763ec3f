package identity_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/examples"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

const everyCloud = `
apiVersion: v1
kind: Pod
metadata: {annotations: {kerberos: legacy-frontend-app}}
spec:
  serviceAccountName: app
  volumes:
  - {name: spiffe, csi: {driver: csi.spiffe.io}}
  - name: tokens
    projected:
      sources:
      - serviceAccountToken: {path: token}
      - serviceAccountToken: {path: aws, audience: sts.amazonaws.com}
      - serviceAccountToken: {path: eks, audience: pods.eks.amazonaws.com}
      - serviceAccountToken: {path: azure, audience: "api://AzureADTokenExchange"}
`

// TestExamples loads the examples all together, and finds with them the identities
// of a pod that has one of each.
func TestExamples(t *testing.T) {
	files, err := fs.Glob(examples.Files, "identities/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var sources policy.Sources
	for _, name := range files {
		data, err := examples.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		loaded := load.Collect(load.Parse(name, data))
		if len(loaded.Problems) > 0 || (loaded.Policies() == 0) != (name == "identities/holders.yaml") {
			t.Errorf("%s: %d sources, %v", name, loaded.Policies(), loaded.Problems)
		}
		sources.Identities = append(sources.Identities, loaded.Sources.Identities...)
	}
	set, problems := identity.Compile(sources.Identities)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	raw, err := yaml.YAMLToJSON([]byte(everyCloud))
	if err != nil {
		t.Fatal(err)
	}
	o, err := pod.Default().Decode(schema.GroupVersionKind{}, raw)
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{}
	account.Annotations = map[string]string{
		"iam.gke.io/gcp-service-account":    "gcs@mycompany.iam.gserviceaccount.com",
		"eks.amazonaws.com/role-arn":        "arn:aws:iam::111122223333:role/s3",
		"azure.workload.identity/client-id": "00000000-0000-0000-0000-000000000000",
	}
	claims, err := set.OfObject(t.Context(), o, "team", func(context.Context, string, string) (*corev1.ServiceAccount, error) { return account, nil })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range claims {
		if c.Fault != "" {
			t.Errorf("%s: %s", c, c.Fault)
		}
		got = append(got, c.Source+": "+c.String())
	}
	want := []string{
		`kerberos: kerberos="legacy-frontend-app"`,
		`azure-client-id: azure.workload.identity/client-id="00000000-0000-0000-0000-000000000000"`,
		`gke-service-account: cloud.google.com/serviceaccount="gcs@mycompany.iam.gserviceaccount.com"`,
		`eks-role-arn: eks-role-arn="arn:aws:iam::111122223333:role/s3"`,
		`service-account: service-account="team:app"`,
		`spiffe-csi: spiffe.io/workload="team:app"`,
		`eks-token: eks.amazonaws.com/service-account="team:app"`,
		`eks-pod-identity: eks.amazonaws.com/pod-identity="team:app"`,
		`azure-token: azure.workload.identity/service-account="team:app"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
