package record

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func lines(t *testing.T, path string) []Event {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	for line := range strings.Lines(string(raw)) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

func TestAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := OpenAuditLog(path)
	if err != nil {
		t.Fatal(err)
	}
	log.Add(&Event{Type: "PodSecurityDenied", Name: "one\ntwo"})
	// Once it is closed, everything that was added is in the file.
	log.Close()
	log.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v", info.Mode())
	}
	if events := lines(t, path); len(events) != 1 || events[0].Name != "one\ntwo" {
		t.Errorf("got %+v", events)
	}
	if err := log.Reopen(); err == nil {
		t.Error("a closed log was reopened")
	}
	if n := testutil.ToFloat64(log.written); n != 1 {
		t.Errorf("%v written", n)
	}
}

func TestAuditLogReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := OpenAuditLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := log.Reopen(); err != nil {
		t.Fatal(err)
	}
	log.Add(&Event{Type: "B"})
	log.Close()
	if events := lines(t, path); len(events) != 1 || events[0].Type != "B" {
		t.Errorf("got %+v", events)
	}
	if _, err := OpenAuditLog(filepath.Join(t.TempDir(), "none", "audit.log")); err == nil {
		t.Error("a log in a directory that is not there was opened")
	}
}

// TestAuditLogFull fills the queue of a log that nothing reads: adding returns,
// and what is lost is counted.
func TestAuditLogFull(t *testing.T) {
	log, err := OpenAuditLog(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	for range queueLength + 5 {
		log.Add(&Event{})
	}
	if n := testutil.ToFloat64(log.dropped); n != 5 {
		t.Errorf("%v dropped, want 5", n)
	}
}

func TestAuditLogWriteFails(t *testing.T) {
	log, err := OpenAuditLog(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	reader, out := io.Pipe()
	reader.Close()
	w := bufio.NewWriter(out)
	log.write(w, &Event{})
	log.write(w, &Event{})
	log.flush(w, out)
	log.write(w, &Event{})
	log.flush(w, io.Discard)
	if failed := testutil.ToFloat64(log.failed); failed != 3 {
		t.Errorf("%v failed, want 3", failed)
	}
	log.write(w, &Event{})
	log.flush(w, io.Discard)
	if written := testutil.ToFloat64(log.written); written != 1 {
		t.Errorf("%v written, want 1", written)
	}
}
