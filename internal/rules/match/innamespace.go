package match

import "slices"

// GoesByNamespace reports whether the match or the exclude block goes by the names or
// the labels of namespaces.
func (r *Reach) GoesByNamespace() (goes bool) {
	r.eachFilter(func(f *filter, _ bool, _ int) {
		goes = goes || f.namespaceEntries.given() || f.namespaceSelector != nil
	})
	return goes
}

// InNamespace reports whether some request about what is in a namespace with these
// labels, or about the Namespace, is covered. Where that is not known it is assumed to
// be.
func (r *Reach) InNamespace(name string, labels map[string]string) bool {
	return r.Keeps(&Relabelling{Namespace: name, Before: labels, After: labels})
}

// MayBeInNone reports whether the blocks may be about something that is in no
// namespace. A filter that goes by namespaces holds for nothing of that; what else the
// exclude block takes out of it is not looked at.
func (r *Reach) MayBeInNone() bool {
	m := r.match
	if m == nil || m.open {
		return m != nil
	}
	may := func(f filter) bool {
		return !f.namespaceEntries.given() && f.namespaceSelector == nil &&
			(len(f.kinds) == 0 || slices.ContainsFunc(f.kinds, func(k Kind) bool { return !k.BuiltIn() || k.ClusterScoped() }))
	}
	if m.all {
		return !slices.ContainsFunc(m.filters, func(f filter) bool { return !may(f) })
	}
	return slices.ContainsFunc(m.filters, may)
}
