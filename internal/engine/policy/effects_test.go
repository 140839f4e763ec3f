package policy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// effectCase is what a rule says of what is written, and the nearest right thing, of
// which it says nothing.
type effectCase struct {
	name string
	rule *effect.Rule
	// kind of the documents; ClusterPolicy where empty.
	kind, written, right string
	// at is the path that is named, and says a part of what is said.
	at, says string
}

func onPods(validate string) string {
	return rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: "+validate)
}

func butFor(exclude string) string {
	return rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}\n    exclude: "+exclude+never)
}

func denying(spec string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: d}\nspec: " + spec
}

func escalating(overrides string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: BreakglassEscalation\nmetadata: {name: e}\nspec: {allowed: {groups: [dev], clusters: [prod]}, approvers: {groups: [sre]}, escalatedGroup: debuggers, podSecurityOverrides: " + overrides + "}"
}

func withOverrides(overrides, own string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  validationFailureActionOverrides: " + overrides +
		"\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {" + own + "pattern: {metadata: {name: '?*'}}}"
}

const (
	rules      = "spec.rules[0].validate."
	blockHosts = "{podSecurityRules: {appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, nodes/proxy]}, blockFactors: [hostPID]%s}}"
)

func effectCases() []effectCase {
	drop := "{podSecurity: {level: %s, exclude: [{controlName: Capabilities, images: ['*'], restrictedField: 'spec.containers[*].securityContext.capabilities.drop', values: [ALL]}]}}"
	return []effectCase{
		{"null that must be absent", effect.NullInPattern, "", onPods("{pattern: {spec: {containers: [{X(lifecycle): null}]}}}"), onPods("{pattern: {spec: {containers: [{X(lifecycle): 'null'}]}}}"), rules + "pattern.spec.containers[0].X(lifecycle)", `write X(lifecycle): "null", in quotes`},
		{"null of a field", effect.NullInPattern, "", onPods("{pattern: {spec: {nodeName: null}}}"), onPods("{pattern: {spec: {=(nodeName): ''}}}"), rules + "pattern.spec.nodeName", `write X(nodeName): "null"`},
		{"null in one of several", effect.NullInPattern, "", onPods("{anyPattern: [{spec: {hostPID: false}}, {spec: {X(hostIPC): null}}]}"), onPods("{anyPattern: [{spec: {hostPID: false}}, {spec: {X(hostIPC): 'null'}}]}"), rules + "anyPattern[1].spec.X(hostIPC)", "kubectl apply takes out"},
		{"null in a condition", effect.NullInPattern, "", onPods("{pattern: {spec: {(nodeName): null, hostPID: false}}}"), onPods("{pattern: {spec: {(nodeName): '?*', hostPID: false}}}"), rules + "pattern.spec.(nodeName)", `write (nodeName): ""`},
		{"an empty item", effect.EmptyInPattern, "", onPods("{pattern: {spec: {containers: [{}]}}}"), onPods("{pattern: {spec: {containers: [{name: '?*'}]}}}"), rules + "pattern.spec.containers[0]", "asks nothing"},
		{"an empty map if present", effect.EmptyInPattern, "", onPods("{pattern: {spec: {=(securityContext): {}}}}"), onPods("{pattern: {spec: {=(securityContext): {runAsNonRoot: true}}}}"), rules + "pattern.spec.=(securityContext)", "asks nothing"},
		{"an empty map", effect.OnlyThere, "", onPods("{pattern: {spec: {securityContext: {}}}}"), onPods("{pattern: {spec: {securityContext: '*'}}}"), rules + "pattern.spec.securityContext", `securityContext: "*"`},
		{"a value of what must be absent", effect.ValueOfAbsent, "", onPods("{pattern: {spec: {X(schedulerName): mine}}}"), onPods("{pattern: {spec: {=(schedulerName): '!mine'}}}"), rules + "pattern.spec.X(schedulerName)", `write X(schedulerName): "null", or =(schedulerName): "!..."`},
		{"a map of what must be absent", effect.ValueOfAbsent, "", onPods("{pattern: {spec: {=(volumes): [{X(hostPath): {path: /etc}}]}}}"), onPods("{pattern: {spec: {=(volumes): [{X(hostPath): 'null'}]}}}"), rules + "pattern.spec.=(volumes)[0].X(hostPath)", "refuses the field whatever its value is"},
		{"a tag in place of a condition", effect.EmptyText, "", onPods("{pattern: {spec: {containers: [{(image): !registry/* , imagePullPolicy: Always}]}}}"), onPods("{pattern: {spec: {containers: [{(image): '!registry/*', imagePullPolicy: Always}]}}}"), rules + "pattern.spec.containers[0].(image)", "the rule is not applied"},
		{"a tag in place of a value", effect.EmptyText, "", onPods("{pattern: {spec: {containers: [{image: !x* }]}}}"), onPods("{pattern: {spec: {containers: [{image: '!x*'}]}}}"), rules + "pattern.spec.containers[0].image", "put quotes around what is meant"},
		{"a folded text in place of a value", effect.EmptyText, "", rulePolicy("", "match: {any: [{resources: {kinds: [Deployment, Deployment/scale]}}]}\n    validate:\n      pattern:\n        spec:\n          replicas: >5\n"), rulePolicy("", "match: {any: [{resources: {kinds: [Deployment, Deployment/scale]}}]}\n    validate:\n      pattern:\n        spec:\n          replicas: '>5'\n"), rules + "pattern.spec.replicas", "no other value is let in"},
		{"a label that is empty", effect.EmptyText, "", onPods("{pattern: {spec: {hostname: ''}}}"), onPods("{pattern: {metadata: {labels: {a: ''}}}}"), rules + "pattern.spec.hostname", `=(hostname): ""`},
		{"a field that is misspelt and must be absent", effect.FieldUnknown, "", onPods("{pattern: {spec: {=(volumes): [{X(hostpath): 'null'}]}}}"), onPods("{pattern: {spec: {=(volumes): [{X(hostPath): 'null'}]}}}"), rules + "pattern.spec.=(volumes)[0].X(hostpath)", "write hostPath"},
		{"a field of another kind", effect.FieldUnknown, "", onPods("{anyPattern: [{spec: {=(hostPID): false}}, {spec: {=(replicas): 1}}]}"), rulePolicy("", "match: {any: [{resources: {kinds: [Deployment, Deployment/scale]}}]}\n    validate: {pattern: {spec: {=(replicas): 1}}}"), rules + "anyPattern[1].spec.=(replicas)", "Pod has no field replicas"},
		{"a field of what is scaled", effect.FieldUnknown, "", rulePolicy("", "match: {any: [{resources: {kinds: [Deployment, Deployment/scale]}}]}\n    validate: {pattern: {spec: {=(replica): 1}}}"), rulePolicy("", "match: {any: [{resources: {kinds: [Deployment, Deployment/scale]}}]}\n    validate: {pattern: {spec: {=(replicas): 1}}}"), rules + "pattern.spec.=(replica)", "write replicas"},
		{"a field of a custom kind", effect.FieldUnknown, "", onPods("{pattern: {sppec: {a: b}}}"), rulePolicy("", "match: {any: [{resources: {kinds: [ConfigMap, example.com/v1/Widget]}}]}\n    validate: {pattern: {sppec: {a: b}}}"), rules + "pattern.sppec", "write spec"},
		{"a field of whatever is written", effect.FieldUnknown, "", onPods("{pattern: {sppec: {a: b}}}"), rulePolicy("", "match: {any: [{subjects: [{kind: User, name: bob}]}]}\n    validate: {pattern: {sppec: {a: b}}}"), rules + "pattern.sppec", "write spec"},
		{"a field that no API server has", effect.FieldUnknown, "", onPods("{pattern: {spec: {=(validatedAnnotation): {a: b}}}}"), onPods("{pattern: {spec: {=(validatedAnnotations): {a: b}}}}"), rules + "pattern.spec.=(validatedAnnotation)", "Pod has no field validatedAnnotation"},
		{"a field of what can hold anything", effect.FieldUnknown, "", rulePolicy("", "match: {any: [{resources: {kinds: [ControllerRevision]}}]}\n    validate: {pattern: {dta: {spec: {a: b}}}}"), rulePolicy("", "match: {any: [{resources: {kinds: [ControllerRevision]}}]}\n    validate: {pattern: {data: {spec: {a: b}}}}"), rules + "pattern.dta", "write data"},
		{"a key of a label", effect.FieldUnknown, "", onPods("{pattern: {metadata: {lables: {a: b}}}}"), onPods("{pattern: {metadata: {labels: {a: b, 'c*': d}, =(annotations): {e: f}}}}"), rules + "pattern.metadata.lables", "write labels"},
		{"a variable", effect.Variable, "", onPods("{pattern: {metadata: {labels: {ns: '{{request.namespace}}'}}}}"), onPods("{pattern: {metadata: {labels: {ns: shop}}}}"), rules + "pattern.metadata.labels.ns", "there are no variables here"},
		{"a reference", effect.Variable, "", onPods("{pattern: {spec: {hostname: '$(metadata.name)'}}}"), onPods("{cel: {expressions: [{expression: object.spec.hostname == object.metadata.name}]}}"), rules + "pattern.spec.hostname", "validate.cel"},
		{"a variable in a message", effect.Variable, "", onPods("{message: 'not for {{request.userInfo.username}}', pattern: {spec: {hostPID: false}}}"), onPods("{message: not for you, pattern: {spec: {hostPID: false}}}"), rules + "message", "messageExpression"},
		{"a control that the level does not have", effect.ExclusionIdle, "", onPods("{podSecurity: {level: baseline, exclude: [{controlName: Running as Non-root}]}}"), onPods("{podSecurity: {level: restricted, exclude: [{controlName: Running as Non-root}]}}"), rules + "podSecurity.exclude[0].controlName", "belongs to restricted"},
		{"a control that the version does not have", effect.ExclusionIdle, "", onPods("{podSecurity: {level: baseline, version: v1.33, exclude: [{controlName: Host Probes, images: ['*']}]}}"), onPods("{podSecurity: {level: baseline, version: v1.34, exclude: [{controlName: Host Probes, images: ['*']}]}}"), rules + "podSecurity.exclude[0].controlName", "from v1.34 on"},
		{"a field that the level does not restrict", effect.ExclusionIdle, "", onPods(fmt.Sprintf(drop, "baseline")), onPods(fmt.Sprintf(drop, "restricted")), rules + "podSecurity.exclude[0].restrictedField", "capabilities.drop, which belongs to restricted from v1.22 on"},
		{"the level that demands nothing", effect.DemandsNothing, "", onPods("{podSecurity: {level: privileged}}"), onPods("{podSecurity: {level: baseline}}"), rules + "podSecurity.level", "lets every pod in"},
		{"an expression that demands nothing", effect.DemandsNothing, "", onPods("{cel: {expressions: [{expression: 'true'}]}}"), onPods("{cel: {expressions: [{expression: '!has(object.spec.hostPID)'}]}}"), rules + "cel.expressions[0].expression", "demands nothing"},
		{"a version without its level", effect.VersionIdle, "", onPods("{podSecurity: {level: namespace, defaults: {enforce-version: v1.30}}}"), onPods("{podSecurity: {level: namespace, defaults: {enforce: baseline, enforce-version: v1.30}}}"), rules + "podSecurity.defaults.enforce-version", "give enforce"},
		{"a version of a level that demands nothing", effect.VersionIdle, "", onPods("{podSecurity: {level: namespace, defaults: {enforce: privileged, enforce-version: v1.30}}}"), onPods("{podSecurity: {level: namespace, defaults: {enforce: privileged}}}"), rules + "podSecurity.defaults.enforce-version", "give enforce"},
		{"existing violations of a standard", effect.ExistingIdle, "", onPods("{allowExistingViolations: false, podSecurity: {level: baseline}}"), onPods("{allowExistingViolations: false, pattern: {spec: {hostPID: false}}}"), rules + "allowExistingViolations", "counts for patterns only"},
		{"existing violations of expressions", effect.ExistingIdle, "", onPods("{allowExistingViolations: false, cel: {expressions: [{expression: '!has(object.spec.hostPID)'}]}}"), onPods("{cel: {expressions: [{expression: '!has(object.spec.hostPID)'}]}}"), rules + "allowExistingViolations", "leave it out"},
		{"a variable that nothing uses", effect.VariableIdle, "", onPods("{cel: {variables: [{name: a, expression: '1'}], expressions: [{expression: '!has(object.spec.hostPID)'}]}}"), onPods("{cel: {variables: [{name: a, expression: '1'}], expressions: [{expression: 'variables.a == 1'}]}}"), rules + "cel.variables[0]", "variables.a"},
		{"entries of all without a kind in common", effect.MatchesNothing, "", rulePolicy("", "match: {all: [{resources: {kinds: [Secret]}}, {resources: {kinds: [Service]}}]}"+never), rulePolicy("", "match: {all: [{resources: {kinds: [Secret, Service]}}, {resources: {kinds: [Service]}}]}"+never), "spec.rules[0].match.all", "no kinds in common ([Secret], and [Service])"},
		{"entries of all without a namespace in common", effect.MatchesNothing, "", rulePolicy("", "match: {all: [{resources: {kinds: [Secret], namespaces: [prod-*]}}, {resources: {kinds: [Secret], namespaces: [dev-*]}}]}"+never), rulePolicy("", "match: {all: [{resources: {kinds: [Secret], namespaces: [prod-*]}}, {resources: {kinds: [Secret], namespaces: ['*-dev']}}]}"+never), "spec.rules[0].match.all", "no namespaces in common"},
		{"entries of an exclude block without a kind in common", effect.MatchesNothing, "", butFor("{all: [{resources: {kinds: [Pod], namespaces: [a]}}, {resources: {kinds: [Pod], namespaces: [b]}}]}"), butFor("{any: [{resources: {kinds: [Pod], namespaces: [a]}}, {resources: {kinds: [Pod], namespaces: [b]}}]}"), "spec.rules[0].exclude.all", "write any in place of all"},
		{"every operation excluded", effect.ExcludesAll, "", butFor("{any: [{resources: {operations: [CREATE]}}, {resources: {operations: [UPDATE]}}]}"), butFor("{any: [{resources: {operations: [UPDATE]}}]}"), "spec.rules[0].exclude", "the rule is about nothing"},
		{"every namespace excluded", effect.ExcludesAll, "", butFor("{any: [{resources: {namespaces: ['*']}}]}"), butFor("{any: [{resources: {namespaces: ['*-*']}}]}"), "spec.rules[0].exclude", "the rule is about nothing, except for what is in no namespace"},
		{"everybody excluded", effect.ExcludesAll, "", butFor("{any: [{subjects: [{kind: Group, name: 'system:authenticated'}, {kind: Group, name: 'system:unauthenticated'}]}]}"), butFor("{any: [{subjects: [{kind: Group, name: 'system:serviceaccounts'}]}]}"), "spec.rules[0].exclude", "the rule is about nothing;"},
		{"everybody who is signed in excluded", effect.ExcludesAll, "", butFor("{any: [{subjects: [{kind: Group, name: 'system:authenticated'}]}]}"), butFor("{any: [{subjects: [{kind: Group, name: 'system:unauthenticated'}]}]}"), "spec.rules[0].exclude", "the rule is about nothing, except for anonymous requests;"},
		{"the only user excluded", effect.ExcludesAll, "", rulePolicy("", "match: {any: [{resources: {kinds: [Secret]}, subjects: [{kind: User, name: bob}]}]}\n    exclude: {any: [{subjects: [{kind: User, name: bob}]}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: [Secret]}, subjects: [{kind: Group, name: dev}]}]}\n    exclude: {any: [{subjects: [{kind: User, name: bob}]}]}"+never), "spec.rules[0].exclude", "the rule is about nothing"},
		{"a Policy's own namespace excluded", effect.ExcludesAll, stored.KindPolicy, butFor("{any: [{resources: {namespaces: [shop]}}]}"), butFor("{any: [{resources: {operations: [UPDATE]}}]}"), "spec.rules[0].exclude", "the rule is about nothing"},
		{"another namespace than a Policy's excluded", effect.ExcludesNothing, stored.KindPolicy, rulePolicy("", "match: {any: [{resources: {kinds: [Secret]}}]}\n    exclude: {any: [{resources: {namespaces: [web]}}, {resources: {names: [a]}}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: [Secret]}}]}\n    exclude: {any: [{resources: {namespaces: ['s*'], names: [b]}}, {resources: {names: [a]}}]}"+never), "spec.rules[0].exclude.any[0]", "namespaces [web], which the rule is not about; it is about [shop]"},
		{"another operation excluded", effect.ExcludesNothing, "", rulePolicy("", "match: {any: [{resources: {kinds: [Secret], operations: [CREATE]}}]}\n    exclude: {any: [{resources: {operations: [UPDATE]}}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: [Secret], operations: [CREATE]}}, {resources: {kinds: [Secret], namespaces: [a]}}]}\n    exclude: {any: [{resources: {operations: [UPDATE]}}]}"+never), "spec.rules[0].exclude.any[0]", "operations [UPDATE]"},
		{"all kinds excluded", effect.ExcludesAll, "", butFor("{any: [{resources: {kinds: [Pod]}}]}"), butFor("{any: [{resources: {kinds: [Pod], namespaces: [kube-system]}}]}"), "spec.rules[0].exclude", "the rule is about nothing"},
		{"every kind excluded", effect.ExcludesAll, "", butFor("{any: [{resources: {kinds: ['*']}}]}"), butFor("{any: [{resources: {kinds: ['*'], namespaces: [kube-system]}}]}"), "spec.rules[0].exclude", "excludes all that match is about"},
		{"another kind excluded", effect.ExcludesNothing, "", butFor("{any: [{resources: {kinds: [ConfigMap]}}]}"), butFor("{any: [{resources: {kinds: [Deployment]}}]}"), "spec.rules[0].exclude", "it is about Pod"},
		{"what makes pods excluded from a rule that is only about Pods", effect.ExcludesNothing, "", strings.Replace(butFor("{any: [{resources: {kinds: [Deployment]}}]}"), "annotations: {}", "annotations: {sallyport.io/autogen-controllers: none}", 1), butFor("{any: [{resources: {kinds: [example.com/v1/Widget]}}]}"), "spec.rules[0].exclude", "it is about Pod"},
		{"a kind excluded from a pattern of kinds", effect.ExcludesNothing, "", rulePolicy("", "match: {any: [{resources: {kinds: [Secret]}}]}\n    exclude: {any: [{resources: {kinds: [ConfigMap]}}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: ['Conf*']}}]}\n    exclude: {any: [{resources: {kinds: [ConfigMap]}}]}"+never), "spec.rules[0].exclude", "it is about Secret"},
		{"Pods and other kinds", effect.PodsOnly, "", rulePolicy("", "match: {any: [{resources: {kinds: [Pod, Deployment]}}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: [Pod, Deployment, StatefulSet, DaemonSet, Job, CronJob]}}]}"+never), "spec.rules[0].match", "not for what makes them"},
		{"a kind without a namespace, in one", effect.MatchesNothing, "", rulePolicy("", "match: {any: [{resources: {kinds: [Secret, Node], namespaces: [shop]}}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: [Secret], namespaces: [shop]}}, {resources: {kinds: [Node]}}]}"+never), "spec.rules[0].match.any[0].resources.kinds[1]", "a Node is in no namespace; leave the namespaces out"},
		{"a kind without a namespace, by labels of one", effect.MatchesNothing, "", rulePolicy("", "match: {any: [{resources: {kinds: [ClusterRole], namespaceSelector: {matchLabels: {a: b}}}}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: [Namespace], namespaceSelector: {matchLabels: {a: b}}}}]}"+never), "spec.rules[0].match.any[0].resources.kinds[0]", "is in no namespace"},
		{"a kind without a namespace in a Policy", effect.MatchesNothing, stored.KindPolicy, rulePolicy("", "match: {any: [{resources: {kinds: [Secret, PersistentVolume]}}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: [Secret, example.com/v1/Node]}}]}"+never), "spec.rules[0].match.any[0].resources.kinds[1]", "write a ClusterPolicy about it"},
		{"a kind that there is not", effect.MatchesNothing, "", rulePolicy("", "match: {any: [{resources: {kinds: [Deploymnet]}}]}"+never), rulePolicy("", "match: {any: [{resources: {kinds: [Deployment]}}]}"+never), "spec.rules[0].match.any[0].resources.kinds[0]", "write Deployment"},
		{"overrides that no rule takes", effect.OverridesIdle, "", withOverrides("[{action: Audit, namespaces: [test]}]", "failureAction: Enforce, "), withOverrides("[{action: Audit, namespaces: [test]}]", ""), "spec.validationFailureActionOverrides", "write them into the rules"},
		{"overrides beside those of the rule", effect.OverridesIdle, "", withOverrides("[{action: Audit, namespaces: [test]}]", "failureActionOverrides: [{action: Audit, namespaces: [test]}], "), withOverrides("[]", "failureActionOverrides: [{action: Audit, namespaces: [test]}], "), "spec.validationFailureActionOverrides", "write them into the rules"},
		{"a namespace twice in one override", effect.OverridesIdle, "", withOverrides("[{action: Audit, namespaces: [test, test]}, {action: Warn, namespaces: [shop, test]}]", ""), withOverrides("[{action: Audit, namespaces: [test, test]}, {action: Warn, namespaces: [shop]}]", ""), "spec.validationFailureActionOverrides[1].namespaces[1]", "has the action of [0] already"},
		{"a namespace of some labels, and by its name", effect.OverridesIdle, "", withOverrides("[{action: Audit, namespaces: [test]}, {action: Warn, namespaces: [test], namespaceSelector: {matchLabels: {a: b}}}]", ""), withOverrides("[{action: Audit, namespaces: [test], namespaceSelector: {matchLabels: {a: b}}}, {action: Warn, namespaces: [test]}]", ""), "spec.validationFailureActionOverrides[1].namespaces[0]", "the first that names it"},
		{"a namespace with two actions", effect.OverridesIdle, "", withOverrides("[{action: Audit, namespaces: [test]}, {action: Warn, namespaces: [shop, test]}]", ""), withOverrides("[{action: Audit, namespaces: [test]}, {action: Warn, namespaces: [shop]}]", ""), "spec.validationFailureActionOverrides[1].namespaces[1]", "the first that names it"},
		{"a name that no namespace has", effect.NameNeverThere, "", withOverrides("[{action: Audit, namespaces: ['{{ns}}']}]", ""), withOverrides("[{action: Audit, namespaces: [ns]}]", ""), "spec.validationFailureActionOverrides[0].namespaces[0]", "matches no namespace"},
		{"another namespace of a Policy", effect.OverridesIdle, stored.KindPolicy, withOverrides("[{action: Audit, namespaces: [test]}]", ""), withOverrides("[{action: Audit, namespaces: [shop]}]", ""), "spec.validationFailureActionOverrides[0].namespaces[0]", `its own namespace "shop"`},
		{"a grant that nothing reads", effect.ContextIdle, "", strings.Replace(onPods("{pattern: {spec: {hostPID: false}}}"), "spec:\n", "spec:\n  contextAware: [{version: v1, resource: namespaces}]\n", 1), onPods("{pattern: {spec: {hostPID: false}}}"), "spec.contextAware", "grants what no rule reads"},
		{"half of the verbs of a way in", effect.HalfOpen, stored.KindDenyPolicy, denying(`{rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}]}`), denying(`{rules: [{verbs: [create, get], apiGroups: [""], resources: [pods/exec]}]}`), "spec.rules[0].verbs", "write [get, create]"},
		{"everything", effect.LocksOut, stored.KindDenyPolicy, denying(`{rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*/*", "*"]}]}`), denying(`{rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: [shop]}]}`), "spec.rules", "lock everybody out"},
		{"everything, in parts", effect.LocksOut, stored.KindDenyPolicy, denying(`{appliesTo: {clusters: ["*"]}, rules: [{verbs: [delete, create], apiGroups: ["*"], resources: ["*"]}, {verbs: [patch], apiGroups: [sallyport.io], resources: ["*"]}]}`), denying(`{appliesTo: {clusters: [prod]}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}`), "spec.rules", "lock everybody out"},
		{"every namespace exempt", effect.ExemptsAll, stored.KindDenyPolicy, denying(fmt.Sprintf(blockHosts, ", exemptions: {namespaces: ['*']}")), denying(fmt.Sprintf(blockHosts, ", exemptions: {namespaces: [kube-system]}")), "spec.podSecurityRules.exemptions.namespaces", "nothing is judged"},
		{"overrides that let nobody in", effect.LetsInNobody, "BreakglassEscalation", escalating("{enabled: true, requireApproval: true}"), escalating("{enabled: true, maxAllowedScore: 90}"), "spec.podSecurityOverrides", "give maxAllowedScore"},
		{"overrides that are off", effect.LetsInNobody, "BreakglassEscalation", escalating("{enabled: true}"), escalating("{enabled: false}"), "spec.podSecurityOverrides", "exemptFactors for factors"},
		{"overrides without a score or factors", effect.LetsInNobody, "BreakglassEscalation", escalating("{enabled: true, exemptFactors: []}"), escalating("{enabled: true, exemptFactors: [hostPID]}"), "spec.podSecurityOverrides", "exemptFactors for factors"},
		{"a module that is never asked", effect.ConditionFixed, stored.KindClusterAdmissionPolicy, cap0("m", "matchConditions: [{name: c, expression: 'false'}]"), cap0("m", "matchConditions: [{name: c, expression: '!request.dryRun'}]"), "spec.matchConditions[0].expression", "the module is never asked"},
		{"a condition that asks nothing", effect.ConditionFixed, stored.KindClusterAdmissionPolicy, cap0("m", "matchConditions: [{name: b, expression: '!request.dryRun'}, {name: c, expression: ' true '}]"), cap0("m", "matchConditions: [{name: b, expression: '!request.dryRun'}]"), "spec.matchConditions[1].expression", "asks nothing of a request"},
		{"a selector of a module that nothing meets", effect.MatchesNothing, stored.KindClusterAdmissionPolicy, cap0("m", "objectSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: NotIn, values: [b]}]}"), cap0("m", "objectSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: NotIn, values: [c]}]}"), "spec.objectSelector", "what it asks of the label a cannot all hold"},
		{"a selector of a module that no namespace meets", effect.MatchesNothing, stored.KindClusterAdmissionPolicy, cap0("m", "namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: DoesNotExist}]}"), cap0("m", "namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: DoesNotExist}]}"), "spec.namespaceSelector", "cannot all hold"},
		{"a term that no namespace meets", effect.MatchesNothing, stored.KindDenyPolicy, denying(`{rules: [{verbs: [delete], apiGroups: [""], resources: [secrets], namespaces: {selectorTerms: [{matchLabels: {a: b}}, {matchLabels: {a: b}, matchExpressions: [{key: a, operator: DoesNotExist}]}]}}]}`), denying(`{rules: [{verbs: [delete], apiGroups: [""], resources: [secrets], namespaces: {selectorTerms: [{matchLabels: {a: b}}, {matchExpressions: [{key: a, operator: DoesNotExist}]}]}}]}`), "spec.rules[0].namespaces.selectorTerms[1]", "cannot all hold"},
		{"an exemption that no namespace has", effect.MatchesNothing, stored.KindDenyPolicy, denying(fmt.Sprintf(blockHosts, ", exemptions: {namespaces: {selectorTerms: [{matchLabels: {a: b}, matchExpressions: [{key: a, operator: NotIn, values: [b]}]}]}}")), denying(fmt.Sprintf(blockHosts, ", exemptions: {namespaces: {selectorTerms: [{matchLabels: {a: b}}]}}")), "spec.podSecurityRules.exemptions.namespaces.selectorTerms[0]", "cannot all hold"},
		{"every namespace exempt, in other words", effect.ExemptsAll, stored.KindDenyPolicy, denying(fmt.Sprintf(blockHosts, ", exemptions: {namespaces: ['?*']}")), denying(fmt.Sprintf(blockHosts, ", exemptions: {namespaces: ['??*']}")), "spec.podSecurityRules.exemptions.namespaces", "nothing is judged"},
		{"an expression that demands nothing, in other words", effect.DemandsNothing, "", onPods("{cel: {expressions: [{expression: '(true)'}]}}"), onPods("{cel: {expressions: [{expression: '!has(object.spec.hostPID)'}]}}"), rules + "cel.expressions[0].expression", "demands nothing"},
		{"null in settings", effect.NullInSettings, stored.KindClusterAdmissionPolicy, cap0("m", "settings: {a: {b: [1, null]}}"), cap0("m", "settings: {a: {b: [1]}}"), "spec.settings.a.b[1]", "leave it out"},
	}
}

