package kubelet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/sallyport-io/sallyport/lab/program"
)

// logs answers with what a container has written, and goes on as long as it is to be
// followed and the pod is there.
func (s *service) logs(w http.ResponseWriter, r *http.Request) {
	c := s.enter(w, r)
	if c == nil {
		return
	}
	query := r.URL.Query()
	file, err := s.pods.programs.Log(c.pod.UID, c.name, query.Get("previous") == "true")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if file != "" {
		programLog(w, r, file, s.pods.programs, c)
		return
	}
	if query.Get("tailLines") != "0" {
		if query.Get("timestamps") == "true" {
			fmt.Fprint(w, c.pod.CreationTimestamp.UTC().Format(time.RFC3339Nano), " ")
		}
		fmt.Fprintf(w, "container %s of pod %s/%s has started\n", c.name, c.pod.Namespace, c.pod.Name)
	}
	if query.Get("follow") == "true" {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-c.ctx.Done():
		}
	}
}

// programLog answers with what a program has written.
func programLog(w http.ResponseWriter, r *http.Request, name string, programs *program.Programs, c *container) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if lines, err := strconv.Atoi(r.URL.Query().Get("tailLines")); err == nil {
		content = lastLines(content, lines)
	}
	_, _ = w.Write(content)
	if r.URL.Query().Get("follow") != "true" {
		return
	}
	ended := programs.Ended(c.pod.UID)
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-ended:
			_, _ = io.Copy(w, file)
			return
		case <-time.After(100 * time.Millisecond):
			if _, err := io.Copy(w, file); err != nil {
				return
			}
		}
	}
}

func lastLines(content []byte, lines int) []byte {
	if lines <= 0 {
		return nil
	}
	start := len(bytes.TrimSuffix(content, []byte("\n")))
	for ; lines > 0 && start >= 0; lines-- {
		start = bytes.LastIndexByte(content[:start], '\n')
	}
	return content[start+1:]
}
