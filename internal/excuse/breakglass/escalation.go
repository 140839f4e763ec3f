package breakglass

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// The kinds.
const (
	KindEscalation = "BreakglassEscalation"
	KindSession    = "BreakglassSession"
)

// Kinds are both.
var Kinds = []string{KindEscalation, KindSession}

// mastersGroup is above all authorization, and is given to nobody.
const mastersGroup = "system:masters"

// What an escalation comes to where it does not say.
const (
	DefaultMaxValidFor     = time.Hour
	DefaultApprovalTimeout = time.Hour
	DefaultRetainFor       = 30 * 24 * time.Hour
)

// Person is somebody as the API server authenticated him.
type Person struct {
	Name   string
	UID    string
	Groups []string
}

// Escalation is a compiled BreakglassEscalation. It is not changed once it is made.
type Escalation struct {
	Name, UID string
	// Version is another one with each change of what the escalation says.
	Version string
	// Group is the escalatedGroup; empty where sessions give no rights.
	Group string
	// DenyPolicyRefs name the DenyPolicies that sessions bring along.
	DenyPolicyRefs []string
	AfterUse       *AfterUse

	spec            *v1alpha1.BreakglassEscalationSpec
	clusters        glob.List
	groups          glob.List
	maxValidFor     time.Duration
	idleTimeout     time.Duration
	approvalTimeout time.Duration
	retainFor       time.Duration
	required        int
	overrides       *Overrides
}

// versionOf is empty for an escalation of a file, which has none.
func versionOf(e *v1alpha1.BreakglassEscalation) string {
	if e.UID == "" && e.Generation == 0 {
		return ""
	}
	return string(e.UID) + "/" + strconv.FormatInt(e.Generation, 10)
}

// AfterUse is what happens to pods that were entered, and how long after the end.
type AfterUse struct {
	Action v1alpha1.AfterUseAction
	Grace  time.Duration
}

// CompileEscalation compiles an escalation. The errors say all that is wrong.
func CompileEscalation(e *v1alpha1.BreakglassEscalation) (*Escalation, field.ErrorList) {
	spec, at := &e.Spec, field.NewPath("spec")
	c := &Escalation{
		Name: e.Name, UID: string(e.UID), Version: versionOf(e), Group: spec.EscalatedGroup, DenyPolicyRefs: spec.DenyPolicyRefs, spec: spec,
		clusters: glob.NewList(spec.Allowed.Clusters), groups: glob.NewList(spec.Allowed.Groups), required: 1,
		maxValidFor: DefaultMaxValidFor, approvalTimeout: DefaultApprovalTimeout, retainFor: DefaultRetainFor,
	}
	var errs field.ErrorList
	errs = append(errs, checkNames(spec.Allowed.Clusters, at.Child("allowed", "clusters"), true)...)
	errs = append(errs, checkNames(spec.Allowed.Groups, at.Child("allowed", "groups"), true)...)
	errs = append(errs, checkApprovers(&spec.Approvers, at.Child("approvers"))...)
	if spec.EscalatedGroup == mastersGroup {
		errs = append(errs, field.Forbidden(at.Child("escalatedGroup"), mastersGroup+" is above all authorization and is given to nobody; name a group that roles are bound to"))
	}
	for _, d := range []struct {
		name, text string
		into       *time.Duration
	}{
		{"maxValidFor", spec.MaxValidFor, &c.maxValidFor}, {"idleTimeout", spec.IdleTimeout, &c.idleTimeout},
		{"approvalTimeout", spec.ApprovalTimeout, &c.approvalTimeout}, {"retainFor", spec.RetainFor, &c.retainFor},
	} {
		errs = append(errs, readDuration(d.text, d.into, at.Child(d.name))...)
	}
	if n := spec.RequiredApprovals; n != nil {
		if c.required = int(*n); *n < 1 || *n > 10 {
			errs = append(errs, field.Invalid(at.Child("requiredApprovals"), *n, "is not a number from 1 to 10"))
		}
		if people := len(spec.Approvers.Users); len(spec.Approvers.Groups) == 0 && people < c.required {
			errs = append(errs, field.Invalid(at.Child("requiredApprovals"), *n, fmt.Sprintf("can never be met: %d approvers are named", people)))
		}
	}
	named := sets.New[string]()
	for i, name := range spec.DenyPolicyRefs {
		if name == "" || glob.IsPattern(name) {
			errs = append(errs, field.Invalid(at.Child("denyPolicyRefs").Index(i), name, "is not the name of a DenyPolicy"))
		} else if named.Has(name) {
			errs = append(errs, field.Duplicate(at.Child("denyPolicyRefs").Index(i), name))
		}
		named.Insert(name)
	}
	if spec.PodSecurityOverrides != nil {
		var more field.ErrorList
		c.overrides, more = compileOverrides(spec.PodSecurityOverrides, at.Child("podSecurityOverrides"))
		errs = append(errs, more...)
	}
	switch spec.Idle {
	case "", v1alpha1.IdleFrontDoor, v1alpha1.IdleAuthorizer:
	default:
		errs = append(errs, field.NotSupported(at.Child("idle"), spec.Idle, []v1alpha1.IdleBasis{v1alpha1.IdleFrontDoor, v1alpha1.IdleAuthorizer}))
	}
	var more field.ErrorList
	c.AfterUse, more = compileAfterUse(spec.AfterUse, at.Child("afterUse"))
	errs = append(errs, more...)
	if len(errs) > 0 {
		return nil, errs
	}
	return c, nil
}

