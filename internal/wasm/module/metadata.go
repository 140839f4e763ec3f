package module

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Rule is what a policy is meant for, as in a webhook's configuration.
type Rule struct {
	APIGroups   []string `json:"apiGroups"`
	APIVersions []string `json:"apiVersions"`
	Resources   []string `json:"resources"`
	Operations  []string `json:"operations"`
	Scope       string   `json:"scope,omitempty"`
}

// ContextResource is a resource that a module reads, by its kind.
type ContextResource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// ContextEntry is a resource that a module reads, as the document "Context Aware
// Policies" writes it.
type ContextEntry struct {
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// The ways to run a module, and what it judges.
const (
	WaPC       = "kubewarden-wapc"
	WASI       = "wasi"
	OPA        = "opa"
	Gatekeeper = "gatekeeper"

	Kubernetes = "kubernetes"
	RawPolicy  = "raw"
)

// Metadata is what the author of a module says of it. Read and ReadYAML fill in
// the defaults.
type Metadata struct {
	ProtocolVersion       string
	Rules                 []Rule
	Annotations, Labels   map[string]string
	Mutating              bool
	BackgroundAudit       bool
	ContextAwareResources []ContextResource
	ContextAware          []ContextEntry
	// HostCapabilities are the calls beside reads that the module makes.
	HostCapabilities []string
	// ExecutionMode is WaPC, WASI, OPA, Gatekeeper, or one that is not known here.
	ExecutionMode string
	// PolicyType is Kubernetes or RawPolicy.
	PolicyType               string
	MinimumKubewardenVersion string
	// Unknown are the fields that are not known here, as they stand. They are kept
	// when the metadata is written.
	Unknown map[string]apijson.Raw
}

// Read reads the metadata of a module; nil if it has none.
func Read(wasm []byte) (*Metadata, error) {
	s, err := find(wasm)
	if err != nil {
		return nil, fmt.Errorf("the module cannot be used: %w", err)
	}
	if s == nil {
		return nil, nil
	}
	m, err := parse(s.data)
	if err != nil {
		return nil, fmt.Errorf("the module's metadata, section %s, cannot be read: %w", MetadataSection, err)
	}
	return m, nil
}

// ReadYAML reads metadata that somebody wrote in YAML or JSON.
func ReadYAML(text []byte) (*Metadata, error) {
	if len(text) > MaxMetadata {
		return nil, fmt.Errorf("the metadata has %d bytes; %d are read at most", len(text), MaxMetadata)
	}
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("the metadata is not YAML: %w", err)
	}
	m, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("the metadata cannot be read: %w", err)
	}
	return m, nil
}

// Annotate gives the module with the metadata in place of what it had.
func Annotate(wasm []byte, m *Metadata) ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	data, err := m.JSON()
	if err != nil {
		return nil, fmt.Errorf("the metadata cannot be written: %w", err)
	}
	out, err := replace(wasm, data)
	if err != nil {
		return nil, fmt.Errorf("the module cannot be annotated: %w", err)
	}
	return out, nil
}

// fields gives what each field of the JSON is read into and written from.
func (m *Metadata) fields() map[string]any {
	return map[string]any{
		"protocolVersion": &m.ProtocolVersion, "rules": &m.Rules, "annotations": &m.Annotations, "labels": &m.Labels,
		"mutating": &m.Mutating, "backgroundAudit": &m.BackgroundAudit, "contextAwareResources": &m.ContextAwareResources,
		"contextAware": &m.ContextAware, "hostCapabilities": &m.HostCapabilities, "executionMode": &m.ExecutionMode, "policyType": &m.PolicyType,
		"minimumKubewardenVersion": &m.MinimumKubewardenVersion,
	}
}

