package identity

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/identity/holders"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// write writes for people. What is told of several pods and workloads in the same
// words, such as a Deployment and all its pods, is told once.
func (a *identitiesAnswer) write(out io.Writer, claim string, withClaims bool) error {
	type block struct {
		names []string
		first *holders.Identity
		body  string
	}
	var blocks []*block
	same := map[string]*block{}
	for i := range a.Identities {
		id := &a.Identities[i]
		body := bodyOf(id)
		key := id.Runtime.Namespace + "\n" + claimsOf(id, false) + body
		b := same[key]
		if b == nil {
			b = &block{first: id, body: body}
			same[key] = b
			blocks = append(blocks, b)
		}
		b.names = append(b.names, nameOf(&id.Runtime))
	}
	for _, b := range blocks {
		if _, err := fmt.Fprintf(out, "%s\n%s%s\n", decision.Clean(some(b.names, 4)), claimsOf(b.first, true), b.body); err != nil {
			return err
		}
	}
	listed := len(a.Identities)
	summary := fmt.Sprintf("%d of %d pods and workloads carry an identity.", a.Total-a.WithoutClaims, a.Total)
	if claim != "" {
		summary = fmt.Sprintf("%d of %d pods and workloads carry %s.", listed, a.Total, claim)
	} else if withClaims && a.WithoutClaims > 0 {
		summary += " --with-claims-only=false lists the others, too."
	}
	if len(a.Problems) > 0 {
		summary += " Not all could be read; standard error says what is missing."
	}
	_, err := fmt.Fprintln(out, decision.Clean(summary))
	return err
}

func nameOf(r *holders.Runtime) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// claimsOf tells the claims and who holds them, and whereabouts they stand.
func claimsOf(id *holders.Identity, places bool) string {
	if len(id.Claims) == 0 {
		return "  carries no identity\n"
	}
	var text strings.Builder
	for i := range id.Claims {
		c := &id.Claims[i]
		line := "  " + c.Key + "=" + c.Value
		if places {
			by := "no IdentitySource has the key"
			if c.Source != "" {
				by = "IdentitySource " + c.Source
			}
			line += "  (" + by + ", " + c.Path + ")"
		}
		text.WriteString(decision.Clean(line) + "\n")
		switch holders := holdersOf(c); {
		case c.Fault != "":
			text.WriteString(decision.Clean("    nobody can hold it: "+c.Fault) + "\n")
		case len(holders) == 0:
			text.WriteString("    nobody holds it\n")
		default:
			text.WriteString(decision.Clean("    held by "+some(holders, len(holders)-c.More)) + "\n")
		}
	}
	return text.String()
}

// holdersOf names each holder once, except for those who may do everything anyway.
// Those who were left out stand as empty names at the end.
func holdersOf(c *holders.ClaimHolders) []string {
	var names []string
	for i := range c.Holders {
		h := &c.Holders[i]
		if name := h.Subject.String(); h.Through != nil && (len(names) == 0 || names[len(names)-1] != name) {
			names = append(names, name)
		}
	}
	return append(names, make([]string, c.More)...)
}

// some lists so many names, and counts the others.
func some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// bodyOf tells who gets at the identity without holding it.
func bodyOf(id *holders.Identity) string {
	if len(id.Claims) == 0 {
		return ""
	}
	var past, refused lines
	for i := range id.Others {
		o := &id.Others[i]
		var open, guarded []string
		for j := range o.Ways {
			if w := &o.Ways[j]; w.Guarded {
				guarded = append(guarded, w.String())
			} else {
				open = append(open, w.String())
			}
		}
		past.add(id, o, open)
		refused.add(id, o, guarded)
	}
	return section("no door stops", past, id.MoreUnguarded) + section("refused at the doors, as they do not hold it", refused, id.MoreGuarded)
}

// lines are what is told of people, a line a rule, and of the parts of
// Kubernetes, only by their names.
type lines struct {
	people []subjectLine
	parts  []string
}

type subjectLine struct {
	subject cluster.Subject
	text    string
}

func (l *lines) add(id *holders.Identity, o *holders.Other, ways []string) {
	switch {
	case len(ways) == 0:
	case o.Part:
		l.parts = append(l.parts, o.Subject.String())
	default:
		l.people = append(l.people, subjectLine{o.Subject, lineOf(id, o, ways)})
	}
}

func section(title string, l lines, more int) string {
	if len(l.people)+len(l.parts)+more == 0 {
		return "  " + title + ": nobody\n"
	}
	slices.SortStableFunc(l.people, func(a, b subjectLine) int { return a.subject.Compare(b.subject) })
	slices.Sort(l.parts)
	var text strings.Builder
	text.WriteString("  " + title + ":\n")
	for _, line := range l.people {
		text.WriteString("    " + decision.Clean(line.text) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&text, "    ... and %d more\n", more)
	}
	if len(l.parts) > 0 {
		text.WriteString(decision.Clean("    parts of Kubernetes, by bindings named system:..., which -o json lists: "+strings.Join(slices.Compact(l.parts), ", ")) + "\n")
	}
	return text.String()
}

func lineOf(id *holders.Identity, o *holders.Other, ways []string) string {
	line := o.Subject.String() + " may " + strings.Join(ways, "; ")
	if len(o.Lacks) < len(id.Claims) {
		var lacks []string
		for _, c := range o.Lacks {
			lacks = append(lacks, c.String())
		}
		line += ", without " + strings.Join(lacks, ", ")
	}
	if t := o.Through; t != nil {
		return line + ": " + t.Binding.String() + " -> " + t.Role.String() + ", " + t.Rule.Place() + " " + shortened(t.Rule.Text)
	}
	return line + ": through no rule"
}
