package convert

import "strings"

// droppedFields are the fields that have no effect on judging, each with the
// reason. Keys are paths in which lists have no index, below the kind of object.
var droppedFields = map[string]string{
	"policy.status":    "is written by the system itself",
	"exception.status": "is written by the system itself",

	"metadata.uid":                        byServer,
	"metadata.resourceVersion":            byServer,
	"metadata.generation":                 byServer,
	"metadata.creationTimestamp":          byServer,
	"metadata.deletionTimestamp":          byServer,
	"metadata.deletionGracePeriodSeconds": byServer,
	"metadata.managedFields":              byServer,
	"metadata.selfLink":                   byServer,
	"metadata.ownerReferences":            "names the owner of the object that is converted, which the new one need not have",
	"metadata.finalizers":                 "waits for a controller of the object that is converted, which would keep the new one from being deleted",
	"metadata.annotations." + lastApplied: "repeats what stands in the object",

	"policy.spec.schemaValidation":                    "says whether the policy itself is checked against the schemas of what it matches; it is always checked here",
	"policy.spec.webhookTimeoutSeconds":               timeout,
	"policy.spec.webhookConfiguration.timeoutSeconds": timeout,
	"policy.spec.mutateExistingOnPolicyUpdate":        "is about rules that mutate, which are not read",
	"policy.spec.generateExisting":                    "is about rules that generate, which are not read",
	"policy.spec.generateExistingOnPolicyUpdate":      "is about rules that generate, which are not read",
	"policy.spec.useServerSideApply":                  "is about rules that generate, which are not read",

	"policy.spec.rules[].skipBackgroundRequests":            "passes over requests of a controller that is not there; whoever asks is judged here",
	"policy.spec.rules[].reportProperties":                  "adds words to reports",
	"policy.spec.rules[].validate.cel.generate":             "says whether a ValidatingAdmissionPolicy is made of the rule, and not what it asks",
	"policy.spec.rules[].validate.cel.expressions[].reason": "is the reason code of the answer; what is refused is the same",
	"exception.spec.background":                             "says whether a scan of what is there already goes by the exception; here every scan goes by every exception that is valid",
}

const (
	byServer = "is filled in by the API server"
	timeout  = "is how long the API server waits for an answer, which the webhook configuration of Sallyport says for all policies"
)

// What takes the place of what is lacking.
const (
	leaveMutation = "Sallyport changes no objects; take the rule out, and leave it to a MutatingAdmissionPolicy or to its own controller"
	asCEL         = "write it as validate.cel"
	withoutParams = "expressions have no parameters here; write the values into the expressions or into variables"
)

// lackingFields are the fields that say something which we cannot do, each with
// what can be done. Keys are as those of droppedFields.
var lackingFields = map[string]string{
	"metadata.generateName": "objects in files are told apart by their names; write metadata.name",

	"policy.spec.webhookConfiguration.matchConditions": "every request that the rules match is judged; write the conditions into the rules, as match, exclude, or in validate.cel",

	"policy.spec.rules[].mutate":           leaveMutation,
	"policy.spec.rules[].generate":         "Sallyport makes no objects; take the rule out, and leave it to its own controller",
	"policy.spec.rules[].verifyImages":     "Sallyport does not check signatures of images; take the rule out, and leave it to its own controller",
	"policy.spec.rules[].context":          "data for expressions in JMESPath; " + asCEL,
	"policy.spec.rules[].preconditions":    "conditions in JMESPath; write them as match or exclude, as anchors of the pattern such as (name), or in validate.cel",
	"policy.spec.rules[].celPreconditions": "write them into the expressions of validate.cel, as CONDITION ? (EXPRESSION) : true",
	"policy.spec.rules[].imageExtractors":  "images are not taken out of custom resources; write the fields into validate.pattern or validate.cel",

	"policy.spec.rules[].validate.deny":      "conditions in JMESPath; " + asCEL + ", with expressions that are true of what is let in",
	"policy.spec.rules[].validate.foreach":   "a loop in JMESPath; a list in a pattern applies to every item, and validate.cel has all() and exists()",
	"policy.spec.rules[].validate.manifests": "Sallyport does not check signatures of manifests; take the rule out, and leave it to its own controller",
	"policy.spec.rules[].validate.assert":    "an assertion in JMESPath; write it as validate.pattern or validate.cel",

	"policy.spec.rules[].validate.cel.paramKind":        withoutParams,
	"policy.spec.rules[].validate.cel.paramRef":         withoutParams,
	"policy.spec.rules[].validate.cel.auditAnnotations": "expressions for the audit log, which refuse the request where they cannot be evaluated; take them out",

	"exception.spec.conditions": "conditions in JMESPath; write them as match, or convert the exception without them and write conditions in CEL",
}

// cutShape returns the name of the field that a key of the tables is about, if it
// is one of the object at shape.
func cutShape(key, shape string) (string, bool) {
	name, ok := strings.CutPrefix(key, shape+".")
	return name, ok && !strings.Contains(name, ".") && !strings.Contains(name, "[")
}