// TestEffects has each rule say what it says of what is written, and nothing of the
// nearest right thing: in the set, in strict checks, and to whoever writes it.
func TestEffects(t *testing.T) {
	tested := map[string]bool{effect.KnownAlready.Reason: true, effect.ExceptionIdle.Reason: true, effect.NotThere.Reason: true, effect.CountedFromNow.Reason: true, effect.ScaleForgotten.Reason: true}
	// What is shown only stands in TestInertByNamespaces and TestInertByExceptions.
	for _, rule := range effect.Rules() {
		tested[rule.Reason] = tested[rule.Reason] || rule.Answer == effect.Shown
	}
	for _, c := range effectCases() {
		tested[c.rule.Reason] = true
		t.Run(c.name, func(t *testing.T) {
			if c.kind == "" {
				c.kind = stored.KindClusterPolicy
			}
			own := func(text string) string {
				if c.kind == stored.KindPolicy {
					text = strings.Replace(strings.Replace(text, "kind: ClusterPolicy", "kind: Policy", 1), "metadata: {", "metadata: {namespace: shop, ", 1)
				}
				return text
			}
			c.written, c.right = own(c.written), own(c.right)
			said := c.saidOf(t, c.written)
			if len(said) != 1 || said[0].Path != c.at || !strings.Contains(said[0].Detail, c.says) {
				t.Errorf("%v, want %s at %s", said, c.says, c.at)
			}
			if said := c.saidOf(t, c.right); len(said) > 0 {
				t.Errorf("of what is right: %v", said)
			}
			if c.kind == stored.KindClusterAdmissionPolicy {
				return // trying a module needs one
			}
			c.front(t, c.written, true)
			c.front(t, c.right, false)
		})
	}
	for _, rule := range effect.Rules() {
		if !tested[rule.Reason] {
			t.Errorf("no test has %s", rule.Reason)
		}
	}
}

