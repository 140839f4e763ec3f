package breakglass

import (
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/files/load"
)

// sessionsOfFiles reads sessions and escalations from files.
func sessionsOfFiles(paths []string, s command.Streams) (*sessionObjects, error) {
	loaded := load.Policies(paths, s.In)
	if len(loaded.Problems) > 0 {
		return nil, loaded.Problems
	}
	objects := &sessionObjects{escalations: map[string]*breakglass.Escalation{}}
	for _, e := range loaded.Sources.Escalations {
		objects.add(e.Object)
	}
	for _, session := range loaded.Sources.Sessions {
		objects.sessions = append(objects.sessions, session.Object)
	}
	return objects, nil
}
