package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func revisionJSON(owner, data string) string {
	refs := ""
	if owner != "" {
		refs = `"ownerReferences":[{"controller":true,"name":"web","uid":"u",` + owner + `}]`
	}
	return `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{` + refs + `},"data":` + strings.ReplaceAll(data, ":T", ":"+templateText) + `}`
}

func podPaths(o *Object) []string {
	var paths []string
	for _, p := range o.Pods {
		paths = append(paths, p.Path)
	}
	return paths
}

// TestRevisionOwners reads revisions by the kind that they say they are of, and
// by what controllers go by.
func TestRevisionOwners(t *testing.T) {
	const plain = `{"spec":{"template":T}}`
	template := []string{"data.spec.template"}
	for _, c := range []struct {
		name, owner, data string
		// want is read while nobody knows whether the owner is there, and settled once
		// it is known to be.
		want, settled []string
		unless        bool
		fault         string
	}{
		{"a stateful set's", `"apiVersion":"apps/v1","kind":"StatefulSet"`, plain, template, template, false, ""},
		{"a daemon set's", `"apiVersion":"apps/v1","kind":"DaemonSet"`, plain, template, template, false, ""},
		{"nobody's", ``, plain, template, template, false, ""},
		{"of no version", `"apiVersion":"a/b/c","kind":"X"`, plain, template, template, false, ""},
		{"of a kind whose pods stand there as well", `"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet"`, plain, template, template, false, ""},
		{"said to be a virtual machine's", `"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"`, plain, template, nil, true, ""},
		{"said to be a stateful set of another group", `"apiVersion":"example.com/v1","kind":"StatefulSet"`, plain, template, nil, true, ""},
		{"said to be a cron job's", `"apiVersion":"batch/v1","kind":"CronJob"`, plain, template, nil, true, ""},
		{"said to be a pod's", `"apiVersion":"v1","kind":"Pod"`, plain, template, nil, true, ""},
		{"said to be a revision's", `"apiVersion":"apps/v1","kind":"ControllerRevision"`, plain, template, nil, true, ""},
		{"of groups of pods", `"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet"`,
			`{"spec":{"leaderWorkerTemplate":{"workerTemplate":T},"template":T}}`,
			[]string{"data.spec.template", "data.spec.leaderWorkerTemplate.workerTemplate"}, []string{"data.spec.leaderWorkerTemplate.workerTemplate"}, true, ""},
		{"a virtual machine's that is not a template", `"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"`, `{"spec":{"template":{"spec":{"volumes":"x"}}}}`,
			nil, nil, true, "data.spec.template.spec.volumes: found a string"},
		{"a virtual machine's with names in another case", `"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"`, `{"Spec":{"template":T}}`, nil, nil, true, "data.Spec: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := mustDecode(t, schema.GroupVersionKind{}, revisionJSON(c.owner, c.data))
			if diff := cmp.Diff(c.want, podPaths(o)); diff != "" {
				t.Error(diff)
			}
			if (o.Unless != nil) != c.unless {
				t.Errorf("unless %v", o.Unless)
			}
			if (o.Fault != nil) != (c.fault != "") || o.Fault != nil && !strings.Contains(o.Fault.Error(), c.fault) {
				t.Errorf("fault %v, want %q", o.Fault, c.fault)
			}
			if !c.unless {
				return
			}
			there, gone := o.Settled(true), o.Settled(false)
			if diff := cmp.Diff(c.settled, podPaths(there)); diff != "" || there.Fault != nil || there.Unless != nil {
				t.Errorf("there: %v %v", diff, there.Fault)
			}
			if diff := cmp.Diff(c.want, podPaths(gone)); diff != "" || (gone.Fault != nil) != (c.fault != "") {
				t.Errorf("not there: %v %v", diff, gone.Fault)
			}
		})
	}
}