// saidOf is what a set says of a document: the problems, or the warnings.
func (c *effectCase) saidOf(t *testing.T, document string) stored.Problems {
	t.Helper()
	set, problems := Compile(sourcesOf(t, document), pod.Default(), exception.Options{Began: judgedAt})
	warnings := set.Warnings()
	for _, w := range warnings {
		if w.Reason == "" || w.Reason != c.rule.Reason {
			t.Errorf("another warning: %+v", w)
		}
	}
	switch {
	case c.rule.Answer == effect.Refused && len(warnings) > 0, c.rule.Answer == effect.Warned && len(problems) > 0:
		t.Errorf("problems %v, warnings %v", problems, warnings)
	case c.rule.Answer == effect.Refused:
		return problems
	}
	return warnings
}

// front writes the document at the front door.
func (c *effectCase) front(t *testing.T, document string, said bool) {
	t.Helper()
	gvk, _ := object("sallyport.io/v1alpha1", c.kind, "")
	got := only(t, setOf(t).Decide(t.Context(), created(t, emptyCluster(t), gvk, "policies", document)))
	want := decision.Pass
	switch {
	case said && c.rule.Answer == effect.Refused:
		want = decision.Fail
	case said:
		want = decision.Warn
	}
	if got.Status != want || said != strings.Contains(got.Message, c.says) {
		t.Errorf("%s, want %s: %s", got.Status, want, got.Message)
	}
}

