package serve

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/controller/clusters"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// noClusters takes no further clusters.
func noClusters(t *testing.T) *clusters.Files {
	t.Helper()
	return further(t, clusters.Options{}, nil)
}

// further makes what takes further clusters, by the paths of their kubeconfigs.
func further(t *testing.T, o clusters.Options, paths map[string]string) *clusters.Files {
	t.Helper()
	o.Clock, o.Log = clock.RealClock{}, logr.Discard()
	hub := clusters.NewHub(o)
	files, err := clusters.NewFiles(hub, paths)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return files
}

// TestFurtherClusters says that a ClusterConfig in a file needs a kubeconfig that
// is named, and that what cannot be is refused whole.
func TestFurtherClusters(t *testing.T) {
	const deny = "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\nspec: {podSecurityRules: {blockFactors: [hostPID]}}\n---\n"
	const config = "apiVersion: sallyport.io/v1alpha1\nkind: ClusterConfig\nmetadata: {name: %s}\nspec: {%s}\n"
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "b.kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: x}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`), 0o600); err != nil {
		t.Fatal(err)
	}
	files := further(t, clusters.Options{Own: "hub"}, map[string]string{"b": kubeconfig})
	for _, tt := range []struct{ name, config, want string }{
		{"one that is named", fmt.Sprintf(config, "b", "tenant: t"), ""},
		{"one that is not", fmt.Sprintf(config, "c", "tenant: t"), "--cluster-kubeconfig c=PATH"},
		{"the server's own", fmt.Sprintf(config, "b", "clusterID: HUB"), "--cluster-name"},
		{"an unknown field", fmt.Sprintf(config, "b", "labels: {a: b}"), "labels"},
		{"a name that is none", fmt.Sprintf(config, "b", `clusterID: "b*"`), "spec.clusterID"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(deny+tt.config), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := newFileSource([]string{dir}, policy.NewStore(pod.Default(), time.Now, exception.Options{}), &contexthost.Files{}, files, slog.New(slog.DiscardHandler), clock.RealClock{})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