func compileAfterUse(from *v1alpha1.AfterUse, at *field.Path) (*AfterUse, field.ErrorList) {
	if from == nil {
		return nil, nil
	}
	after := &AfterUse{Action: from.Action}
	var errs field.ErrorList
	switch from.Action {
	case v1alpha1.AfterUseEvict, v1alpha1.AfterUseMark:
	default:
		errs = append(errs, field.NotSupported(at.Child("action"), from.Action, []v1alpha1.AfterUseAction{v1alpha1.AfterUseEvict, v1alpha1.AfterUseMark}))
	}
	return after, append(errs, readDuration(from.Grace, &after.Grace, at.Child("grace"))...)
}

// readDuration reads a duration such as 1h or 30d; what is not given leaves into as
// it is.
func readDuration(text string, into *time.Duration, at *field.Path) field.ErrorList {
	if text == "" {
		return nil
	}
	d, err := exception.ParseDuration(text)
	if err != nil {
		return field.ErrorList{field.Invalid(at, text, err.Error())}
	}
	*into = d
	return nil
}

// checkNames refuses a list that nobody is meant by.
func checkNames(names []string, at *field.Path, patterns bool) field.ErrorList {
	var errs field.ErrorList
	if len(names) == 0 {
		errs = append(errs, field.Required(at, "names nobody; name one or more"))
	}
	before := sets.New[string]()
	for i, name := range names {
		switch {
		case name == "":
			errs = append(errs, field.Invalid(at.Index(i), name, "an empty name matches nothing"))
		case strings.TrimSpace(name) != name:
			errs = append(errs, field.Invalid(at.Index(i), name, "begins or ends with a space, and so matches nothing"))
		case !patterns && glob.IsPattern(name):
			errs = append(errs, field.Invalid(at.Index(i), name, "is a pattern; people and groups that approve are named"))
		case !patterns && before.Has(name):
			// One person is not several approvers.
			errs = append(errs, field.Duplicate(at.Index(i), name))
		case strings.ContainsAny(name, "[]{}\\"):
			errs = append(errs, field.Invalid(at.Index(i), name, "patterns know only * and ?; list each name or pattern on its own"))
		}
		before.Insert(name)
	}
	return errs
}

func checkApprovers(a *v1alpha1.EscalationApprovers, at *field.Path) field.ErrorList {
	if len(a.Users)+len(a.Groups) == 0 {
		return field.ErrorList{field.Required(at, "names nobody, so nothing could be approved; give users or groups")}
	}
	var errs field.ErrorList
	if len(a.Users) > 0 {
		errs = append(errs, checkNames(a.Users, at.Child("users"), false)...)
	}
	if len(a.Groups) > 0 {
		errs = append(errs, checkNames(a.Groups, at.Child("groups"), false)...)
	}
	return errs
}

// MayAsk reports whether somebody may ask for the escalation in a cluster; why says
// why not.
func (e *Escalation) MayAsk(p Person, cluster string) (ok bool, why string) {
	switch {
	case !e.clusters.Match(cluster):
		return false, fmt.Sprintf("BreakglassEscalation %s is not for cluster %q; it is for %s", e.Name, cluster, strings.Join(e.spec.Allowed.Clusters, ", "))
	case !slices.ContainsFunc(p.Groups, e.groups.Match):
		return false, fmt.Sprintf("%s is in none of the groups that may ask for BreakglassEscalation %s: %s", p.Name, e.Name, strings.Join(e.spec.Allowed.Groups, ", "))
	}
	return true, ""
}

// MayAnswer reports whether somebody is an approver of the escalation.
func (e *Escalation) MayAnswer(p Person) bool { return among(&e.spec.Approvers, p) }

// mayApproveOverrides reports whether somebody's approval counts for the overrides,
// which the escalation has.
func (e *Escalation) mayApproveOverrides(p Person) bool {
	o := e.spec.PodSecurityOverrides
	if o.Approvers == nil {
		return e.MayAnswer(p)
	}
	return among(o.Approvers, p)
}

// Approvers names those who may approve, users first, then groups.
func (e *Escalation) Approvers() []string {
	names := slices.Clone(e.spec.Approvers.Users)
	for _, group := range e.spec.Approvers.Groups {
		names = append(names, "group "+group)
	}
	return names
}

func among(a *v1alpha1.EscalationApprovers, p Person) bool {
	return slices.Contains(a.Users, p.Name) || slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(a.Groups, g) })
}
