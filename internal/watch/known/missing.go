package known

import (
	"fmt"
	"strings"
	"time"
)

// Missing is what is not known.
type Missing struct{ Facts []Named }

// told bounds the facts that a sentence names, as users read it.
const told = 3

// Error says what is not known and since when, for whoever made the request.
func (m *Missing) Error() string {
	var b strings.Builder
	b.WriteString("Sallyport does not know what it must to judge this, and so judges nothing: ")
	for i, f := range m.Facts {
		if i == told {
			fmt.Fprintf(&b, "; and %d more", len(m.Facts)-told)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.shortDetail())
	}
	b.WriteString(". This ends by itself once it knows; /readyz of Sallyport says more")
	return b.String()
}

// Sentence says how a fact stands that is not known.
func (n Named) Sentence() string {
	since := n.Since.UTC().Format(time.RFC3339)
	switch n.State {
	case Gone:
		return n.Name + " do not exist any more since " + since
	case Unread:
		return n.Name + " were not read yet, since " + since
	default:
		return n.Name + " have not been heard of since " + since
	}
}

// shownWhy bounds what a refusal says of why a fact is not known.
const shownWhy = 200

func (n Named) shortDetail() string {
	if len(n.Why) > shownWhy {
		n.Why = strings.ToValidUTF8(n.Why[:shownWhy], "") + "..."
	}
	return n.Detail()
}

// Detail is the Sentence with why it is so.
func (n Named) Detail() string {
	if n.Why == "" {
		return n.Sentence()
	}
	return n.Sentence() + ": " + n.Why
}
