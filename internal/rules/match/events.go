package match

// EventsGroup is the group of Events beside the core one.
const EventsGroup = "events.k8s.io"

// OtherGroup is the other group that serves the objects of a resource, whichever one
// they come by: Events are served by two. false where there is none.
func OtherGroup(group, resource string) (other string, ok bool) {
	switch {
	case resource != "events":
		return "", false
	case group == "":
		return EventsGroup, true
	}
	return "", group == EventsGroup
}
