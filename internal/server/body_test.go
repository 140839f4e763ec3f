package server

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/door"
)

func TestReadBody(t *testing.T) {
	for _, tt := range []struct {
		name, contentType, body string
		// length is what the caller promises; -2: what is true.
		length int64
		status int
	}{
		{"JSON", "application/json", "{}", -2, 0},
		{"with a charset", "application/json; charset=utf-8", "{}", -2, 0},
		{"in another case", "Application/JSON", "{}", -2, 0},
		{"length not told", "application/json", "{}", -1, 0},
		{"large", "application/json", strings.Repeat(" ", maxBody), -2, 0},
		{"too large", "application/json", strings.Repeat(" ", maxBody+1), -2, http.StatusRequestEntityTooLarge},
		{"too large, length not told", "application/json", strings.Repeat(" ", maxBody+1), -1, http.StatusRequestEntityTooLarge},
		{"too large by promise", "application/json", "{}", maxBody + 1, http.StatusRequestEntityTooLarge},
		{"shorter than promised", "application/json", "{}", 10, http.StatusBadRequest},
		{"empty", "application/json", "", -2, http.StatusBadRequest},
		{"empty, length not told", "application/json", "", -1, http.StatusBadRequest},
		{"no content type", "", "{}", -2, http.StatusUnsupportedMediaType},
		{"YAML", "application/yaml", "{}", -2, http.StatusUnsupportedMediaType},
		{"a longer type", "application/json-patch+json", "{}", -2, http.StatusUnsupportedMediaType},
		{"two types", "application/json, text/plain", "{}", -2, http.StatusUnsupportedMediaType},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/validate", io.NopCloser(strings.NewReader(tt.body)))
			r.ContentLength = tt.length
			if tt.length == -2 {
				r.ContentLength = int64(len(tt.body))
			}
			r.Header.Set("Content-Type", tt.contentType)
			body, err := readBody(httptest.NewRecorder(), r)
			var problem *door.Error
			switch {
			case tt.status == 0 && (err != nil || string(body) != tt.body):
				t.Errorf("%d bytes were read, error %v", len(body), err)
			case tt.status != 0 && (!errors.As(err, &problem) || problem.Status != tt.status):
				t.Errorf("got %v, want a status of %d", err, tt.status)
			}
		})
	}
}
