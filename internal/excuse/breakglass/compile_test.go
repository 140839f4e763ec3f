package breakglass

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// onlyError expects one error of that path and with these words; none where path is
// empty.
func onlyError(t *testing.T, errs field.ErrorList, path, says string) {
	t.Helper()
	switch {
	case path == "" && len(errs) > 0:
		t.Errorf("%v", errs)
	case path != "" && (len(errs) != 1 || errs[0].Field != path || !strings.Contains(errs[0].Detail, says)):
		t.Errorf("%v, want one at %s that says %q", errs, path, says)
	}
}

// TestCompileEscalation refuses each thing that an escalation cannot say, and says
// where it stands.
func TestCompileEscalation(t *testing.T) {
	type spec = v1alpha1.BreakglassEscalationSpec
	number := func(n int32) *int32 { return &n }
	overrides := func(change func(*v1alpha1.PodSecurityOverrides)) func(*spec) {
		return func(e *spec) {
			e.PodSecurityOverrides = &v1alpha1.PodSecurityOverrides{Enabled: true}
			change(e.PodSecurityOverrides)
		}
	}
	for name, c := range map[string]struct {
		change     func(*spec)
		path, says string
	}{
		"as it is":                          {func(*spec) {}, "", ""},
		"no clusters":                       {func(e *spec) { e.Allowed.Clusters = nil }, "spec.allowed.clusters", "names nobody"},
		"no groups":                         {func(e *spec) { e.Allowed.Groups = nil }, "spec.allowed.groups", "names nobody"},
		"an empty group":                    {func(e *spec) { e.Allowed.Groups = []string{"a", ""} }, "spec.allowed.groups[1]", "an empty name"},
		"a group with a space":              {func(e *spec) { e.Allowed.Groups = []string{"a "} }, "spec.allowed.groups[0]", "begins or ends with a space"},
		"a pattern of groups":               {func(e *spec) { e.Allowed.Groups = []string{"a-*"} }, "", ""},
		"what patterns do not know":         {func(e *spec) { e.Allowed.Clusters = []string{"{a,b}"} }, "spec.allowed.clusters[0]", "patterns know only * and ?"},
		"no approvers":                      {func(e *spec) { e.Approvers = v1alpha1.EscalationApprovers{} }, "spec.approvers", "names nobody"},
		"users that approve":                {func(e *spec) { e.Approvers = v1alpha1.EscalationApprovers{Users: []string{"a"}} }, "", ""},
		"groups that approve":               {func(e *spec) { e.Approvers = v1alpha1.EscalationApprovers{Groups: []string{"a"}} }, "", ""},
		"a pattern of users that approve":   {func(e *spec) { e.Approvers.Users = []string{"d*"} }, "spec.approvers.users[0]", "is a pattern"},
		"a pattern of groups that approve":  {func(e *spec) { e.Approvers.Groups = []string{"*"} }, "spec.approvers.groups[0]", "is a pattern"},
		"the group above all authorization": {func(e *spec) { e.EscalatedGroup = mastersGroup }, "spec.escalatedGroup", "is above all authorization"},
		"no such duration":                  {func(e *spec) { e.MaxValidFor = "soon" }, "spec.maxValidFor", "cannot be read"},
		"no approvals":                      {func(e *spec) { e.RequiredApprovals = number(0) }, "spec.requiredApprovals", "from 1 to 10"},
		"too many approvals":                {func(e *spec) { e.RequiredApprovals, e.Approvers.Groups = number(11), []string{"a"} }, "spec.requiredApprovals", "from 1 to 10"},
		"as many approvals as people":       {func(e *spec) { e.RequiredApprovals = number(2) }, "", ""},
		"more approvals than people":        {func(e *spec) { e.RequiredApprovals = number(3) }, "spec.requiredApprovals", "can never be met: 2 approvers"},
		"more approvals, by a group":        {func(e *spec) { e.RequiredApprovals, e.Approvers.Groups = number(10), []string{"a"} }, "", ""},
		"a DenyPolicy":                      {func(e *spec) { e.DenyPolicyRefs = []string{"a"} }, "", ""},
		"a DenyPolicy without a name":       {func(e *spec) { e.DenyPolicyRefs = []string{"a", ""} }, "spec.denyPolicyRefs[1]", "is not the name of a DenyPolicy"},
		"a group twice":                     {func(e *spec) { e.Allowed.Groups = []string{"devs", "devs"} }, "", ""},
		"a DenyPolicy twice":                {func(e *spec) { e.DenyPolicyRefs = []string{"a", "b", "a"} }, "spec.denyPolicyRefs[2]", ""},
		"an approver twice":                 {func(e *spec) { e.Approvers.Users = []string{"dave", "erin", "dave"} }, "spec.approvers.users[2]", ""},
		"a factor twice":                    {overrides(func(o *v1alpha1.PodSecurityOverrides) { o.ExemptFactors = []string{"hostPID", "hostPID"} }), "spec.podSecurityOverrides.exemptFactors[1]", ""},
		"a pattern of DenyPolicies":         {func(e *spec) { e.DenyPolicyRefs = []string{"a*"} }, "spec.denyPolicyRefs[0]", "is not the name of a DenyPolicy"},
		"no after use":                      {func(e *spec) { e.AfterUse = &v1alpha1.AfterUse{Action: "Forget"} }, "spec.afterUse.action", ""},
		"a grace that is not a time":        {func(e *spec) { e.AfterUse = &v1alpha1.AfterUse{Action: "evict", Grace: "x"} }, "spec.afterUse.grace", "cannot be read"},
		"a score of zero":                   {overrides(func(o *v1alpha1.PodSecurityOverrides) { o.MaxAllowedScore = number(0) }), "", ""},
		"a score below zero":                {overrides(func(o *v1alpha1.PodSecurityOverrides) { o.MaxAllowedScore = number(-1) }), "spec.podSecurityOverrides.maxAllowedScore", "less than zero"},
		"a factor that there is not":        {overrides(func(o *v1alpha1.PodSecurityOverrides) { o.ExemptFactors = []string{"hostEverything"} }), "spec.podSecurityOverrides.exemptFactors[0]", ""},
		"approvers of what needs none": {overrides(func(o *v1alpha1.PodSecurityOverrides) {
			o.Approvers = &v1alpha1.EscalationApprovers{Users: []string{"a"}}
		}), "spec.podSecurityOverrides.approvers", "only with requireApproval"},
		"approvers of the overrides": {overrides(func(o *v1alpha1.PodSecurityOverrides) {
			o.RequireApproval, o.Approvers = true, &v1alpha1.EscalationApprovers{Users: []string{"a"}}
		}), "", ""},
		"no approvers of the overrides": {overrides(func(o *v1alpha1.PodSecurityOverrides) {
			o.RequireApproval, o.Approvers = true, &v1alpha1.EscalationApprovers{}
		}), "spec.podSecurityOverrides.approvers", "names nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.BreakglassEscalation{ObjectMeta: metav1.ObjectMeta{Name: "debug"}, Spec: spec{
				Allowed:   v1alpha1.EscalationAllowed{Clusters: []string{"prod-*"}, Groups: []string{"devs"}},
				Approvers: v1alpha1.EscalationApprovers{Users: []string{"dave", "erin"}},
			}}
			c.change(&e.Spec)
			compiled, errs := CompileEscalation(e)
			onlyError(t, errs, c.path, c.says)
			if (compiled == nil) != (len(errs) > 0) {
				t.Errorf("%v, and compiled: %t", errs, compiled != nil)
			}
		})
	}
}

