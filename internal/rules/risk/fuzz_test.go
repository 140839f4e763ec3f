package risk

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// FuzzJudge judges any pod. It never panics, agrees with the naive score, and
// finds that one more container never makes a pod less of a risk.
func FuzzJudge(f *testing.F) {
	const container = `{"name": "more", "securityContext": {"privileged": true, "capabilities": {"add": ["cap_sys_admin"]}}, "volumeMounts": [{"name": "d", "mountPath": "/d"}]}`
	for _, pod := range []string{plainPod, privilegedPod, networkPod, rootPod, readPathPod, worstPod, loadedPod,
		`{}`, `{spec: {containers: [{}, {}], initContainers: [{}], ephemeralContainers: [{}]}}`} {
		text, err := yaml.YAMLToJSON([]byte(pod))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte(container), "app", "exec", true)
		f.Add(text, []byte(`{}`), "", "ephemeralcontainers", false)
	}
	wide, narrow := compile(f, fuzzRules), compile(f, fuzzRules+"scope: container\n")
	f.Fuzz(func(t *testing.T, pod, container []byte, name, subresource string, isLive bool) {
		var p corev1.Pod
		if json.Unmarshal(pod, &p) != nil {
			return
		}
		judged := live(&p)
		judged.Live = isLive
		in := Input{Pod: judged, Container: name, Subresource: subresource, Powers: []string{"may do it"}}
		all, part := wide.Judge(in), narrow.Judge(in)
		all.Explain()
		part.Explain()
		if part.Score > all.Score {
			t.Errorf("a container scores %d, and its pod %d", part.Score, all.Score)
		}
		for _, factor := range part.Factors {
			if !slices.Contains(all.Factors, factor) && factor != HostPathReadOnly.String() {
				t.Errorf("a container has %s, and its pod has not", factor)
			}
		}
		if isLive && subresource != subresourceEphemeral {
			if want := naiveScore(&p); all.Score != want {
				t.Errorf("score %d for %v, want %d", all.Score, all.Factors, want)
			}
		}
		var more corev1.Container
		if json.Unmarshal(container, &more) != nil {
			return
		}
		p.Spec.Containers = append(p.Spec.Containers, more)
		if after := wide.Judge(in); after.Score < all.Score {
			t.Errorf("one more container brings the score from %d to %d", all.Score, after.Score)
		}
	})
}

// FuzzCompile compiles any rules. It never panics or hangs, and rules that
// compile can judge.
func FuzzCompile(f *testing.F) {
	for _, rules := range []string{documentFirst, documentStrict, documentPermissive, fuzzRules, `{}`, `{blockFactors: ["capability:x", ""]}`} {
		text, err := yaml.YAMLToJSON([]byte(rules))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	p := readPod(f, loadedPod)
	f.Fuzz(func(t *testing.T, text []byte) {
		var rules v1alpha1.PodSecurityRules
		if json.Unmarshal(text, &rules) != nil {
			return
		}
		compiled, errs := Compile(&rules, field.NewPath("spec"))
		if (compiled == nil) == (len(errs) == 0) {
			t.Fatalf("rules %v with errors %v", compiled, errs)
		}
		if compiled == nil {
			return
		}
		v := compiled.Judge(Input{Pod: p, Subresource: "exec"})
		if v.Score < 0 || v.Reason == "" || v.Action == "" {
			t.Errorf("verdict %+v", v)
		}
	})
}

// FuzzReason parses any template. It never panics or hangs, and what parses works
// with any values, within bounds.
func FuzzReason(f *testing.F) {
	for _, text := range []string{
		"Pod exceeds {{.score}}: {{.factors}}", `{{if and (gt .score 5) (eq .user "x")}}{{.pod}}{{else if .cluster}}{{else}}y{{end}}`,
		"{{range .}}{{end}}", `{{define "x"}}{{template "x"}}{{end}}`, "{{((((", "{{/* x */}}", "{{- 1 -}}", "{{.score.x}}", "{{nil}}",
	} {
		f.Add(text, 85, "web-0")
	}
	f.Fuzz(func(t *testing.T, text string, score int, name string) {
		parsed, err := parseReason(text)
		if err != nil {
			return
		}
		got, err := reasonValues{score: score, factors: name, pod: name, user: name, container: name}.render(parsed)
		if err != nil {
			t.Errorf("it parses and fails: %v", err)
		}
		if len(got) > maxReasonOutput {
			t.Errorf("it comes to %d bytes", len(got))
		}
	})
}
