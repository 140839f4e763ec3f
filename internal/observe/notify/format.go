package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// Format is how an event is written.
type Format string

// The formats.
const (
	JSON        Format = "json"
	CloudEvents Format = "cloudevents"
	Slack       Format = "slack"
)

var formats = []Format{JSON, CloudEvents, Slack}

// eventType is the beginning of the types of CloudEvents.
const eventType = "io.sallyport.breakglass.session."

// longestText bounds what somebody else wrote, in a message for people.
const longestText = 2000

// write writes an event, and says which media type that is. source names this
// installation; dropped counts events before it that were not sent.
func (f Format) write(e *Event, source string, dropped int) (body []byte, mediaType string, err error) {
	event := struct {
		*Event
		Dropped int `json:"dropped,omitempty"`
	}{e, dropped}
	switch f {
	case CloudEvents:
		mediaType = "application/cloudevents+json; charset=UTF-8"
		body, err = json.Marshal(map[string]any{
			"specversion": "1.0", "id": e.ID, "source": source, "type": eventType + string(e.Type), "subject": e.Session,
			"time": e.Time.UTC(), "datacontenttype": "application/json", "data": event,
		})
	case Slack:
		mediaType = "application/json; charset=UTF-8"
		text := e.Sentence()
		if dropped > 0 {
			text += fmt.Sprintf(" (%d messages before this one could not be sent)", dropped)
		}
		body, err = json.Marshal(map[string]string{"text": plain(text)})
	default:
		mediaType = "application/json; charset=UTF-8"
		body, err = json.Marshal(event)
	}
	if err != nil {
		return nil, "", fmt.Errorf("the event cannot be written: %w", err)
	}
	return body, mediaType, nil
}

// plain takes out of a text what Slack would read as markup: whoever writes a
// reason must not call a channel or dress up a link.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > longestText {
		text = string(runes[:longestText]) + "..."
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