// TestVersions gives an escalation of the API server another version with each change,
// and one of a file none.
func TestVersions(t *testing.T) {
	for want, meta := range map[string]metav1.ObjectMeta{
		"": {}, "u/0": {UID: "u"}, "/3": {Generation: 3}, "u/3": {UID: "u", Generation: 3},
	} {
		if got := versionOf(&v1alpha1.BreakglassEscalation{ObjectMeta: meta}); got != want {
			t.Errorf("version %q, want %q", got, want)
		}
	}
}

// TestCompileSession refuses each thing that a session cannot say.
func TestCompileSession(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*v1alpha1.BreakglassSession)
		path, says string
	}{
		"as it is":            {func(*v1alpha1.BreakglassSession) {}, "", ""},
		"of no one":           {func(s *v1alpha1.BreakglassSession) { s.Spec.User = "" }, "spec.user", "say who asks"},
		"of no escalation":    {func(s *v1alpha1.BreakglassSession) { s.Spec.EscalationRef = "" }, "spec.escalationRef", "name a BreakglassEscalation"},
		"of the group above":  {func(s *v1alpha1.BreakglassSession) { s.Spec.GrantedGroup = mastersGroup }, "spec.grantedGroup", "is given to nobody"},
		"for no time":         {func(s *v1alpha1.BreakglassSession) { s.Spec.MaxValidFor = "x" }, "spec.maxValidFor", "cannot be read"},
		"in no state":         {func(s *v1alpha1.BreakglassSession) { s.Status.State = "Nonsense" }, "status.state", ""},
		"approved, no time":   {func(s *v1alpha1.BreakglassSession) { s.Status.Terms = &v1alpha1.SessionTerms{IdleTimeout: "x"} }, "status.terms.idleTimeout", "cannot be read"},
		"approved, overrides": {func(s *v1alpha1.BreakglassSession) { s.Status.Terms = termsWith(-1) }, "status.terms.podSecurityOverrides.maxAllowedScore", "less than zero"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &v1alpha1.BreakglassSession{Spec: v1alpha1.BreakglassSessionSpec{Cluster: "prod-eu", User: "carol", EscalationRef: "debug"}}
			c.change(s)
			compiled, errs := CompileSession(s)
			onlyError(t, errs, c.path, c.says)
			if (compiled == nil) != (len(errs) > 0) {
				t.Errorf("%v, and compiled: %t", errs, compiled != nil)
			}
		})
	}
}