// TestFaults finds names that some readers take for a field, at every level of what
// the API server keeps as it is.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, document, path string }{
		{"a revision", revisionJSON("", `{"spec":{"template":T}}`), ""},
		{"data", revisionJSON("", `{"Spec":{"template":T}}`), "data.Spec"},
		{"spec", revisionJSON("", `{"spec":{"Template":T,"template":T}}`), "data.spec.Template"},
		{"beside the template", revisionJSON("", `{"spec":{"template":T,"ServiceName":"x"}}`), "data.spec.ServiceName"},
		{"metadata", revisionJSON("", `{"spec":{"template":{"Metadata":{"annotations":{"a":"b"}}}}}`), "data.spec.template.Metadata"},
		{"annotations", revisionJSON("", `{"spec":{"template":{"metadata":{"Annotations":{"a":"b"}}}}}`), "data.spec.template.metadata.Annotations"},
		{"the account", revisionJSON("", `{"spec":{"template":{"spec":{"ServiceAccountName":"b"}}}}`), "data.spec.template.spec.ServiceAccountName"},
		{"a volume", revisionJSON("", `{"spec":{"template":{"spec":{"volumes":[{"Projected":{}}]}}}}`), "data.spec.template.spec.volumes[0].Projected"},
		{"keys of maps are not fields", revisionJSON("", `{"spec":{"template":{"metadata":{"annotations":{"Spec":"b"},"labels":{"IMAGE":"x"}}}}}`), ""},
		{"of a custom kind", revisionJSON(`"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet"`, `{"spec":{"leaderWorkerTemplate":{"WorkerTemplate":T}}}`), "data.spec.leaderWorkerTemplate.WorkerTemplate"},

		{"a rollout", `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","spec":{"template":` + templateText + `}}`, ""},
		{"a rollout's spec", `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","Spec":{"template":` + templateText + `}}`, "Spec"},
		{"a rollout's metadata", `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","Metadata":{}}`, "Metadata"},
		{"a rollout's template", `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","spec":{"template":{"metadata":{"Annotations":{}}}}}`, "spec.template.metadata.Annotations"},
		{"fields of a rollout's own", `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","spec":{"Strategy":{"Canary":{}}}}`, ""},
		{"a list of templates", `{"apiVersion":"argoproj.io/v1alpha1","kind":"Experiment","spec":{"templates":[{},{"Template":{}}]}}`, "spec.templates[1].Template"},
		{"a map of templates", `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","spec":{"tfReplicaSpecs":{"PS":{"template":{"Spec":{}}}}}}`, "spec.tfReplicaSpecs.PS.template.Spec"},
		{"an object that is a template", `{"apiVersion":"serving.knative.dev/v1","kind":"Revision","spec":{"Containers":[]}}`, "spec.Containers"},
		{"a kind of Kubernetes, whose API server drops it", `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"Spec":{}}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := mustDecode(t, schema.GroupVersionKind{}, c.document)
			if (o.Fault != nil) != (c.path != "") || o.Fault != nil && !strings.Contains(o.Fault.Error(), c.path+": the field is written") {
				t.Errorf("fault %v, want one at %q", o.Fault, c.path)
			}
		})
	}
}

// TestDecodeRevision reads a revision by the kind of an owner that is known.
func TestDecodeRevision(t *testing.T) {
	raw := []byte(revisionJSON(`"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"`, `{"spec":{"template":T}}`))
	for kind, want := range map[schema.GroupKind]int{
		statefulSetKind: 1, daemonSetKind: 1, {Group: "apps.kruise.io", Kind: "CloneSet"}: 1, {Group: "batch", Kind: "CronJob"}: 0, {Kind: "Pod"}: 0, {Group: "kubevirt.io", Kind: "VirtualMachine"}: 0,
	} {
		o, err := Default().DecodeRevision(raw, kind)
		if err != nil || len(o.Pods) != want {
			t.Errorf("%s: %v, %v", kind, o, err)
		}
	}
	if _, err := Default().DecodeRevision([]byte(`{"kind":"Pod"}`), statefulSetKind); err == nil {
		t.Error("another kind is read as a revision")
	}
	if _, err := Default().DecodeRevision([]byte(revisionJSON("", `{"spec":{"template":1}}`)), statefulSetKind); err == nil {
		t.Error("a template that is a number is read")
	}
	if o, err := Default().DecodeRevision([]byte(revisionJSON("", `null`)), statefulSetKind); err != nil || len(o.Pods) != 0 {
		t.Errorf("%v, %v", o, err)
	}
}
