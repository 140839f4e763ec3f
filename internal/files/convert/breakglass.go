package convert

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// BreakglassGroup is the group that document "Pod Security Risk Classification"
// gives its kinds. Some of them are ours as well; what they say there and here
// otherwise is written down as we say it, or refused.
const BreakglassGroup = "breakglass.t-caas.telekom.com"

const breakglassVersion = "v1alpha1"

// breakglassKinds are the kinds that are read.
var breakglassKinds = map[string]func(c *converter, spec map[string]any){
	"DenyPolicy":           (*converter).denyPolicy,
	"BreakglassEscalation": (*converter).escalation,
	"ClusterConfig":        (*converter).clusterConfig,
}

// breakglassLacking are the other kinds, with what can be done.
var breakglassLacking = map[string]string{
	"BreakglassSession":          "is kept by the system that it is of, which says in its status who approved it; nothing is granted here by that: take it out, and ask with sallyport request session",
	"IdentityProvider":           "says who signs users in, which is left to the API server here; take it out, and write groups as the API server knows them into the escalations",
	"MailProvider":               "says who sends mail; take it out, and give serve --notify-config in its place",
	"AuditConfig":                "says where events go; take it out, and give serve --audit-log in its place",
	"DebugSession":               "makes pods to debug with, which Sallyport does not; take it out, and guard kubectl debug by podSecurityRules for ephemeralcontainers",
	"DebugSessionTemplate":       "makes pods to debug with, which Sallyport does not; take it out, and guard kubectl debug by podSecurityRules for ephemeralcontainers",
	"DebugSessionClusterBinding": "makes pods to debug with, which Sallyport does not; take it out, and guard kubectl debug by podSecurityRules for ephemeralcontainers",
	"DebugSessionArtifact":       "is what a debug session left behind, of which there are none here; take it out",
	"DebugPodTemplate":           "is a pod to debug with, which Sallyport does not make; take it out, and guard kubectl debug by podSecurityRules for ephemeralcontainers",
}

// breakglassDropped are fields that have no effect on judging, by kind and path.
var breakglassDropped = map[string]string{
	"BreakglassEscalation.disableNotifications":   "is about mail, which is not sent",
	"BreakglassEscalation.notificationExclusions": "is about mail, which is not sent",
	"BreakglassEscalation.mailProvider":           "is about mail, which is not sent",
	"ClusterConfig.mailProvider":                  "is about mail, which is not sent",
	"ClusterConfig.site":                          "is shown to people only",
	"ClusterConfig.location":                      "is shown to people only",
	"ClusterConfig.qps":                           "is how fast the other system asks",
	"ClusterConfig.burst":                         "is how fast the other system asks",
}

// breakglassRefused are fields that narrow who may do something and that we lack, by
// kind and path, with what to write.
var breakglassRefused = map[string]string{
	"DenyPolicy.impersonationRules":                             "write a rule with verbs: [impersonate], which holds for every form of impersonation",
	"BreakglassEscalation.allowedApproverDomains":               "people are told apart by user and group here; name the approvers in approvers",
	"BreakglassEscalation.allowedIdentityProviders":             "it is the API server that signs users in here; name groups that one provider only gives",
	"BreakglassEscalation.allowedIdentityProvidersForRequests":  "it is the API server that signs users in here; name groups that one provider only gives",
	"BreakglassEscalation.allowedIdentityProvidersForApprovers": "it is the API server that signs users in here; name groups that one provider only gives",
	"BreakglassEscalation.clusterConfigRefs":                    "clusters are named by their clusterID here; write these into allowed.clusters",
	"ClusterConfig.allowedApproverDomains":                      "people are told apart by user and group here; name the approvers in the escalations",
	"ClusterConfig.identityProviderRefs":                        "it is the API server of the cluster that signs users in here; take it out, and have that API server trust these providers only",
}

// IsBreakglassKind reports whether ReadBreakglass has something to say about a kind.
func IsBreakglassKind(gvk schema.GroupVersionKind) bool {
	_, read := breakglassKinds[gvk.Kind]
	_, lacking := breakglassLacking[gvk.Kind]
	return gvk.Group == BreakglassGroup && gvk.Version == breakglassVersion && (read || lacking)
}