// TestIdleExceptions warns of exceptions from what none of the rules demands that
// they name.
func TestIdleExceptions(t *testing.T) {
	const policies = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: standards}
spec:
  rules:
  - {name: baseline, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline, version: v1.30}}}
  - {name: restricted, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: restricted}}}
  - {name: labelled, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: namespace}}}
  - {name: other, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {spec: {=(hostPID): false}}}}
`
	const elsewhere = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: elsewhere}
spec:
  rules:
  - {name: baseline, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: restricted, version: v1.30}}}
`
	exception := func(rules, excused string) string {
		named := "policyName: standards, ruleNames: [" + rules + "]"
		if rules == "" {
			named = "policyName: elsewhere"
		}
		return "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: shop}\nspec:\n  exceptions: [{" + named +
			"}]\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  podSecurity: [" + excused + "]"
	}
	const nonRoot, probes = "{controlName: Running as Non-root}", "{controlName: Host Probes, images: ['*']}"
	const drop = "{controlName: Capabilities, images: ['*'], restrictedField: 'spec.containers[*].securityContext.capabilities.drop', values: ['']}"
	for name, c := range map[string]struct{ rules, excused, at, says string }{
		"a control of another level":          {"baseline", nonRoot, "spec.podSecurity[0].controlName", "belongs to restricted"},
		"a control of another version":        {"baseline", nonRoot + ", " + probes, "spec.podSecurity[1].controlName", "from v1.34 on"},
		"a field of another level":            {"baseline", drop, "spec.podSecurity[0].restrictedField", "capabilities.drop"},
		"a control that one of the rules has": {"baseline, restricted", nonRoot + ", " + probes + ", " + drop, "", ""},
		"a rule that goes by labels":          {"labelled", nonRoot, "", ""},
		"a rule that demands no standard":     {"other", nonRoot, "spec.podSecurity", "no rule that the exception names demands a Pod Security Standard"},
		"a rule that is not there":            {"gone", nonRoot, "spec.exceptions", "does not have"},
		"a control that every rule has":       {"", nonRoot, "", ""},
		"a control that no rule has":          {"", probes, "spec.podSecurity[0].controlName", "from v1.34 on"},
	} {
		t.Run(name, func(t *testing.T) {
			warnings := setOf(t, policies, elsewhere, exception(c.rules, c.excused)).Warnings()
			found := c.says == "" && len(warnings) == 0
			for _, w := range warnings {
				found = found || c.says != "" && w.Path == c.at && strings.Contains(w.Detail, c.says)
				if w.Reason != warnings[0].Reason {
					t.Errorf("%v, more than one thing is said", warnings)
				}
			}
			if !found {
				t.Errorf("%v, want %s at %s", warnings, c.says, c.at)
			}
			gvk, _ := object("sallyport.io/v1alpha1", "PolicyException", "")
			got := only(t, setOf(t, policies, elsewhere).Decide(t.Context(), created(t, emptyCluster(t), gvk, "policyexceptions", exception(c.rules, c.excused))))
			if (got.Status == decision.Warn) != (c.says != "") || !strings.Contains(got.Message, c.says) {
				t.Errorf("%+v", got)
			}
		})
	}
	store, _ := started(t, yamlOf("ClusterPolicy", "elsewhere", brokenRules), exception("", nonRoot))
	if warnings := store.Set().Warnings(); len(warnings) > 0 {
		t.Errorf("of a policy of which it is not known what it demands: %v", warnings)
	}
}

