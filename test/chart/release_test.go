package chart_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// release is one of the chart: by Helm's own program where there is one, and otherwise
// by what Helm's library renders, in the order in which Helm applies and deletes it.
type release struct {
	t         *testing.T
	lab       *lab.Lab
	helm      string
	namespace string
	// rendered is what the release consists of, where it is not Helm that knows.
	rendered []string
}

func newRelease(t *testing.T, l *lab.Lab, namespace string) *release {
	helm, err := exec.LookPath(cmp.Or(os.Getenv("HELM"), "helm"))
	if err != nil {
		helm = ""
	}
	return &release{t: t, lab: l, helm: helm, namespace: namespace}
}

// run runs Helm, with the values in files.
func (r *release) run(args ...string) {
	r.t.Helper()
	kubeconfig, err := r.lab.Kubeconfig(r.t.Context(), lab.Admin)
	if err != nil {
		r.t.Fatal(err)
	}
	command := exec.Command(r.helm, append(args, "--namespace", r.namespace, "--kubeconfig", kubeconfig)...)
	command.Env = []string{"HOME=" + r.t.TempDir(), "PATH=" + os.Getenv("PATH")}
	if out, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("helm %v: %v\n%s", args, err, out)
	}
}

// upgrade installs the release, or brings it to other values.
func (r *release) upgrade(values ...string) {
	r.t.Helper()
	if r.helm != "" {
		args := []string{"upgrade", "--install", "sallyport", chart}
		for _, file := range values {
			args = append(args, "--values", file)
		}
		r.run(args...)
		return
	}
	before := r.rendered
	r.rendered = documents(render(r.t, r.namespace, values...))
	r.kubectl(r.rendered, "apply", "--server-side", "--force-conflicts", "-f", "-")
	gone := slices.DeleteFunc(before, func(d string) bool {
		return slices.ContainsFunc(r.rendered, func(now string) bool { return of(r.t, now) == of(r.t, d) })
	})
	if len(gone) > 0 {
		r.kubectl(gone, "delete", "--wait=false", "--ignore-not-found", "-f", "-")
	}
}

// of is the kind and the name of an object.
func of(t *testing.T, document string) string {
	t.Helper()
	o := objects(t, document)[0]
	return o.GetKind() + " " + o.GetName()
}

// uninstall takes the release away.
func (r *release) uninstall(values ...string) {
	r.t.Helper()
	if r.helm != "" {
		r.run("uninstall", "sallyport")
		return
	}
	flags := []string{"-uninstall", "-namespace", r.namespace}
	for _, file := range values {
		flags = append(flags, "-values", file)
	}
	rendered, err := try(flags...)
	if err != nil {
		r.t.Fatal(err)
	}
	going := slices.DeleteFunc(documents(rendered), func(d string) bool { return strings.Contains(d, "helm.sh/resource-policy: keep") })
	r.kubectl(going, "delete", "--wait=false", "--ignore-not-found", "-f", "-")
}

func (r *release) kubectl(manifests []string, args ...string) {
	r.t.Helper()
	in := bytes.NewBufferString(strings.Join(manifests, "\n---\n"))
	if result := r.lab.Run(r.t.Context(), lab.Kubectl{User: lab.Admin, Args: args, Stdin: in}); !result.OK() {
		r.t.Fatal(result)
	}
}