// ReadBreakglass reads an object of a kind that IsBreakglassKind knows. The error is
// a wire.Errors with everything in it that cannot be read as ours.
func ReadBreakglass(gvk schema.GroupVersionKind, raw []byte) (*Object, error) {
	if why, ok := breakglassLacking[gvk.Kind]; ok {
		return nil, apijson.Errors{{Detail: why}}
	}
	tree, err := apijson.Tree(raw)
	if err != nil {
		return nil, err
	}
	c := &converter{}
	if metadata, ok := tree["metadata"].(map[string]any); ok && metadata["namespace"] != nil {
		c.drop(place{path: "metadata.namespace"}, "there is one of each name in all namespaces there, and the kind has none here")
		delete(metadata, "namespace")
	}
	delete(tree, "status")
	if spec, ok := tree["spec"].(map[string]any); ok {
		c.takeOut(gvk.Kind, spec)
		breakglassKinds[gvk.Kind](c, spec)
	}
	if len(c.errors) > 0 {
		return nil, c.errors
	}
	o := &Object{GVK: v1alpha1.GroupVersion.WithKind(gvk.Kind), Dropped: c.dropped}
	tree["apiVersion"], tree["kind"] = o.GVK.GroupVersion().String(), o.GVK.Kind
	if o.Raw, err = apijson.Marshal(tree); err != nil {
		return nil, fmt.Errorf("cannot be written as ours: %w", err)
	}
	return o, nil
}

// inSpec is the place of a field of the spec.
func inSpec(names ...string) place {
	p := place{path: "spec"}
	for _, name := range names {
		p = p.child(name)
	}
	return p
}

// takeOut takes out the fields that have no effect, and refuses those that we lack.
func (c *converter) takeOut(kind string, spec map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		if why := breakglassDropped[kind+"."+name]; why != "" {
			c.drop(inSpec(name), why)
			delete(spec, name)
		}
		if instead := breakglassRefused[kind+"."+name]; instead != "" {
			if !isNothing(spec[name]) {
				c.fail(inSpec(name), "is not read: %s", instead)
			}
			delete(spec, name)
		}
	}
}

// escalation reads a BreakglassEscalation.
func (c *converter) escalation(spec map[string]any) {
	if limits, ok := spec["sessionLimitsOverride"].(map[string]any); ok {
		if limits["unlimited"] != true && !isNothing(limits) {
			c.fail(inSpec("sessionLimitsOverride"), "is not read: how many sessions there are is not limited here; take it out, or write unlimited: true")
		}
		c.drop(inSpec("sessionLimitsOverride"), "how many sessions there are is not limited here")
		delete(spec, "sessionLimitsOverride")
	}
	if allowed, ok := spec["allowed"].(map[string]any); ok {
		c.literal(allowed["groups"], inSpec("allowed", "groups"))
	}
	if approvers, ok := spec["approvers"].(map[string]any); ok {
		// They approve like the others, and are not shown.
		if more, ok := approvers["hiddenFromUI"].([]any); ok {
			groups, _ := approvers["groups"].([]any)
			approvers["groups"] = slices.Concat(groups, slices.DeleteFunc(slices.Clone(more), func(g any) bool { return slices.Contains(groups, g) }))
			c.drop(inSpec("approvers", "hiddenFromUI"), "these groups approve like the others, and are among approvers.groups now")
		}
		delete(approvers, "hiddenFromUI")
	}
	c.selfApproval(spec, true)
}

// selfApproval reads blockSelfApproval. Nobody approves his own here unless the
// escalation says so.
func (c *converter) selfApproval(spec map[string]any, may bool) {
	value, given := spec["blockSelfApproval"]
	delete(spec, "blockSelfApproval")
	if !given || value == nil {
		return
	}
	blocks, ok := c.boolean(value, inSpec("blockSelfApproval"))
	switch {
	case !ok:
	case blocks || !may:
		c.drop(inSpec("blockSelfApproval"), "nobody approves his own session here unless its escalation says allowSelfApproval")
	default:
		spec["allowSelfApproval"] = true
	}
}

// clusterConfig reads a ClusterConfig.
func (c *converter) clusterConfig(spec map[string]any) { c.selfApproval(spec, false) }

// literal refuses names that are patterns here, and names there.
func (c *converter) literal(value any, at place) {
	list, _ := value.([]any)
	for i, entry := range list {
		if text, ok := entry.(string); ok && text != "*" && strings.ContainsAny(text, "*?") {
			c.fail(at.element(i), "is %q, which is a name there and matches nothing; write the names in full, or \"*\" for all", text)
		}
	}
}

// templateField finds the fields of a template of a reason as that system spells
// them.
var templateField = regexp.MustCompile(`\.(Score|Factors|Pod|Namespace)\b`)

// templateAction is what stands between the braces of a template.
var templateAction = regexp.MustCompile(`\{\{[^}]*\}\}`)

// reason spells the fields of a template as we do.
func reason(text string) string {
	return templateAction.ReplaceAllStringFunc(text, func(action string) string {
		return templateField.ReplaceAllStringFunc(action, strings.ToLower)
	})
}
