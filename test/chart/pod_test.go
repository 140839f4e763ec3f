package chart_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/app/configfile"
	"github.com/sallyport-io/sallyport/internal/app/serve"
)

// deployed is the Deployment of a set, and arguments are what its first container is told:
// the flags that its configuration stands for, and those of extraArgs.
func deployed(t *testing.T, values ...string) (d *appsv1.Deployment, arguments []string) {
	t.Helper()
	rendered := render(t, guard, values...)
	d = one[appsv1.Deployment](t, rendered, "Deployment", "sallyport")
	args := d.Spec.Template.Spec.Containers[0].Args
	if len(args) < 2 || args[0] != "serve" || args[1] != "--config=/etc/sallyport/config/config.yaml" {
		t.Fatalf("%v: the arguments are %q", values, args)
	}
	return d, append(flagsOf(t, rendered), args[2:]...)
}

// configuration is the file that the pods read.
func configuration(t *testing.T, rendered string) string {
	t.Helper()
	return one[corev1.ConfigMap](t, rendered, "ConfigMap", "sallyport-config").Data["config.yaml"]
}

// flagsOf are the flags that the configuration stands for, as serve itself reads it.
func flagsOf(t *testing.T, rendered string) []string {
	t.Helper()
	content := configuration(t, rendered)
	var settings serve.Flags
	command := &cobra.Command{Use: "serve"}
	settings.Add(command)
	if err := configfile.Apply(command.Flags(), "config.yaml", []byte(content)); err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	var flags []string
	command.Flags().VisitAll(func(f *pflag.Flag) {
		switch list, isList := f.Value.(pflag.SliceValue); {
		case !f.Changed:
		case isList && f.Value.Type() == "stringArray":
			for _, value := range list.GetSlice() {
				flags = append(flags, "--"+f.Name+"="+value)
			}
		case isList:
			flags = append(flags, "--"+f.Name+"="+strings.Join(list.GetSlice(), ","))
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			flags = append(flags, "--"+f.Name)
		default:
			flags = append(flags, "--"+f.Name+"="+f.Value.String())
		}
	})
	return flags
}