func parse(data []byte) (*Metadata, error) {
	m := &Metadata{BackgroundAudit: true, ExecutionMode: WaPC, PolicyType: Kubernetes}
	fields := m.fields()
	err := apijson.Read(data, func(d *apijson.Decoder) error {
		return d.Object(func(name string) error {
			if into, ok := fields[name]; ok {
				return d.Decode(into)
			}
			for right := range fields {
				if strings.EqualFold(name, right) {
					return fmt.Errorf("field %q is not known; it is spelled %q", name, right)
				}
			}
			raw, err := d.Raw()
			if m.Unknown == nil {
				m.Unknown = map[string]apijson.Raw{}
			}
			m.Unknown[name] = slices.Clone(raw)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// JSON writes the metadata as it stands in a module.
func (m *Metadata) JSON() ([]byte, error) {
	out := map[string]any{}
	for name, raw := range m.Unknown {
		out[name] = raw
	}
	maps.Copy(out, map[string]any{
		"rules": append([]Rule{}, m.Rules...), "mutating": m.Mutating, "backgroundAudit": m.BackgroundAudit,
		"contextAwareResources": append([]ContextResource{}, m.ContextAwareResources...),
		"executionMode":         m.ExecutionMode, "policyType": m.PolicyType,
	})
	for name, value := range map[string]string{"protocolVersion": m.ProtocolVersion, "minimumKubewardenVersion": m.MinimumKubewardenVersion} {
		if value != "" {
			out[name] = value
		}
	}
	for name, value := range map[string]map[string]string{"annotations": m.Annotations, "labels": m.Labels} {
		if value != nil {
			out[name] = value
		}
	}
	if m.ContextAware != nil {
		out["contextAware"] = m.ContextAware
	}
	if m.HostCapabilities != nil {
		out["hostCapabilities"] = m.HostCapabilities
	}
	return apijson.Marshal(out)
}

// Unread names the fields that are not known here, sorted.
func (m *Metadata) Unread() []string { return slices.Sorted(maps.Keys(m.Unknown)) }

// Declared is what the module says that it reads, as grants of it.
func (m *Metadata) Declared() []contextgate.Grant {
	var grants []contextgate.Grant
	for _, e := range m.ContextAware {
		grants = append(grants, contextgate.Grant{Group: e.Group, Version: e.Version, Resource: e.Resource})
	}
	for _, r := range m.ContextAwareResources {
		group, version, ok := strings.Cut(r.APIVersion, "/")
		if !ok {
			group, version = "", r.APIVersion
		}
		grants = append(grants, contextgate.Grant{Group: group, Version: version, Kind: r.Kind})
	}
	return grants
}

// Check says all that is wrong with the metadata; nil if nothing is.
func (m *Metadata) Check() error {
	var wrong []error
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if modes := []string{WaPC, WASI, OPA, Gatekeeper}; !slices.Contains(modes, m.ExecutionMode) {
		add("executionMode: %q cannot be run here; there are %s", m.ExecutionMode, strings.Join(modes, ", "))
	}
	if m.PolicyType != Kubernetes && m.PolicyType != RawPolicy {
		add("policyType: %q is not known; there are %s and %s", m.PolicyType, Kubernetes, RawPolicy)
	}
	// Where a protocol has no versions, the tools of the ecosystem write Unknown.
	if v := m.ProtocolVersion; v != "" && v != "v1" && !(v == "Unknown" && m.ExecutionMode != WaPC) {
		add("protocolVersion: %q is not known; there is v1", v)
	}
	for i, r := range m.Rules {
		r.check(func(field, format string, args ...any) {
			add("rules[%d].%s: "+format, append([]any{i, field}, args...)...)
		})
	}
	for i, r := range m.ContextAwareResources {
		if r.APIVersion == "" || r.Kind == "" {
			add("contextAwareResources[%d]: apiVersion and kind are both needed", i)
		}
	}
	for i, e := range m.ContextAware {
		if e.Version == "" || e.Resource == "" {
			add("contextAware[%d]: version and resource are both needed", i)
		}
	}
	return errors.Join(wrong...)
}

func (r *Rule) check(wrong func(field, format string, args ...any)) {
	for field, list := range map[string][]string{
		"apiGroups": r.APIGroups, "apiVersions": r.APIVersions, "resources": r.Resources, "operations": r.Operations,
	} {
		if len(list) == 0 {
			wrong(field, "it is empty, so the rule is for nothing")
		}
		if field != "resources" && len(list) > 1 && slices.Contains(list, "*") {
			wrong(field, "the star stands for everything, so nothing else belongs beside it")
		}
	}
	operations := []string{"CREATE", "UPDATE", "DELETE", "CONNECT", "*"}
	for _, o := range r.Operations {
		if !slices.Contains(operations, o) {
			wrong("operations", "%q is not known; there are %s", o, strings.Join(operations, ", "))
		}
	}
	if slices.Contains(r.Resources, "") {
		wrong("resources", "a name in it is empty")
	}
	if r.Scope != "" && !slices.Contains([]string{"Cluster", "Namespaced", "*"}, r.Scope) {
		wrong("scope", "%q is not known; there are Cluster, Namespaced, *", r.Scope)
	}
}
