package standard

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

func TestExemptions(t *testing.T) {
	t.Parallel()
	exemptions := &v1alpha1.StandardExemptions{
		Usernames:      []string{"system:serviceaccount:kube-system:replicaset-controller", "ci*"},
		Namespaces:     []string{"kube-system"},
		RuntimeClasses: []string{"kata"},
	}
	const kata = `{spec: {runtimeClassName: kata}}`
	tests := []struct {
		name, user, namespace, pod string
		none                       bool
		want                       string
	}{
		{name: "nothing"},
		{name: "namespace", namespace: "kube-system", want: "namespace kube-system is exempt"},
		{name: "namespace in another case", namespace: "Kube-system"},
		{name: "namespace that begins so", namespace: "kube-system-2"},
		{name: "user", user: "system:serviceaccount:kube-system:replicaset-controller", namespace: "shop", want: "user system:serviceaccount:kube-system:replicaset-controller is exempt"},
		{name: "no patterns", user: "ci-bot"},
		{name: "a name with a star", user: "ci*", want: "user ci* is exempt"},
		{name: "runtime class", user: "amy", namespace: "shop", pod: kata, want: "runtime class kata is exempt"},
		{name: "another runtime class", pod: `{spec: {runtimeClassName: kata-fc}}`},
		{name: "empty runtime class", pod: `{spec: {runtimeClassName: ""}}`},
		{name: "namespace first", user: "ci*", namespace: "kube-system", pod: kata, want: "namespace kube-system is exempt"},
		{name: "no exemptions", none: true, user: "ci*", namespace: "kube-system", pod: kata},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			given := exemptions
			if test.none {
				given = nil
			}
			compiled, errs := CompileExemptions(given, nil)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			p := parse(t, test.pod)
			if test.pod == "" {
				p = nil
			}
			why, ok := compiled.Match(test.user, test.namespace, p)
			if why != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %t; want %q", why, ok, test.want)
			}
		})
	}
}

func TestExemptionsThatCannotMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		exemptions v1alpha1.StandardExemptions
		want       string
	}{
		{"namespace pattern", v1alpha1.StandardExemptions{Namespaces: []string{"shop", "kube-*"}}, `namespaces[1]: Invalid value: "kube-*": exemptions are exact names`},
		{"empty namespace", v1alpha1.StandardExemptions{Namespaces: []string{""}}, "namespaces[0]"},
		{"namespace twice", v1alpha1.StandardExemptions{Namespaces: []string{"a", "a"}}, `namespaces[1]: Duplicate value: "a"`},
		{"runtime class", v1alpha1.StandardExemptions{RuntimeClasses: []string{"Kata"}}, "runtimeClasses[0]"},
		{"empty runtime class", v1alpha1.StandardExemptions{RuntimeClasses: []string{""}}, "runtimeClasses[0]"},
		{"empty user", v1alpha1.StandardExemptions{Usernames: []string{"amy", ""}}, "usernames[1]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			compiled, errs := CompileExemptions(&test.exemptions, field.NewPath("exemptions"))
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), "exemptions."+test.want) {
				t.Errorf("errors %v, want %q", errs, test.want)
			}
			if _, ok := compiled.Match("", "", nil); ok {
				t.Error("what does not compile exempts")
			}
		})
	}
}
