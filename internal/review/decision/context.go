package decision

import "time"

// Context is what a rule asked for beside the request, whatever it made of the
// answers.
type Context struct {
	// Reads are what it got.
	Reads []Read `json:"reads,omitempty"`
	// Denied are what it may not have, and was refused.
	Denied []DeniedRead `json:"denied,omitempty"`
	// More counts reads and refusals that are not listed, as there were too many.
	More int `json:"more,omitempty"`
}

// Read is one read that was answered.
type Read struct {
	// Resource is the resource as plural.group.
	Resource  string `json:"resource"`
	Verb      string `json:"verb"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Objects is how many the answer had.
	Objects int       `json:"objects"`
	At      time.Time `json:"at"`
	// AgeSeconds is how old the copy was that it came from; 0 for what the API
	// server was asked for.
	AgeSeconds float64 `json:"ageSeconds"`
	// Direct is set where the API server was asked.
	Direct bool `json:"direct,omitempty"`
}

// DeniedRead is one call that was refused.
type DeniedRead struct {
	// Resource is the resource as plural.group, or the call that reads none.
	Resource string    `json:"resource"`
	Verb     string    `json:"verb"`
	Why      string    `json:"why"`
	At       time.Time `json:"at"`
}

// Refused reports whether a read was refused to the rule.
func (r *Result) Refused() bool { return r.Context != nil && len(r.Context.Denied) > 0 }

// String is the refusal in words.
func (d *DeniedRead) String() string {
	return "refused to the policy: " + d.Verb + " " + d.Resource + ": " + d.Why
}
