//go:build long

package chart_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/test/lab"
)

// buildSkewed builds the program with a clock that is wrong by as many seconds as the
// variable SKEW says. Only what the time of day is differs: what has passed is measured as
// ever.
func buildSkewed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const is = "return Time{hasMonotonic | uint64(sec)<<nsecShift | uint64(nsec), mono, Local}\n}\n"
	if strings.Count(string(source), is) != 1 {
		t.Fatal("time.Now is another than it was: the clock cannot be set")
	}
	source = []byte(strings.Replace(string(source), is, `return Time{hasMonotonic | uint64(sec+skew)<<nsecShift | uint64(nsec), mono, Local}
}

var skew = func() int64 {
	text, _ := syscall.Getenv("SKEW")
	seconds, negative := int64(0), false
	for i := range len(text) {
		if text[i] == '-' {
			negative = true
			continue
		}
		seconds = seconds*10 + int64(text[i]-'0')
	}
	if negative {
		return -seconds
	}
	return seconds
}()
`, 1))
	source = []byte(strings.Replace(string(source), "import (\n", "import (\n\t\"syscall\"\n", 1))
	changed, overlay, binary := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "skewed")
	content, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{changed: source, overlay: content} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-overlay", overlay, "-o", binary, "../../cmd/sallyport")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return binary
}

// wrongClocks adds two replicas to those of the Deployment, has one of them lead, and has
// policies take effect meanwhile.
func (c *runningChart) wrongClocks() {
	deployment, err := c.lab.Client.AppsV1().Deployments(guard).Get(c.Context(), "sallyport", metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	pods := c.lab.Client.CoreV1().Pods(guard)
	names := map[string]int{"ahead": 3600, "behind": -3600}
	for name, skew := range names {
		pod := &corev1.Pod{ObjectMeta: *deployment.Spec.Template.ObjectMeta.DeepCopy(), Spec: *deployment.Spec.Template.Spec.DeepCopy()}
		pod.Name = name
		container := &pod.Spec.Containers[0]
		container.Image = skewed + ":1"
		container.Env = append(container.Env, corev1.EnvVar{Name: "SKEW", Value: strconv.Itoa(skew)})
		if _, err := pods.Create(c.Context(), pod, metav1.CreateOptions{}); err != nil {
			c.Fatal(err)
		}
	}
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "-n", guard, "wait", "pod/ahead", "pod/behind", "--for=condition=Ready", "--timeout=120s"))
	c.holds("two replicas with wrong clocks came")
	led := map[string]bool{}
	for range 20 {
		leader := c.leader()
		if _, wrong := names[leader]; wrong && !led[leader] {
			led[leader] = true
			c.holds("one leads whose clock is " + leader)
		}
		if led["ahead"] || led["behind"] {
			break
		}
		c.must(c.lab.Kubectl(c.Context(), lab.Admin, "-n", guard, "delete", "pod", leader))
		eventually(c.T, "another leads", func(context.Context) bool { now := c.leader(); return now != "" && now != leader })
		c.rolledOut()
	}
	if len(led) == 0 {
		c.Error("none with a wrong clock has led")
	}
	c.must(c.lab.Kubectl(c.Context(), lab.Admin, "-n", guard, "delete", "pod", "ahead", "behind"))
}

// metric is the sum of a metric over all replicas.
func (c *runningChart) metric(ctx context.Context, name string) (sum float64) {
	c.Helper()
	pods, err := c.lab.Client.CoreV1().Pods(guard).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=sallyport"})
	if err != nil {
		return 0
	}
	certificate, err := tls.LoadX509KeyPair(c.lab.CallerCertificate())
	if err != nil {
		c.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate}}, DisableKeepAlives: true}}
	for _, p := range pods.Items {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://%s:8443/metrics", p.Status.PodIP), nil)
		if err != nil {
			c.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			continue
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			continue
		}
		for line := range strings.Lines(string(body)) {
			if value, ok := strings.CutPrefix(line, name+" "); ok {
				if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
					sum += v
				}
			}
		}
	}
	return sum
}
