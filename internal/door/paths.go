package door

// Parts of a path before that of a door, in the order in which they stand. A review does
// not say which webhook it was sent by, and a path in a webhook's configuration can hold
// no query.
const (
	// IgnorePath is for webhooks that are registered with a failure policy of Ignore, and
	// authorizers with NoOpinion: a server that does not know yet what it must answers
	// there with an error, not a refusal.
	IgnorePath = "/ignore"
	// ConvertedPath is for webhooks that ask about one version of what was written by
	// another, for the rules that are about just that one.
	ConvertedPath = "/converted"
)
