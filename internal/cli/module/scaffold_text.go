package module

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

// scaffolded is a policy to be written down.
type scaffolded struct {
	*policyScaffoldFlags
	address, digest, runtime string
	metadata                 *module.Metadata
	settings                 json.RawMessage
	out                      bytes.Buffer
	err                      error
}

// The annotations of metadata that a policy takes over.
var keptAnnotations = []string{"io.kubewarden.policy.severity", "io.kubewarden.policy.category"}

// text is the policy as YAML, with comments.
func (s *scaffolded) text() ([]byte, error) {
	meta := map[string]any{"name": s.called()}
	if s.namespace != "" {
		meta["namespace"] = s.namespace
	}
	kept := map[string]string{}
	for _, key := range keptAnnotations {
		if value, ok := s.metadata.Annotations[key]; ok {
			kept[key] = value
		}
	}
	if len(kept) > 0 {
		meta["annotations"] = kept
	}
	s.fields("", map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": s.kind})
	s.fields("", map[string]any{"metadata": meta})
	s.out.WriteString("spec:\n")
	s.module()
	s.comment("", "protect refuses what the module refuses; monitor lets it in and records it.")
	s.fields("  ", map[string]any{"mode": string(v1alpha1.ModeProtect)})
	if s.metadata.Mutating {
		s.comment("", "The module says that it changes objects; without this, what it would change is refused.")
	}
	s.fields("  ", map[string]any{"mutating": s.metadata.Mutating})
	s.comment("", "Whether what is in the cluster already is judged by the background scan.")
	s.fields("  ", map[string]any{"backgroundAudit": s.metadata.BackgroundAudit})
	s.rules()
	s.fields("  ", map[string]any{"settings": s.settings})
	if s.kind == stored.KindClusterAdmissionPolicy {
		s.context()
		s.capabilities()
	}
	return s.out.Bytes(), s.err
}

// module writes where the module is and how it is run.
func (s *scaffolded) module() {
	switch {
	case strings.HasPrefix(s.address, "file://"):
		s.comment("", "The file has to be there where Sallyport runs. It was "+s.digest+" when this was written.")
	case !strings.Contains(s.address, "@"):
		s.comment("", "Not pinned: whoever may write there changes the policy. It was "+s.digest+" when this was written.")
	}
	s.comment("", fmt.Sprintf("executionMode: %s (the module speaks %s)", s.metadata.ExecutionMode, s.runtime))
	s.fields("  ", map[string]any{"module": s.address})
	if s.server != "" {
		s.fields("  ", map[string]any{"policyServer": s.server})
	}
}

func (s *scaffolded) rules() {
	var rules []admissionregistrationv1.RuleWithOperations
	for _, r := range s.metadata.Rules {
		rules = append(rules, modulepolicy.RuleOf(r))
	}
	if len(rules) == 0 {
		s.comment("", "The metadata names no rules, so these are about everything: narrow them.")
		rules = modulepolicy.AllRules()
	}
	s.fields("  ", map[string]any{"rules": rules})
}

// context writes what the module asks to read, each with what it would see.
func (s *scaffolded) context() {
	declared := s.metadata.Declared()
	if len(declared) == 0 {
		s.comment("", "The module asks to read nothing of the cluster, and is granted nothing.")
		return
	}
	s.comment("", "What the module asks to read of the cluster. Each grant can be narrowed with namespaces, names,")
	s.comment("", "labelSelector and fields, such as namespaces: [shop] or fields: [metadata.name, metadata.labels].")
	before := "#"
	if s.contextAware {
		before = ""
	} else {
		s.comment("", "Nothing is granted as long as this is commented out.")
	}
	s.line(before, "contextAware:")
	for _, grant := range declared {
		s.comment(before, explained(grant))
		s.marked(before, []map[string]string{written(grant)})
	}
}

// written is a grant as the field contextAware has it.
func written(g contextgate.Grant) map[string]string {
	if g.Kind != "" {
		version := g.Version
		if g.Group != "" {
			version = g.Group + "/" + g.Version
		}
		return map[string]string{"apiVersion": version, "kind": g.Kind}
	}
	fields := map[string]string{"version": g.Version, "resource": g.Resource}
	if g.Group != "" {
		fields["group"] = g.Group
	}
	return fields
}

// sensitive says what is worth knowing before a resource is granted.
var sensitive = map[string]string{
	"secret": "the passwords, keys and tokens in them among it", "configmap": "whatever stands in them among it",
	"pod": "with the environment of their containers", "event": "with what others did and when",
	"role": "that is, who may do what", "clusterrole": "that is, who may do what",
	"rolebinding": "that is, who may do what", "clusterrolebinding": "that is, who may do what",
}

// explained says what a grant lets a module see.
func explained(g contextgate.Grant) string {
	text := fmt.Sprintf("Lets the module list and read every object of %s, whole and in all namespaces", declaredName(g))
	name := strings.ToLower(g.Kind)
	if name == "" {
		name = strings.TrimSuffix(g.Resource, "s")
	}
	if more := sensitive[name]; more != "" {
		text += ", " + more
	}
	return text + "."
}

func declaredName(g contextgate.Grant) string {
	return decision.Clean(declared(g.Group, g.Version, g.Resource, g.Kind))
}

func namesOfGrants(grants []contextgate.Grant) string {
	names := make([]string, len(grants))
	for i, g := range grants {
		names[i] = declaredName(g)
	}
	return strings.Join(names, ", ")
}

// capabilities writes the other calls that there are, none of which is granted.
func (s *scaffolded) capabilities() {
	s.comment("", "Calls beyond reading objects, none of which is granted. Metadata does not say which of them a module makes;")
	s.comment("", "each that is refused is reported.")
	s.line("#", "capabilities:")
	for _, c := range []struct{ name, what string }{
		{string(v1alpha1.CapabilityCanI), "asks what any user may do"},
		{string(v1alpha1.CapabilityOCI), "reads manifests and signatures from registries"},
		{string(v1alpha1.CapabilityNet), "looks up names in DNS"},
		{string(v1alpha1.CapabilityCrypto), "has certificates checked"},
	} {
		s.line("#", "- "+c.name+" # "+c.what)
	}
}

// fields writes the fields of a map, which are sorted. Where another order is meant,
// it is called once for each.
func (s *scaffolded) fields(indent string, values any) {
	for line := range strings.Lines(s.yaml(values)) {
		s.out.WriteString(indent + line)
	}
}

// marked writes a value below a field of the spec; commented out, if before is "#".
func (s *scaffolded) marked(before string, value any) {
	for line := range strings.Lines(s.yaml(value)) {
		s.line(before, strings.TrimSuffix(line, "\n"))
	}
}

func (s *scaffolded) yaml(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("the policy cannot be written as YAML: %w", err)
	}
	return string(text)
}

// comment writes a comment in the spec, inside of what is commented out itself if
// before is "#".
func (s *scaffolded) comment(before, text string) {
	s.line(before, "# "+strings.Join(strings.Fields(decision.Clean(text)), " "))
}

func (s *scaffolded) line(before, text string) {
	s.out.WriteString("  " + before + text + "\n")
}

// called is the name of the policy: what was asked for, the title of the metadata,
// or what its module is called.
func (s *scaffolded) called() string {
	if s.name != "" {
		return s.name
	}
	base := path.Base(strings.TrimSuffix(s.address, ".wasm"))
	base, _, _ = strings.Cut(base, "@")
	base, _, _ = strings.Cut(base, ":")
	for _, title := range []string{s.metadata.Annotations["io.kubewarden.policy.title"], base} {
		letters := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
				return r
			}
			return '-'
		}, strings.ToLower(title))
		if name := strings.Trim(letters[:min(len(letters), 63)], "-."); validation.IsDNS1123Subdomain(name) == nil {
			return name
		}
	}
	return "policy"
}
