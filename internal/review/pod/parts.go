package pod

import (
	"fmt"
	"slices"
	"strings"
)

// Part says that what stands in one place is a part of a pod.
type Part struct {
	// From is a path from the place of the pod on: "container", "sidecars[*]". One
	// that begins with "$." begins at the root of the object, and "." is the place
	// itself.
	From string `json:"from"`
	// To is the part: "metadata", "metadata.labels", "metadata.annotations", "spec" or
	// a field of a pod spec, such as "spec.containers". Containers can be one or a list.
	// "container.image" and its like are fields of one container more, whose fields
	// stand apart.
	To string `json:"to"`
}

// parts are compiled Parts. Of those that lead to one field, lists and maps add up
// and of everything else the first that is there counts.
type parts struct {
	all  []part
	text string
}

type part struct {
	from   path
	rooted bool
	to     string
	// plain is where From leads to, if no step of it is a wildcard.
	plain   string
	isPlain bool
}

// String is the same for the same parts.
func (p *parts) String() string {
	if p == nil {
		return ""
	}
	return p.text
}

// containerLists are the fields that containers stand in.
var containerLists = []string{"spec.containers", "spec.initContainers", "spec.ephemeralContainers"}

// maxParts bounds what has to be looked up for a pod.
const maxParts = 64

func compileParts(given []Part) (*parts, error) {
	if len(given) > maxParts {
		return nil, fmt.Errorf("there are more than %d parts", maxParts)
	}
	compiled := &parts{}
	holds := false
	for _, g := range given {
		p := part{to: g.To, isPlain: true}
		if err := checkTo(g.To); err != nil {
			return nil, err
		}
		holds = holds || g.To == "spec" || strings.HasPrefix(g.To, "container.") || slices.Contains(containerLists, g.To)
		text, rooted := strings.CutPrefix(g.From, "$.")
		p.rooted = rooted
		var err error
		if p.from, err = parsePath(text); err != nil {
			return nil, fmt.Errorf("from: %w", err)
		}
		if rooted {
			if err := startsOutsideMetadata(p.from, leaf{form: assembled}); err != nil && text != "metadata" && !strings.HasPrefix(text, "metadata.") {
				return nil, fmt.Errorf("from %q: %w", g.From, err)
			}
		}
		for _, s := range p.from {
			p.isPlain = p.isPlain && s.kind != everyField && s.kind != everyElement
		}
		if p.isPlain && len(p.from) > 0 {
			p.plain = p.from.String()
		}
		compiled.all = append(compiled.all, p)
		compiled.text += fmt.Sprintf("%q to %q\n", g.From, g.To)
	}
	if !holds {
		return nil, fmt.Errorf("none of the parts leads to spec, to containers or to a field of one, so that no pod would be found")
	}
	return compiled, nil
}

func checkTo(to string) error {
	switch {
	case to == "spec", to == "metadata", to == "metadata.labels", to == "metadata.annotations":
		return nil
	case strings.HasPrefix(to, "spec.") && specFields[strings.TrimPrefix(to, "spec.")],
		strings.HasPrefix(to, "container.") && containerFields[strings.TrimPrefix(to, "container.")]:
		return nil
	}
	return fmt.Errorf("to %.100q: metadata, metadata.labels, metadata.annotations, spec, a field of a pod spec, such as spec.containers, or one of a container, such as container.image, belongs here", to)
}
