package clusterpolicy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// The annotations that say for which kinds rules about Pods are generated: none,
// all, or a list of kinds. The second is that of document "Policy Exceptions"'
// own system.
var AutogenAnnotations = []string{"sallyport.io/autogen-controllers", "pod-policies.kyverno.io/autogen-controllers"}

// autogenWish is what the annotation asks for.
type autogenWish struct {
	given, none, all bool
	kinds            []string
}

// readAutogen reads the annotation. The kinds that it lists have to make pods, which
// is left to whoever knows all that do.
func readAutogen(annotations map[string]string) (autogenWish, []makerNamed, field.ErrorList) {
	for _, key := range AutogenAnnotations {
		text, ok := annotations[key]
		if !ok {
			continue
		}
		at := field.NewPath("metadata", "annotations").Key(key)
		wish := autogenWish{given: true}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "none":
			wish.none = true
			return wish, nil, nil
		case "all":
			wish.all = true
			return wish, nil, nil
		case "":
			return wish, nil, field.ErrorList{field.Required(at, "write none, all, or kinds such as Deployment,CronJob")}
		}
		var makers []makerNamed
		var errs field.ErrorList
		for _, kind := range strings.Split(text, ",") {
			kind = strings.TrimSpace(kind)
			err := field.Invalid(at, kind, "is not a kind that makes pods, as far as is known here; write none, all, or kinds such as Deployment,CronJob")
			if kind == "Pod" {
				errs = append(errs, err)
			} else {
				makers = append(makers, makerNamed{kind, err})
			}
			wish.kinds = append(wish.kinds, kind)
		}
		return wish, makers, errs
	}
	return autogenWish{}, nil, nil
}

// makerNamed is a kind that a policy takes to make pods, and what is wrong if it does
// not.
type makerNamed struct {
	kind string
	err  *field.Error
}

// NoMakers says what is wrong with those that make no pods as far as is known.
func NoMakers(named []makerNamed, pods *pod.Registry) field.ErrorList {
	var errs field.ErrorList
	for _, maker := range named {
		if !pods.MakesKind(maker.kind) {
			errs = append(errs, maker.err)
		}
	}
	return errs
}

// generate says for which kinds a rule holds beside those that it matches.
// warning is set where it holds for none although it is about Pods, so that
// somebody might think that it does; place is the block that makes it so.
func (w *autogenWish) generate(m, exclude *match.Match) (g generated, place, warning string) {
	scope := m.Pods()
	if !scope.Named && !scope.Wild || w.none {
		return generated{}, "", ""
	}
	if w.given {
		return generated{On: true, some: !w.all, kinds: glob.NewList(w.kinds)}, "", ""
	}
	switch {
	case !scope.Named:
		return generated{}, "match", "is about Pods by a pattern, and so holds for Pods as they are made, not for what makes them; write Pod in full, or name the kinds in the annotation " + AutogenAnnotations[0]
	case namesMakers(m):
		// Who lists what makes pods says by that what the rule is about.
		return generated{}, "", ""
	case !scope.Only:
		return generated{}, "match", "is about Pods and other kinds, and so holds for Pods as they are made, not for what makes them; name the kinds in the annotation " + AutogenAnnotations[0] + ", or write a rule only about Pods"
	case scope.Narrow:
		return generated{}, "match", narrowWarning
	case exclude.Pods().Narrow:
		return generated{}, "exclude", narrowWarning
	}
	return generated{On: true}, "", ""
}

// makers are the kinds of Kubernetes by which people have pods made.
var makers = []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"}

// namesMakers reports whether the block names each of them.
func namesMakers(m *match.Match) bool {
	names, _ := m.ExactKinds()
	return !slices.ContainsFunc(makers, func(kind string) bool { _, named := names[kind]; return !named })
}

var narrowWarning = "goes by names, selectors or annotations, and so holds for Pods as they are made, not for what makes them; name the kinds in the annotation " + AutogenAnnotations[0] + " if their own names, labels and annotations are meant"
