package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestOfAccount(t *testing.T) {
	account := &corev1.ServiceAccount{}
	account.Annotations = map[string]string{"iam.gke.io/gcp-service-account": "a", "eks.amazonaws.com/role-arn": "b/c", "kerberos": "d"}
	got, err := everySource(t).OfAccount(account)
	want := []string{
		`metadata.annotations["iam.gke.io/gcp-service-account"]: cloud.google.com/serviceaccount="a"`,
		`metadata.annotations["eks.amazonaws.com/role-arn"]: eks="b/c"`,
	}
	if diff := cmp.Diff(want, lines(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got, err := everySource(t).OfAccount(nil); got != nil || err != nil {
		t.Error(got, err)
	}
}

func TestOfToken(t *testing.T) {
	set := everySource(t)
	got, err := set.OfToken(t.Context(), "team", "app", []string{"", "sts.amazonaws.com"}, accountsOf(testAccounts))
	want := []string{
		`metadata.name: account="team:app"`, `metadata.name: cloud.google.com/serviceaccount="gcs@mycompany"`,
		`metadata.name: eks="arn:aws:iam::1:role/s3"`, `metadata.name: run="team:app"`, `spec.audiences[1]: token="team:app"`,
	}
	if diff := cmp.Diff(want, lines(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got, err := set.OfToken(t.Context(), "team", "nobody", nil, accountsOf(testAccounts)); got != nil || err == nil {
		t.Errorf("an account that cannot be read: %v, %v", got, err)
	}
}
