package policy

import "github.com/sallyport-io/sallyport/internal/calls/contextgate"

// Contexts are the policies of the set that may ask for what stands beside the
// request, with what was granted to each: rules that read, and every module, which
// may ask for what it likes.
func (s *Set) Contexts() []*contextgate.Policy {
	contexts := s.contexts[:len(s.contexts):len(s.contexts)]
	for _, p := range s.Modules.All {
		if p.Broken == nil && s.Runs(p) {
			contexts = append(contexts, p.Guest.Context)
		}
	}
	return contexts
}
