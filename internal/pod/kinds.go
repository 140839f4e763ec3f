package pod

// MakesKind reports whether objects of a kind of that name, in some group, can
// hold pods.
func (r *Registry) MakesKind(kind string) bool {
	for gk := range r.kinds {
		if gk.Kind == kind {
			return true
		}
	}
	return false
}
