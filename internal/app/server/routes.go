package server

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// routes says who may ask what. Health is open to probes; everything else is for
// callers that are authenticated, metrics too, as they name policies.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(method, path string, handler http.Handler) {
		mux.Handle(method+" "+path, handler)
		mux.Handle(path, otherMethod(method))
	}
	// What /mutate changes is only about exceptions and templates: it fills in who
	// asked and who approved, and marks templates.
	for path, at := range map[string]request.Door{"/validate": request.Admission, "/mutate": request.Admission, "/authorize": request.Access} {
		for _, prefix := range []string{"", door.IgnorePath, door.ConvertedPath, door.IgnorePath + door.ConvertedPath} {
			converted := strings.HasSuffix(prefix, door.ConvertedPath)
			if converted && path != "/validate" {
				continue
			}
			asked := question{door: at, mutate: path == "/mutate", ignore: strings.HasPrefix(prefix, door.IgnorePath), converted: converted}
			handle(http.MethodPost, prefix+path, s.door(asked))
			handle(http.MethodPost, prefix+path+"/{cluster}", s.door(asked))
		}
	}
	// One policy that is a module, as the webhooks of a PolicyServer ask.
	for _, prefix := range []string{"", door.IgnorePath} {
		handle(http.MethodPost, prefix+"/policy/{policy}/validate", s.door(question{door: request.Admission, ignore: prefix != ""}))
		handle(http.MethodPost, prefix+"/policy/{policy}/mutate", s.door(question{door: request.Admission, mutate: true, ignore: prefix != ""}))
	}
	handle(http.MethodGet, "/metrics", s.authenticated("metrics", promhttp.HandlerFor(s.Recorder.Registry(), promhttp.HandlerOpts{})))
	handle(http.MethodGet, "/healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }))
	handle(http.MethodGet, "/readyz", http.HandlerFunc(s.readyz))
	mux.HandleFunc("/", noPath)
	return literal(mux)
}

// literal takes paths as they are written. The mux would answer /validate/ and
// //validate with a redirect, which turns a review into a GET, or into a second
// one that goes elsewhere.
func literal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped {
			noPath(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// shownPath bounds how much of a path is said back.
const shownPath = 100

func noPath(w http.ResponseWriter, r *http.Request) {
	http.Error(w, fmt.Sprintf("there is nothing at %s; reviews are accepted at /validate, /mutate and /authorize, or at one of these with /CLUSTER after it, at /policy/ID/validate and /policy/ID/mutate, each also with /ignore before it, and /validate with /converted before it, and with no slash at the end", shortened(r.URL.EscapedPath())), http.StatusNotFound)
}

// shortened is a part of a path as it can be said back.
func shortened(asked string) string {
	asked = decision.Clean(asked)
	if len(asked) > shownPath {
		asked = strings.ToValidUTF8(asked[:shownPath], "") + "..."
	}
	return asked
}

// otherMethod answers every method but the one that a path takes.
func otherMethod(method string) http.Handler {
	allow, says := method, "a review is sent by POST"
	if method == http.MethodGet {
		allow, says = "GET, HEAD", "it is read by GET"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		http.Error(w, fmt.Sprintf("the method %s is not accepted here; %s", decision.Clean(r.Method), says), http.StatusMethodNotAllowed)
	})
}

func (s *Server) door(asked question) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by, err := s.auth.authenticate(r)
		if err != nil {
			by, err = s.gate.strangers.let(asked.door, r, err)
		}
		if err != nil {
			s.unauthenticated(asked.door, w, err)
			return
		}
		s.connections.reviews(r, doorOf(asked.door, &by))
		asked := asked
		asked.by = &by
		s.gate.serve(asked, w, r)
	})
}

// authenticated lets callers through that may ask for every cluster; at is what
// they ask, for the metric.
func (s *Server) authenticated(at request.Door, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.roams(r); err != nil {
			s.unauthenticated(at, w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) unauthenticated(at request.Door, w http.ResponseWriter, err error) {
	s.Recorder.Bad(at, http.StatusUnauthorized)
	w.Header().Set("WWW-Authenticate", "Bearer")
	if errors.Is(err, errStale) {
		// Another connection may begin with a certificate that is good.
		w.Header().Set("Connection", "close")
	}
	http.Error(w, err.Error(), http.StatusUnauthorized)
}
