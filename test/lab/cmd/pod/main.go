// Command pod is what pods run in the tests of the lab: it tells what it sees of the
// machine, and does what it is asked to.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
)

func main() {
	address := flag.String("addr", "", "`HOST:PORT` to listen on")
	stubborn := flag.Bool("stubborn", false, "do not end when asked to")
	flag.Parse()
	var unready atomic.Bool
	answer := func(path string, handle func(r *http.Request) (string, error)) {
		http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			text, err := handle(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			fmt.Fprint(w, text)
		})
	}
	answer("/file", func(r *http.Request) (string, error) {
		content, err := os.ReadFile(r.FormValue("name"))
		return string(content), err
	})
	answer("/write", func(r *http.Request) (string, error) {
		return "", os.WriteFile(r.FormValue("name"), []byte("x"), 0o600)
	})
	answer("/env", func(*http.Request) (string, error) { return strings.Join(os.Environ(), "\n"), nil })
	answer("/who", func(*http.Request) (string, error) {
		host, err := os.Hostname()
		groups, also := os.Getgroups()
		if err == nil {
			err = also
		}
		return fmt.Sprintf("%s %d %d %v", host, os.Getuid(), os.Getgid(), groups), err
	})
	answer("/ready", func(*http.Request) (string, error) {
		if unready.Load() {
			return "", fmt.Errorf("not ready")
		}
		return "ready", nil
	})
	answer("/unready", func(*http.Request) (string, error) { unready.Store(true); return "", nil })
	answer("/exit", func(*http.Request) (string, error) { fmt.Println("exits"); os.Exit(3); return "", nil })

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		for range signals {
			fmt.Println("is asked to end")
			if !*stubborn {
				os.Exit(0)
			}
		}
	}()
	fmt.Println("begins")
	fmt.Println(http.ListenAndServe(*address, nil))
	os.Exit(1)
}
