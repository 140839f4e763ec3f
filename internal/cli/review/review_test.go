package review_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

func TestReview(t *testing.T) {
	filestest.InDir(t, map[string]string{
		"p/guard.yaml": filestest.GuardPolicy, "p/base.yaml": filestest.BaselinePolicy, "p/pods.yaml": filestest.GoodPod + "---\n" + filestest.BadPod,
		"bad.json": strings.Replace(filestest.AccessReview, "NAME", "bad", 1), "good.json": strings.Replace(filestest.AccessReview, "NAME", "good", 1),
		"p/farms.yaml": filestest.FarmKind, "farm.yaml": strings.NewReplacer("kind: Pod}", "kind: Farm, group: x.io}", "resource: pods", "resource: farms, group: x.io", "apiVersion: v1, kind: Pod,", "apiVersion: x.io/v1, kind: Farm,", "spec: {hostPID", "spec: {agent: {hostPID", "image: a}]}", "image: a}]}}").Replace(filestest.CreateReview),
		"create.yaml": filestest.CreateReview, "null.json": "null", "list.json": "[]", "pod.yaml": filestest.GoodPod, "ingress.yaml": "apiVersion: networking.k8s.io/v1\nkind: Ingress\n",
		"nobody.json":   strings.Replace(filestest.AccessReview, `"user":"alice",`, "", 1),
		"twice.json":    strings.Replace(filestest.AccessReview, `"user":"alice",`, `"user":"alice","user":"bob",`, 1),
		"old.json":      strings.Replace(filestest.AccessReview, "k8s.io/v1", "k8s.io/v1beta1", 1),
		"both.json":     strings.Replace(filestest.AccessReview, "NAME", "good", 1) + "\n" + strings.Replace(filestest.AccessReview, "NAME", "bad", 1),
		"trailing.json": strings.Replace(filestest.AccessReview, "NAME", "good", 1) + " rubbish",
	})
	const noOpinion = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false}}`
	tests := []struct {
		files  string
		status int
		// answers are the beginnings of the lines of standard output, says is
		// part of standard error.
		answers []string
		says    string
	}{
		{"good.json", 0, []string{noOpinion}, ""},
		{"bad.json", 1, []string{`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false,"denied":true,"reason":"exec into pod default/bad is denied`}, ""},
		{"both.json good.json", 1, []string{noOpinion, `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false,"denied":true`, noOpinion}, ""},
		{"create.yaml", 1, []string{`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"1","allowed":false`}, ""},
		{"farm.yaml", 1, []string{`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"1","allowed":false`}, ""},
		{"null.json", 2, nil, "null.json: holds no review"},
		{"list.json", 2, nil, "list.json, document 1: found a list, an object belongs here"},
		{"pod.yaml", 2, nil, "pod.yaml, document 1: is a Pod; an AdmissionReview or a SubjectAccessReview is expected"},
		{"ingress.yaml", 2, nil, "ingress.yaml, document 1: is an Ingress; an AdmissionReview"},
		{"nobody.json good.json", 2, []string{noOpinion}, "nobody.json, document 1: spec.user is missing"},
		{"twice.json", 2, nil, "twice.json, document 1: SubjectAccessReview: spec.user: stands more than once"},
		{"old.json", 2, nil, `apiVersion is "authorization.k8s.io/v1beta1"`},
		{"trailing.json", 2, []string{noOpinion}, "trailing.json, document 2: not JSON"},
		{"gone.json bad.json", 2, []string{`{"kind":"SubjectAccessReview"`}, "gone.json: cannot be read"},
		{"-", 2, nil, "standard input: holds no review"},
		{"good.json -o text", 2, nil, `there is no output format "text" for answers`},
	}
	for _, test := range tests {
		t.Run(test.files, func(t *testing.T) {
			status, stdout, stderr := clitest.Run(t, "", append([]string{"review", "-p", "p"}, strings.Fields(test.files)...)...)
			var lines []string
			if stdout != "" {
				lines = strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
			}
			if status != test.status || len(lines) != len(test.answers) || !strings.Contains(stderr, test.says) {
				t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
			}
			for i := range min(len(lines), len(test.answers)) {
				if !strings.HasPrefix(lines[i], test.answers[i]) {
					t.Errorf("answer %s, want %s", lines[i], test.answers[i])
				}
			}
		})
	}
}

// TestReviewOfExceptions answers what is written about exceptions as a server
// without a cluster does, which cannot judge it.
func TestReviewOfExceptions(t *testing.T) {
	review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"sallyport.io","version":"v1alpha1","kind":"PolicyException"},"resource":{"group":"sallyport.io","version":"v1alpha1","resource":"policyexceptions"},"name":"e","namespace":"dev","operation":"CREATE","userInfo":{"username":"alice"},"object":{"apiVersion":"sallyport.io/v1alpha1","kind":"PolicyException","metadata":{"name":"e","namespace":"dev"},"spec":{"exceptions":[{"policyName":"p"}],"match":{"any":[{"resources":{"kinds":["Pod"]}}]},"expiresAt":"2020-01-01T00:00:00Z"}}}}`
	filestest.InDir(t, map[string]string{"p/guard.yaml": filestest.GuardPolicy})
	var out, errs bytes.Buffer
	status := cli.Main(t.Context(), []string{"review", "-p", "p", "-"}, command.Streams{In: strings.NewReader(review), Out: &out, Err: &errs})
	if !strings.Contains(out.String(), `"allowed":false`) || !strings.Contains(out.String(), "has no cluster to read requests and answers from") || status == 0 {
		t.Errorf("status %d: %s%s", status, out.String(), errs.String())
	}
}
