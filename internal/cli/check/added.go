package check

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// added is what admission plugins of the API server put into a Pod that someone
// makes, by the plugin and the fields of it. They do not change templates of pods.
var added = []struct {
	plugin string
	fields []string
}{
	{"DefaultTolerationSeconds", []string{"tolerations"}},
	{"Priority", []string{"priority", "preemptionPolicy"}},
	{"ServiceAccount", []string{"serviceAccountName", "serviceAccount", "imagePullSecrets", "volumes", "volumeMounts"}},
	{"LimitRanger", []string{"limits", "requests"}},
}

// ruleKey names a rule as results do.
type ruleKey struct{ kind, namespace, policy, rule string }

// pluginFields are the rules that look at what plugins add.
func pluginFields(sources *policy.Sources) map[ruleKey]string {
	found := map[ruleKey]string{}
	for _, p := range sources.ClusterPolicies {
		addPluginFields(found, ruleKey{kind: stored.KindClusterPolicy, policy: p.Object.Name}, p.Object.Spec.Rules)
	}
	for _, p := range sources.Policies {
		addPluginFields(found, ruleKey{kind: stored.KindPolicy, namespace: p.Object.Namespace, policy: p.Object.Name}, p.Object.Spec.Rules)
	}
	return found
}

func addPluginFields(found map[ruleKey]string, key ruleKey, rules []v1alpha1.Rule) {
	for i := range rules {
		v := &rules[i].Validate
		named := map[string]bool{}
		if v.Pattern != nil {
			namesIn(v.Pattern.Raw, named)
		}
		if v.AnyPattern != nil {
			namesIn(v.AnyPattern.Raw, named)
		}
		if v.CEL != nil {
			if text, err := json.Marshal(v.CEL); err == nil {
				for _, name := range selected.FindAllStringSubmatch(string(text), -1) {
					named[name[1]] = true
				}
			}
		}
		var says []string
		for _, a := range added {
			if fields := slices.DeleteFunc(slices.Clone(a.fields), func(field string) bool { return !named[field] }); len(fields) > 0 {
				says = append(says, strings.Join(fields, ", ")+" ("+a.plugin+")")
			}
		}
		if len(says) > 0 {
			key.rule = rules[i].Name
			found[key] = strings.Join(says, "; ")
		}
	}
}

// selected finds the names of fields in expressions.
var selected = regexp.MustCompile(`[.?]\s*([A-Za-z]\w*)`)

// namesIn collects the names of a pattern, without their anchors.
func namesIn(raw []byte, named map[string]bool) {
	var tree any
	if json.Unmarshal(raw, &tree) != nil {
		return
	}
	var walk func(any)
	walk = func(at any) {
		switch at := at.(type) {
		case map[string]any:
			for name, below := range at {
				if open := strings.IndexByte(name, '('); open >= 0 && strings.HasSuffix(name, ")") {
					name = name[open+1 : len(name)-1]
				}
				named[name] = true
				walk(below)
			}
		case []any:
			for _, below := range at {
				walk(below)
			}
		}
	}
	walk(tree)
}

// printAdded says of results about a Pod which rules looked at what plugins would
// have added, each rule once.
func (c *Checker) printAdded(out io.Writer, results []decision.Result) {
	for i := range results {
		r := &results[i]
		key := ruleKey{r.Kind, r.PolicyNamespace, r.Policy, r.Rule}
		fields, ok := c.looksAtAdded[key]
		if !ok {
			continue
		}
		delete(c.looksAtAdded, key)
		fmt.Fprintln(out, decision.Clean(fmt.Sprintf(
			"warning: rule %s of %s %s looks at what admission plugins of the API server add to a Pod, and check does not: %s; --server has them add it",
			r.Rule, r.Kind, r.Policy, fields)))
	}
}
