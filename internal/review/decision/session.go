package decision

// Session is a breakglass session that excused a result, or that lets somebody in.
type Session struct {
	Name       string `json:"name"`
	Escalation string `json:"escalation"`
	User       string `json:"user"`
	Cluster    string `json:"cluster,omitempty"`
	// Group is the group whose rights let the request in; empty where the session
	// only excuses.
	Group     string `json:"group,omitempty"`
	Approver  string `json:"approver,omitempty"`
	Reason    string `json:"reason,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
	// Without says what would have followed without the session.
	Without string `json:"without,omitempty"`
}

// String is the session in words.
func (s *Session) String() string {
	text := "BreakglassSession " + s.Name + " (escalation " + s.Escalation
	for _, part := range [...]struct{ name, value string }{{"reason", s.Reason}, {"approved by", s.Approver}, {"until", s.ExpiresAt}} {
		if part.value != "" {
			text += ", " + part.name + " " + part.value
		}
	}
	return text + ")"
}
