package load

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

const sourceHead = "apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: kerberos}\n"

func TestIdentitySources(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"as the document has it", sourceHead + "spec: {key: kerberos, podAnnotation: {}}", ""},
		{"an unknown field", sourceHead + "spec: {key: kerberos, podAnnotation: {annotation: a}}", "spec.podAnnotation.annotation"},
		{"a namespace", strings.Replace(sourceHead, "name: kerberos", "name: kerberos, namespace: a", 1) + "spec: {key: kerberos, podAnnotation: {}}", "metadata.namespace"},
		{"another group", strings.Replace(sourceHead, "sallyport.io", "example.com", 1) + "spec: {}", "apiVersion"},
		{"no way", sourceHead + "spec: {key: kerberos}", "spec"},
		{"a key twice", sourceHead + "spec: {key: k, podAnnotation: {}}\n---\n" + strings.Replace(sourceHead, "name: kerberos", "name: other", 1) + "spec: {key: k, podAnnotation: {name: b}}", "spec.key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Collect(Parse("a.yaml", []byte(tt.text)))
			problems := r.Problems
			set, more := policy.Compile(r.Sources, pod.Default(), exception.Options{})
			problems = append(problems, more...)
			if tt.want == "" {
				if len(problems) > 0 || r.Policies() != 1 || set.Identities().Len() != 1 || set.Empty() {
					t.Errorf("%d sources, %v", set.Identities().Len(), problems)
				}
				return
			}
			if len(problems) != 1 || problems[0].Path != tt.want {
				t.Errorf("%v, want one of %s", problems, tt.want)
			}
		})
	}
}

func TestValidatedAnnotationsOfPodsAreKept(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: app}\n"
	r := Collect(Parse("a.yaml", []byte(head+"spec:\n  validatedAnnotations:\n  - kerberos: legacy-frontend-app\n")))
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	if got := r.Objects[0].(*corev1.Pod).Annotations[v1alpha1.AnnotationValidatedAnnotations]; got != `[{"kerberos":"legacy-frontend-app"}]` {
		t.Errorf("kept %q", got)
	}
	r = Collect(Parse("a.yaml", []byte(head+"spec: {validatedAnnotations: {kerberos: 1}}")))
	if len(r.Problems) != 1 || r.Problems[0].Path != "spec.validatedAnnotations.kerberos" || r.Problems[0].Name != "app" {
		t.Errorf("a number: %v", r.Problems)
	}
}