func termsWith(score int32) *v1alpha1.SessionTerms {
	return &v1alpha1.SessionTerms{PodSecurityOverrides: &v1alpha1.PodSecurityOverrides{Enabled: true, MaxAllowedScore: &score}}
}

// TestCheckAsk says what may not be asked for, and by whom.
func TestCheckAsk(t *testing.T) {
	type spec = v1alpha1.BreakglassSessionSpec
	carol := Person{Name: "carol", Groups: []string{"devs"}}
	known := Person{Name: "carol", UID: "u-1", Groups: []string{"devs"}}
	const years = "1830d"
	for name, c := range map[string]struct {
		escalation func(*v1alpha1.BreakglassEscalationSpec)
		asked      func(*spec)
		by         Person
		says       string
	}{
		"as it is":                     {nil, nil, carol, ""},
		"for another":                  {nil, func(s *spec) { s.User = "dave" }, carol, "everybody asks for himself"},
		"with one's uid":               {nil, func(s *spec) { s.UserUID = "u-1" }, known, ""},
		"with a uid that is not known": {nil, func(s *spec) { s.UserUID = "u-1" }, carol, "gives \"carol\" no uid"},
		"with another uid":             {nil, func(s *spec) { s.UserUID = "u-2" }, known, "by the uid \"u-1\""},
		"without one's uid":            {nil, nil, known, "by the uid \"u-1\""},
		"in another cluster":           {nil, func(s *spec) { s.Cluster = "dev" }, carol, "is not for cluster"},
		"out of the group":             {nil, nil, Person{Name: "carol"}, "is in none of the groups"},
		"for its group":                {nil, func(s *spec) { s.GrantedGroup = "debuggers" }, carol, ""},
		"for another group":            {nil, func(s *spec) { s.GrantedGroup = "admins" }, carol, `spec.grantedGroup is "admins"`},
		"for as long as can be":        {nil, func(s *spec) { s.MaxValidFor = "1h" }, carol, ""},
		"for longer":                   {nil, func(s *spec) { s.MaxValidFor = "61m" }, carol, "spec.maxValidFor is 1h1m0s"},
		"idle for as long as can be":   {nil, func(s *spec) { s.IdleTimeout = "30m" }, carol, ""},
		"idle for longer":              {nil, func(s *spec) { s.IdleTimeout = "31m" }, carol, "spec.idleTimeout is 31m0s"},
		"idle, of what never is":       {func(e *v1alpha1.BreakglassEscalationSpec) { e.IdleTimeout = "" }, func(s *spec) { s.IdleTimeout = "31m" }, carol, ""},
		"kept as long as it must":      {nil, func(s *spec) { s.RetainFor = "7d" }, carol, ""},
		"kept for less":                {nil, func(s *spec) { s.RetainFor = "6d" }, carol, "kept for 168h0m0s at least"},
		"kept for years":               {nil, func(s *spec) { s.RetainFor = "1825d" }, carol, ""},
		"kept for too many years":      {nil, func(s *spec) { s.RetainFor = years }, carol, "kept for longer than"},
		"kept for as many as it says":  {func(e *v1alpha1.BreakglassEscalationSpec) { e.RetainFor = years }, func(s *spec) { s.RetainFor = years }, carol, ""},
		"without a reason": {func(e *v1alpha1.BreakglassEscalationSpec) {
			e.RequestReason = &v1alpha1.ReasonRule{Mandatory: true, Description: "name the ticket"}
		}, func(s *spec) { s.RequestReason = " " }, carol, "asks for it: name the ticket"},
		"without a reason that none describes": {func(e *v1alpha1.BreakglassEscalationSpec) { e.RequestReason = &v1alpha1.ReasonRule{Mandatory: true} }, nil, carol, "BreakglassEscalation debug asks for it$"},
		"with a reason":                        {func(e *v1alpha1.BreakglassEscalationSpec) { e.RequestReason = &v1alpha1.ReasonRule{Mandatory: true} }, func(s *spec) { s.RequestReason = "T-1" }, carol, ""},
		"without a reason that may be given":   {func(e *v1alpha1.BreakglassEscalationSpec) { e.RequestReason = &v1alpha1.ReasonRule{} }, nil, carol, ""},
		"as far ahead as can be":               {nil, func(s *spec) { s.ScheduledStartTime = at(noon.Add(90 * 24 * time.Hour)) }, carol, ""},
		"too far ahead":                        {nil, func(s *spec) { s.ScheduledStartTime = at(noon.Add(90*24*time.Hour + time.Second)) }, carol, "more than 90 days ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sessionOf(t, func(s *v1alpha1.BreakglassSession) {
				if c.asked != nil {
					c.asked(&s.Spec)
				}
			})
			err := CheckAsk(s, escalationOf(t, c.escalation), c.by, noon)
			words, whole := strings.CutSuffix(c.says, "$")
			if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), words) || whole && !strings.HasSuffix(err.Error(), words)) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
