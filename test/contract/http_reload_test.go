package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// replaceFile puts a file in place in one step, as careful tools do.
func replaceFile(t *testing.T, path, text string) {
	t.Helper()
	staged := filepath.Join(t.TempDir(), "staged")
	writeFile(t, staged, text)
	if err := os.Rename(staged, path); err != nil {
		t.Fatal(err)
	}
}

// TestServeReload follows a directory through good and bad changes.
func TestServeReload(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"policy.yaml": denyPolicy("guard", "{blockFactors: [hostPID]}"),
		"pods.yaml":   documents(t, newPod("shop", "pid", hostPID), newPod("shop", "ipc", hostIPC)),
	})
	s := serve(t, dir)
	denied := func(pod string) bool {
		return s.authorize(t, "/authorize", enterPod(t, "create", "shop", pod, "exec")).Denied
	}
	if !denied("pid") || denied("ipc") {
		t.Fatal("the first policy does not decide as it says")
	}

	replaceFile(t, filepath.Join(dir, "policy.yaml"), denyPolicy("guard", "{blockFactors: [hostIPC]}"))
	eventually(t, "a changed policy decides", func() bool { return denied("ipc") && !denied("pid") })

	replaceFile(t, filepath.Join(dir, "more.yaml"), denyPolicy("more", "{blockFactors: [hostPID]}"))
	eventually(t, "a further policy decides", func() bool { return denied("ipc") && denied("pid") })

	if err := os.Remove(filepath.Join(dir, "more.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a removed policy does not decide", func() bool { return denied("ipc") && !denied("pid") })

	replaceFile(t, filepath.Join(dir, "pods.yaml"), documents(t, newPod("shop", "pid", hostPID), newPod("shop", "ipc", hostIPC), newPod("shop", "late", hostIPC)))
	eventually(t, "a new pod is judged", func() bool {
		status := s.authorize(t, "/authorize", enterPod(t, "create", "shop", "late", "exec"))
		return status.Denied && strings.Contains(status.Reason, "hostIPC")
	})
}

var loadMetric = regexp.MustCompile(`(?m)^sallyport_[a-z_]*(?:load|polic)[a-z_]*(?:\{[^}]*\})? \S+$`)

// TestServeKeepsTheLastGoodSet breaks one of two files: nothing of the change
// is applied, what was there before decides, and it is told in three places.
func TestServeKeepsTheLastGoodSet(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"policy.yaml": denyPolicy("guard", "{blockFactors: [hostPID]}"),
		"pods.yaml":   documents(t, newPod("shop", "pid", hostPID), newPod("shop", "ipc", hostIPC)),
	})
	s := serve(t, dir)
	denied := func(pod string) bool {
		return s.authorize(t, "/authorize", enterPod(t, "create", "shop", pod, "exec")).Denied
	}
	before := loadMetric.FindAllString(s.get(t, "/metrics"), -1)

	replaceFile(t, filepath.Join(dir, "broken.yaml"), denyPolicy("wrong", "{blockFactors: [hostPidd]}"))
	eventually(t, "the log names the bad file", func() bool {
		log := s.log.String()
		return strings.Contains(log, "broken.yaml") && strings.Contains(log, "hostPidd")
	})
	eventually(t, "readiness names the bad file", func() bool {
		plain := s.request(t, "GET", "/readyz", "", "").body
		verbose := s.request(t, "GET", "/readyz?verbose", "", "").body
		return strings.Contains(plain+verbose, "broken.yaml")
	})
	eventually(t, "a metric tells of the bad change", func() bool {
		after := loadMetric.FindAllString(s.get(t, "/metrics"), -1)
		return strings.Join(after, "\n") != strings.Join(before, "\n")
	})

	// A good change beside the bad one is not applied: the set is one. The bad
	// file is changed after it, so that the log tells when both were read.
	replaceFile(t, filepath.Join(dir, "policy.yaml"), denyPolicy("guard", "{blockFactors: [hostIPC]}"))
	replaceFile(t, filepath.Join(dir, "broken.yaml"), denyPolicy("wrong", "{blockFactors: [hostIpcc]}"))
	eventually(t, "the log tells of the next bad change", func() bool { return strings.Contains(s.log.String(), "hostIpcc") })
	if !denied("pid") || denied("ipc") {
		t.Error("with a bad file beside it, the last good set does not decide")
	}

	if err := os.Remove(filepath.Join(dir, "broken.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the good change decides once the bad file is gone", func() bool { return denied("ipc") && !denied("pid") })
	eventually(t, "readiness says nothing of the bad file any more", func() bool {
		return !strings.Contains(s.get(t, "/readyz")+s.request(t, "GET", "/readyz?verbose", "", "").body, "broken.yaml")
	})
}
