package policyserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// entry is a policy in a file of policies: the fields of document "Context Aware
// Policies", and those of a policy of the API server beside them.
type entry struct {
	URL             string                       `json:"url"`
	Namespace       string                       `json:"namespace,omitempty"`
	PolicyMode      v1alpha1.AdmissionPolicyMode `json:"policyMode,omitempty"`
	AllowedToMutate bool                         `json:"allowedToMutate"`
	Settings        json.RawMessage              `json:"settings,omitempty"`
	ContextAware    []v1alpha1.ContextGrant      `json:"contextAware,omitempty"`
	Capabilities    []v1alpha1.HostCapability    `json:"capabilities,omitempty"`

	Rules             []admissionregistrationv1.RuleWithOperations `json:"rules,omitempty"`
	NamespaceSelector *metav1.LabelSelector                        `json:"namespaceSelector,omitempty"`
	ObjectSelector    *metav1.LabelSelector                        `json:"objectSelector,omitempty"`
	MatchConditions   []admissionregistrationv1.MatchCondition     `json:"matchConditions,omitempty"`
	FailurePolicy     v1alpha1.FailurePolicy                       `json:"failurePolicy,omitempty"`
	TimeoutSeconds    *int32                                       `json:"timeoutSeconds,omitempty"`
	BackgroundAudit   *bool                                        `json:"backgroundAudit,omitempty"`
	Message           string                                       `json:"message,omitempty"`
}

// entryOf is what a file says of a policy.
func entryOf(p *hosted) entry {
	e := entry{
		URL: p.spec.Module, Namespace: p.ref.Namespace, PolicyMode: p.spec.Mode, AllowedToMutate: p.spec.Mutating,
		Rules: p.spec.Rules, ObjectSelector: p.spec.ObjectSelector, MatchConditions: p.spec.MatchConditions,
		FailurePolicy: p.spec.FailurePolicy, TimeoutSeconds: p.spec.TimeoutSeconds, BackgroundAudit: p.spec.BackgroundAudit, Message: p.spec.Message,
	}
	if p.spec.Settings != nil && !bytes.Equal(bytes.TrimSpace(p.spec.Settings.Raw), []byte("null")) {
		e.Settings = p.spec.Settings.Raw
	}
	if p.wide != nil {
		e.ContextAware, e.Capabilities, e.NamespaceSelector = p.wide.ContextAware, p.wide.Capabilities, p.wide.NamespaceSelector
	}
	return e
}

// file has the policies of a server by their ids, each as it is written.
type file map[string]json.RawMessage

// bytes writes the file, as JSON, which is YAML too: so numbers in settings stay as
// they were written. The order is that of ids.
func (f file) bytes() ([]byte, error) {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", PoliciesFile, err)
	}
	return append(text, '\n'), nil
}

// readFile reads what bytes wrote. A file that somebody else wrote into is taken
// for an empty one, and so replaced.
func readFile(text string) file {
	f := file{}
	if json.Unmarshal([]byte(text), &f) != nil {
		return file{}
	}
	for id, raw := range f {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return file{}
		}
		f[id] = compact.Bytes()
	}
	return f
}

// maxFile bounds the file: a ConfigMap holds one MiB, with its names and the rest.
const maxFile = 1000 << 10

// entrySize is what an entry adds to the file at most.
func entrySize(id string, raw json.RawMessage) int {
	var indented bytes.Buffer
	if json.Indent(&indented, raw, "  ", "  ") != nil {
		return maxFile
	}
	return indented.Len() + len(id) + 10
}

// fill makes the file of these policies, oldest first, and returns those for which
// there is no room. What stands in the file already is not pushed out by what is
// new or has changed; keep are entries that stay whatever the policies say.
func fill(policies []*hosted, before, keep file) (made file, without map[string]string, err error) {
	made, without = file{}, map[string]string{}
	size := 0
	put := func(id string, raw json.RawMessage) bool {
		n := entrySize(id, raw)
		if size+n > maxFile {
			return false
		}
		made[id], size = raw, size+n
		return true
	}
	for _, id := range slices.Sorted(maps.Keys(keep)) {
		put(id, keep[id])
	}
	fresh := map[string]json.RawMessage{}
	for _, p := range policies {
		if fresh[p.id], err = json.Marshal(entryOf(p)); err != nil {
			return nil, nil, fmt.Errorf("%s cannot be written: %w", p.ref, err)
		}
		if old, ok := before[p.id]; ok && bytes.Equal(old, fresh[p.id]) && put(p.id, old) {
			delete(fresh, p.id)
		}
	}
	for _, p := range policies {
		raw, ok := fresh[p.id]
		if !ok || put(p.id, raw) {
			continue
		}
		without[p.id] = fmt.Sprintf("the policies of a PolicyServer have room for %d bytes together, and this one does not fit any more; have another PolicyServer run it, or make its settings smaller", maxFile)
		if old, had := before[p.id]; had && put(p.id, old) {
			without[p.id] += "; the version before stays in force"
		}
	}
	return made, without, nil
}