// restricted refuses every pod that does not meet the standard.
const restricted = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: restricted}
spec:
  validationFailureAction: Enforce
  rules:
  - name: restricted
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: restricted, version: latest}}
`

// TestPodsAreRestricted has Sallyport itself judge what it runs as.
func TestPodsAreRestricted(t *testing.T) {
	policy := file(t, restricted)
	for _, c := range []struct {
		values []string
		want   int
	}{
		{[]string{set("minimal")}, 0}, {[]string{set("ha")}, 0}, {[]string{set("managed")}, 0}, {[]string{set("observe")}, 0}, {[]string{set("everything")}, 0},
		{[]string{set("minimal"), file(t, hostNetwork)}, 1},
		{[]string{set("minimal"), file(t, "securityContext: {capabilities: {drop: null}}")}, 1},
	} {
		rendered := render(t, guard, c.values...)
		var deployment string
		for _, document := range documents(rendered) {
			if strings.Contains(document, "\nkind: Deployment\n") {
				deployment = document
			}
		}
		command := exec.Command(binary, "check", "-p", policy, file(t, deployment))
		command.Env = append(os.Environ(), "KUBECONFIG=/nonexistent", "NO_COLOR=1")
		output, _ := command.CombinedOutput()
		if got := command.ProcessState.ExitCode(); got != c.want {
			t.Errorf("%v: check ends with %d, want %d:\n%s", c.values, got, c.want, output)
		}
		if !strings.Contains(string(output), "1 object judged") {
			t.Errorf("%v: %s", c.values, output)
		}
	}
}

// TestConfiguration has serve itself read the configuration of each set, and the arguments.
// Files that it reads at once are put where they are mounted.
func TestConfiguration(t *testing.T) {
	mounted := t.TempDir()
	for _, name := range sets {
		rendered := render(t, guard, set(name))
		for path, content := range map[string]string{
			"template-key/key":   "a secret of enough bytes",
			"config/config.yaml": strings.ReplaceAll(configuration(t, rendered), "/etc/sallyport/", mounted+"/"),
		} {
			at := filepath.Join(mounted, path)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := slices.Clone(one[appsv1.Deployment](t, rendered, "Deployment", "sallyport").Spec.Template.Spec.Containers[0].Args[1:])
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "/etc/sallyport/", mounted+"/")
		}
		var flags serve.Flags
		command := &cobra.Command{Use: "serve"}
		flags.Add(command)
		if err := command.ParseFlags(args); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if rest := command.Flags().Args(); len(rest) > 0 {
			t.Errorf("%s: %q are not flags", name, rest)
		}
		if _, err := flags.Complete(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigurationIsFollowed has the pods replaced where their configuration changes, and
// not where something else does.
func TestConfigurationIsFollowed(t *testing.T) {
	sum := func(values ...string) string {
		d, _ := deployed(t, append([]string{set("minimal")}, values...)...)
		return d.Spec.Template.Annotations["checksum/config"]
	}
	before := sum()
	if len(before) != 64 {
		t.Errorf("the pods are annotated with %q", before)
	}
	if after := sum(file(t, "log: {level: debug}")); after == before {
		t.Error("another configuration has the checksum of the first")
	}
	if after := sum(file(t, "replicas: 5")); after != before {
		t.Error("the same configuration has another checksum")
	}
	if after := sum(file(t, "podAnnotations: {a: b}")); after != before {
		t.Error("an annotation of the pods changes what stands for their configuration")
	}
}

// TestFilesAreMounted finds a file in the arguments that no volume brings, a volume that
// no container mounts, and one that is not there.
func TestFilesAreMounted(t *testing.T) {
	for _, name := range sets {
		d, args := deployed(t, set(name))
		pod := d.Spec.Template.Spec
		volumes := map[string]corev1.VolumeSource{}
		for _, v := range pod.Volumes {
			volumes[v.Name] = v.VolumeSource
		}
		at, used := map[string]string{}, map[string]bool{}
		for i, container := range pod.Containers {
			for _, m := range container.VolumeMounts {
				if _, ok := volumes[m.Name]; !ok {
					t.Errorf("%s: the volume %s is not there", name, m.Name)
				}
				used[m.Name] = true
				if i == 0 {
					at[m.MountPath] = m.Name
				}
			}
		}
		for volume := range volumes {
			if !used[volume] {
				t.Errorf("%s: no container mounts %s", name, volume)
			}
		}
		for _, arg := range args {
			_, path, _ := strings.Cut(arg, "=")
			if !strings.HasPrefix(path, "/") {
				continue
			}
			source, ok := volumes[at[filepath.Dir(path)]]
			switch {
			case !ok:
				t.Errorf("%s: no volume brings %s", name, arg)
			case source.Secret != nil && len(source.Secret.Items) > 0 && source.Secret.Items[0].Path != filepath.Base(path):
				t.Errorf("%s: %s is not in %+v", name, arg, source.Secret)
			case source.Secret != nil && *source.Secret.DefaultMode != 0o440:
				t.Errorf("%s: %s has the mode %o", name, arg, *source.Secret.DefaultMode)
			}
		}
	}
}

// TestMode: only the set that observes does.
func TestMode(t *testing.T) {
	for _, name := range sets {
		_, args := deployed(t, set(name))
		if want := map[bool]string{true: "--mode=observe", false: "--mode=enforce"}[name == "observe"]; !slices.Contains(args, want) {
			t.Errorf("%s: %q has no %s", name, args, want)
		}
	}
}

// TestWhoIsAsked: no set has a Sallyport that answers whoever reaches it.
func TestWhoIsAsked(t *testing.T) {
	for name, want := range map[string][]string{
		"minimal":    {"--addr=:8443", "--client-ca-file="},
		"ha":         {"--addr=:8443", "--client-ca-file="},
		"managed":    {"--addr=127.0.0.1:8080", "--insecure-http"},
		"observe":    {"--addr=:8443", "--auth-token-file="},
		"everything": {"--addr=:9443", "--auth-token-file=", "--client-ca-file="},
	} {
		_, args := deployed(t, set(name))
		var got []string
		for _, arg := range args {
			flag, value, _ := strings.Cut(arg, "=")
			switch flag {
			case "--addr", "--insecure-http":
				got = append(got, arg)
			case "--client-ca-file", "--auth-token-file":
				if value == "" {
					t.Errorf("%s: %s names no file", name, flag)
				}
				got = append(got, flag+"=")
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRollout: one replica after the other, each of them serving until nothing is sent to
// it any more, and with time left to end.
func TestRollout(t *testing.T) {
	for _, name := range sets {
		d, args := deployed(t, set(name))
		rolling, pod := d.Spec.Strategy.RollingUpdate, d.Spec.Template.Spec
		if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling.MaxUnavailable.String() != "0" {
			t.Errorf("%s: %+v", name, d.Spec.Strategy)
		}
		delay := 10
		if name == "observe" {
			delay = 0
		}
		if !slices.Contains(args, fmt.Sprintf("--shutdown-delay=%ds", delay)) || *pod.TerminationGracePeriodSeconds < int64(delay)+35 {
			t.Errorf("%s: %q, and %d seconds", name, args, *pod.TerminationGracePeriodSeconds)
		}
		if hook := pod.Containers[0].Lifecycle; hook != nil {
			t.Errorf("%s: it sleeps by a hook too, and does not know that it is ending: %+v", name, hook)
		}
		for _, c := range pod.TopologySpreadConstraints {
			if c.LabelSelector == nil || len(c.LabelSelector.MatchLabels) != 2 {
				t.Errorf("%s: %+v is about all pods or none", name, c)
			}
		}
	}
}

// TestMemory tells Go to stay below what the container may take.
func TestMemory(t *testing.T) {
	for limits, want := range map[string]string{
		"{memory: 512Mi}": "460MiB", "{memory: 1Gi}": "921MiB", "{memory: 100Mi}": "90MiB", "{memory: 1.5Gi}": "", "{memory: 1000000000}": "", "{memory: null}": "", "null": "",
	} {
		d, _ := deployed(t, set("minimal"), file(t, "resources: {limits: "+limits+"}"))
		got := ""
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			if e.Name == "GOMEMLIMIT" {
				got = e.Value
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", limits, got, want)
		}
	}
}

// hostNetwork is what the network of nodes needs: no two replicas on one.
const hostNetwork = "hostNetwork: true\nupdateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n"

// TestHostNetwork resolves names of the cluster from the network of a node.
func TestHostNetwork(t *testing.T) {
	for values, want := range map[string]corev1.DNSPolicy{hostNetwork: corev1.DNSClusterFirstWithHostNet, hostNetwork + "dnsPolicy: Default": corev1.DNSDefault, "hostNetwork: false": ""} {
		d, _ := deployed(t, set("minimal"), file(t, values))
		if pod := d.Spec.Template.Spec; pod.DNSPolicy != want || pod.HostNetwork != strings.Contains(values, "true") {
			t.Errorf("%s: %s, %v", values, pod.DNSPolicy, pod.HostNetwork)
		}
	}
}
