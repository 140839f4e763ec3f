package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// doors are the two ways in which one access reaches the product.
var doors = []string{"access", "admission"}

// apiVersions are those that a DenyPolicy may be written in.
var apiVersions = []string{"sallyport.io/v1alpha1", "breakglass.t-caas.telekom.com/v1alpha1"}

// access judges one access with the policies and objects of dir.
func access(t *testing.T, dir, subresource, pod string, flags ...string) *judgement {
	t.Helper()
	return judge(t, append([]string{"access", subresource, pod, "-p", dir}, flags...)...)
}

// judgePod judges an exec into a pod under one policy.
func judgePod(t *testing.T, policy string, pod any, name string, flags ...string) *judgement {
	t.Helper()
	dir := files(t, map[string]string{"policy.yaml": policy, "pods.yaml": documents(t, pod)})
	return access(t, dir, "exec", name, flags...)
}

// examplePolicy returns one of the example policies of the document "Pod
// Security Risk Classification", in the given apiVersion.
func examplePolicy(t *testing.T, name, apiVersion string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "policies", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(raw), apiVersions[1], apiVersion, 1)
}
