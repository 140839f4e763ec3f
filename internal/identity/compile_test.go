package identity

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestCompileRefuses(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"no key", "{podAnnotation: {}}", "spec.key: Required"},
		{"a star", "{key: '*', podAnnotation: {}}", "spec.key: Invalid"},
		{"a star inside", "{key: 'kerb*', podAnnotation: {}}", "spec.key: Invalid"},
		{"a space at the end", "{key: 'kerberos ', podAnnotation: {}}", "spec.key: Invalid"},
		{"a newline", "{key: \"a\\nb\", podAnnotation: {}}", "spec.key: Invalid"},
		{"two slashes", "{key: a/b/c, podAnnotation: {}}", "spec.key: Invalid"},
		{"a slash in a resource", "{key: validatedannotations/x, reviewForm: Resource, podAnnotation: {name: a}}", "spec.key: Invalid"},
		{"a resource of the group", "{key: SubjectAccessReviews, reviewForm: Resource, podAnnotation: {}}", "spec.key: Invalid"},
		{"an unknown form", "{key: a, reviewForm: resource, podAnnotation: {}}", "spec.reviewForm: Unsupported"},
		{"no way", "{key: a}", "spec: Required"},
		{"two ways", "{key: a, podAnnotation: {}, serviceAccount: {}}", "spec: Forbidden"},
		{"an odd annotation", "{key: a, podAnnotation: {name: 'a b'}}", "spec.podAnnotation.name: Invalid"},
		{"an odd annotation of an account", "{key: a, serviceAccount: {annotation: 'a/b/c'}}", "spec.serviceAccount.annotation: Invalid"},
		{"no driver", "{key: a, csiVolume: {driver: ''}}", "spec.csiVolume.driver: Required"},
		{"an odd driver", "{key: a, csiVolume: {driver: 'a_b'}}", "spec.csiVolume.driver: Invalid"},
		{"no audience: that is every pod", "{key: a, projectedToken: {audience: ''}}", "spec.projectedToken.audience: Required"},
		{"a signer without its domain", "{key: a, podCertificate: {signerName: workload}}", "spec.podCertificate.signerName: Invalid"},
		{"no kinds", "{key: a, field: {kinds: []}}", "spec.field.kinds: Required"},
		{"an empty list of kinds", "{key: a, serviceAccount: {kinds: []}}", "spec.serviceAccount.kinds: Required"},
		{"a kind of Kubernetes", "{key: a, field: {kinds: [{group: apps, kind: Deployment, paths: [spec.a]}]}}", "spec.field.kinds[0].kind: Invalid"},
		{"the core group", "{key: a, field: {kinds: [{group: '', kind: Pod, paths: [spec.a]}]}}", "spec.field.kinds[0].group: Invalid"},
		{"a version in the group", "{key: a, field: {kinds: [{group: tekton.dev/v1, kind: TaskRun, paths: [spec.a]}]}}", "spec.field.kinds[0].group: Invalid"},
		{"a list kind", "{key: a, field: {kinds: [{group: tekton.dev, kind: TaskRunList, paths: [spec.a]}]}}", "spec.field.kinds[0].kind: Invalid"},
		{"a kind twice", "{key: a, field: {kinds: [{group: tekton.dev, kind: A, paths: [a]}, {group: tekton.dev, kind: A, paths: [b]}]}}", "spec.field.kinds[1].kind: Duplicate"},
		{"no paths", "{key: a, field: {kinds: [{group: tekton.dev, kind: A, paths: []}]}}", "spec.field.kinds[0].paths: Required"},
		{"an odd path", "{key: a, field: {kinds: [{group: tekton.dev, kind: A, paths: [a..b]}]}}", "spec.field.kinds[0].paths[0]: Invalid"},
		{"the object as a field", "{key: a, field: {kinds: [{group: tekton.dev, kind: A, paths: ['.']}]}}", "spec.field.kinds[0].paths[0]: Invalid"},
		{"exec left out", "{key: a, podAnnotation: {}, subresources: [attach, ephemeralcontainers]}", "spec.subresources: Invalid"},
		{"an empty list of subresources", "{key: a, podAnnotation: {}, subresources: []}", "spec.subresources: Invalid"},
		{"an unknown subresource", "{key: a, podAnnotation: {}, subresources: [exec, attach, ephemeralcontainers, log]}", "spec.subresources[3]: Unsupported"},
		{"a negative time", "{key: a, podAnnotation: {}, cacheSeconds: -1}", "spec.cacheSeconds: Invalid"},
		{"too long a time", "{key: a, podAnnotation: {}, cacheSeconds: 301}", "spec.cacheSeconds: Invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, problems := Compile([]sourced{sourceOf(t, "a", tt.spec)})
			if set.Len() != 0 || len(problems) == 0 {
				t.Fatal("it was accepted")
			}
			if got := problems[0].Path + ": " + problems[0].Detail; !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestOneKeyTwice(t *testing.T) {
	at := func(s sourced, age time.Duration) sourced {
		s.Object.CreationTimestamp = metav1.NewTime(time.Unix(1e9, 0).Add(-age))
		return s
	}
	young, old := at(sourceOf(t, "a", "{key: k, podAnnotation: {name: young}}"), time.Hour), at(sourceOf(t, "b", "{key: k, podAnnotation: {name: old}}"), 2*time.Hour)
	other := at(sourceOf(t, "c", "{key: K, podAnnotation: {name: other}}"), 0)
	twin := at(sourceOf(t, "z", "{key: k, podAnnotation: {name: twin}}"), 2*time.Hour)
	for _, order := range [][]sourced{{young, old, other, twin}, {twin, other, old, young}} {
		set, problems := Compile(order)
		var got []string
		for _, p := range problems {
			got = append(got, p.Error())
		}
		want := []string{
			`IdentitySource z: spec.key: Invalid value: "k": is the key of IdentitySource b, which came first and is the one that works; give this one another key or remove it`,
			`IdentitySource a: spec.key: Invalid value: "k": is the key of IdentitySource b, which came first and is the one that works; give this one another key or remove it`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		claims, err := set.OfAnnotations(map[string]string{"young": "1", "old": "2", "twin": "3", "other": "4"})
		if diff := cmp.Diff([]string{`metadata.annotations.other: K="4"`, `metadata.annotations.old: k="2"`}, lines(claims)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	broken := at(sourceOf(t, "broken", "{key: k}"), 3*time.Hour)
	if set, problems := Compile([]sourced{broken, old}); set.Len() != 1 || len(problems) != 1 {
		t.Errorf("a source that cannot work holds its key: %v", problems)
	}
	if set, problems := Compile([]sourced{old, old}); set.Len() != 1 || len(problems) != 1 || problems[0].Path != "metadata.name" {
		t.Errorf("one name twice: %v", problems)
	}
}

func TestGuarding(t *testing.T) {
	set := setOf(t, kerberos, "{key: net, podAnnotation: {}, subresources: [exec, attach, ephemeralcontainers, portforward]}")
	claims := []Claim{{Key: "kerberos"}, {Key: "net"}, {Key: "nobody's"}}
	for subresource, want := range map[string]int{"exec": 3, "attach": 3, "ephemeralcontainers": 3, "portforward": 1, "proxy": 0, "log": 0} {
		if got := set.Guarding(subresource, claims); len(got) != want {
			t.Errorf("%s: %v", subresource, got)
		}
		if set.Guards(subresource) != (want > 0) {
			t.Errorf("%s: Guards differs", subresource)
		}
	}
	var none *Set
	if none.Len() != 0 || none.Kinds() != nil || !none.Guards("exec") || none.Guards("proxy") || len(none.Guarding("exec", claims)) != 3 {
		t.Error("a nil set")
	}
	want := []schema.GroupKind{{Group: "example.com", Kind: "Widget"}, {Group: "tekton.dev", Kind: "TaskRun"}}
	if diff := cmp.Diff(want, everySource(t).Kinds()); diff != "" {
		t.Error(diff)
	}
}