// TestExceptionsThatExcuseNothing warns of exceptions that say by themselves that they
// excuse nothing, or that what they ask is asked of nobody.
func TestExceptionsThatExcuseNothing(t *testing.T) {
	const policies = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: p}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, validate: {pattern: {metadata: {name: x}}}}]}
`
	for _, c := range []struct{ name, spec, at, says string }{
		{"false", "match: {any: [{resources: {kinds: [Secret]}}]}, conditions: [{name: c, expression: 'false'}]", "spec.conditions[0].expression", "nothing is excused"},
		{"true", "match: {any: [{resources: {kinds: [Secret], names: [a]}}]}, conditions: [{name: c, expression: 'true'}]", "spec.conditions[0].expression", "asks nothing"},
		{"a condition", "match: {any: [{resources: {kinds: [Secret]}}]}, conditions: [{name: c, expression: 'request.dryRun'}]", "", ""},
		{"kinds", "match: {all: [{resources: {kinds: [Secret]}}, {resources: {kinds: [Pod]}}]}", "spec.match.all", "no kinds in common"},
		{"namespaces", "match: {all: [{resources: {kinds: [Secret]}}, {resources: {namespaces: [shop]}}]}", "", ""},
	} {
		exception := "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: shop}\nspec: {exceptions: [{policyName: p}], " + c.spec + "}"
		warnings := setOf(t, policies, exception).Warnings()
		if (len(warnings) > 0) != (c.says != "") || len(warnings) > 0 && (warnings[0].Path != c.at || warnings[0].Reason == "" || !strings.Contains(warnings[0].Detail, c.says)) {
			t.Errorf("%s: %v, want %s at %s", c.name, warnings, c.says, c.at)
		}
		gvk, _ := object("sallyport.io/v1alpha1", "PolicyException", "")
		got := only(t, setOf(t, policies).Decide(t.Context(), created(t, emptyCluster(t), gvk, "policyexceptions", exception)))
		if (got.Status == decision.Warn) != (c.says != "") || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestOverridesNameTheFirst says of each override of a namespace which one counts.
func TestOverridesNameTheFirst(t *testing.T) {
	override := v1alpha1.FailureActionOverride{Namespaces: []string{"test"}}
	notes := clusterpolicy.OverridesTwice(stored.KindClusterPolicy, "", []v1alpha1.FailureActionOverride{override, override, override}, field.NewPath("spec"))
	if len(notes) != 2 || !strings.Contains(notes[0].Detail, "the action of [0] already") || !strings.Contains(notes[1].Detail, "the action of [0] already") {
		t.Errorf("%+v", notes)
	}
}

// TestLocksOut asks which DenyPolicies keep everybody from taking them away, from changing
// them and from excusing anyone.
func TestLocksOut(t *testing.T) {
	for _, c := range []struct {
		spec string
		want bool
	}{
		{`rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, true},
		{`rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: ["*"]}]`, true},
		{`rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [d]}]`, false},
		{`appliesTo: {clusters: ["*"]}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, true},
		{`appliesTo: {clusters: ["*"], tenants: ["*"]}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, false},
		{`appliesTo: {clusters: ["*"], escalationRefs: ["*"]}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, false},
		{`appliesTo: {clusters: ["*"], sessions: ["*"]}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, false},
		{`rules: [{verbs: [delete, update, create], apiGroups: ["*"], resources: ["*"]}]`, true},
		{`rules: [{verbs: [delete, patch, create], apiGroups: ["*"], resources: ["*"]}]`, true},
		{`rules: [{verbs: [delete, create], apiGroups: ["*"], resources: ["*"]}]`, false},
		{`rules: [{verbs: [update, create], apiGroups: ["*"], resources: ["*"]}]`, false},
		{`rules: [{verbs: [delete, update], apiGroups: ["*"], resources: ["*"]}]`, false},
	} {
		_, problems := Compile(sourcesOf(t, denying("{"+c.spec+"}")), pod.Default(), exception.Options{Began: judgedAt})
		if got := len(problems) == 1 && strings.Contains(problems[0].Detail, "lock everybody out"); got != c.want || !c.want && len(problems) > 0 {
			t.Errorf("%s: %v", c.spec, problems)
		}
	}
}

// TestFieldsOfTypes are those that a type has in JSON, by whatever it embeds.
func TestFieldsOfTypes(t *testing.T) {
	type embedded struct {
		Inner string `json:"inner,omitempty"`
	}
	type apart struct {
		Apart string `json:"apart"`
	}
	type is struct {
		embedded `json:",inline"`
		apart    `json:"-"`
		Own      []*apart `json:"own"`
		Hidden   string   `json:"-"`
		unknown  string
	}
	_ = is{}.unknown
	fields, closed := clusterpolicy.FieldsOf([]reflect.Type{reflect.TypeFor[[]*is]()})
	if names := slices.Sorted(maps.Keys(fields)); !closed || !slices.Equal(names, []string{"inner", "own"}) {
		t.Errorf("%v, %v", closed, names)
	}
}
