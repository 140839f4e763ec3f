package breakglass

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/files/output"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// follow tells of each change after objects were read, until ctx ends.
func (f *sessionsFlags) follow(ctx context.Context, s command.Streams, c client.WithWatch, objects *sessionObjects, name string) error {
	states := map[string]v1alpha1.SessionState{}
	for _, object := range objects.sessions {
		states[object.Name] = objects.row(object, s.Now()).State
	}
	version := objects.version
	for ctx.Err() == nil {
		events, err := c.Watch(ctx, &v1alpha1.BreakglassSessionList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return command.Plainly("sessions cannot be watched", err)
		}
		version, err = f.changes(ctx, s, events, objects, states, name)
		events.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// changes tells of what a watch says, until it ends, and returns the version to go
// on from.
func (f *sessionsFlags) changes(ctx context.Context, s command.Streams, events watch.Interface, objects *sessionObjects, states map[string]v1alpha1.SessionState, name string) (version string, err error) {
	for {
		select {
		case <-ctx.Done():
			return "", nil
		case event, open := <-events.ResultChan():
			if !open || event.Type == watch.Error {
				return version, nil
			}
			object, ok := event.Object.(*v1alpha1.BreakglassSession)
			if !ok {
				continue
			}
			version = object.ResourceVersion
			row := objects.row(object, s.Now())
			if f.cluster != "" && row.Cluster != f.cluster || f.user != "" && row.User != f.user || name != "" && row.Name != name {
				continue
			}
			before := states[row.Name]
			states[row.Name] = row.State
			if event.Type == watch.Deleted {
				delete(states, row.Name)
			}
			if err := f.printChange(s, event.Type, before, &row); err != nil {
				return "", err
			}
		}
	}
}

func (f *sessionsFlags) printChange(s command.Streams, kind watch.EventType, before v1alpha1.SessionState, row *sessionRow) error {
	switch {
	case f.output == "json":
		return json.NewEncoder(s.Out).Encode(map[string]any{"type": kind, "session": row})
	case f.output == "yaml":
		text, err := output.YAML(map[string]any{"type": kind, "session": row})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "---\n%s", text)
		return err
	case kind == watch.Deleted:
		_, err := fmt.Fprintf(s.Out, "%s %s is no longer kept\n", s.Now().UTC().Format(time.RFC3339), decision.Clean(row.Name))
		return err
	}
	change := string(row.State)
	switch {
	case before != "" && before != row.State:
		change = fmt.Sprintf("%s, was %s", row.State, before)
	case before == row.State && row.LastUsedAt != nil:
		change += ", last used at " + timeOr(row.LastUsedAt)
	}
	if by := row.by(); by != "" {
		change += ", approved by " + by
	}
	_, err := fmt.Fprintln(s.Out, decision.Clean(fmt.Sprintf("%s %s (%s, cluster %s, %s): %s", s.Now().UTC().Format(time.RFC3339), row.Name, row.User, row.Cluster, row.Escalation, change)))
	return err
}
