package clustertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// store holds objects by their URL paths, and everything that happened to them.
type store struct {
	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	events  []event
	// forgotten is how many of the events no watch is told of any more.
	forgotten int
	// more is closed when something happens.
	more chan struct{}
}

// event is one change. Its place in the list, counted from one, is its resource
// version.
type event struct {
	Type   string                     `json:"type"`
	Object *unstructured.Unstructured `json:"object"`
	path   string
}

func newStore() *store {
	return &store{objects: map[string]*unstructured.Unstructured{}, more: make(chan struct{})}
}

func (s *store) set(object runtime.Object) error {
	path, content, err := locate(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "ADDED"
	if s.objects[path] != nil {
		kind = "MODIFIED"
	}
	s.happened(kind, path, content)
	s.objects[path] = content
	return nil
}

func (s *store) delete(object runtime.Object) error {
	path, content, err := locate(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.happened("DELETED", path, content)
	delete(s.objects, path)
	return nil
}

func (s *store) happened(kind, path string, object *unstructured.Unstructured) {
	object.SetResourceVersion(strconv.Itoa(len(s.events) + 1))
	s.events = append(s.events, event{kind, object, path})
	close(s.more)
	s.more = make(chan struct{})
}

// locate gives the URL path and the JSON form of an object.
func locate(object runtime.Object) (string, *unstructured.Unstructured, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return "", nil, err
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kinds[0])
	path := "/api/" + kinds[0].Version
	if kinds[0].Group != "" {
		path = "/apis/" + kinds[0].Group + "/" + kinds[0].Version
	}
	if accessor.GetNamespace() != "" {
		path += "/namespaces/" + accessor.GetNamespace()
	}
	return path + "/" + strings.ToLower(kinds[0].Kind) + "s/" + accessor.GetName(), u, nil
}

// answer answers a get, list or watch.
func (s *store) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	object := s.objects[r.URL.Path]
	s.mu.Unlock()
	query := r.URL.Query()
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case object != nil:
		writeJSON(w, http.StatusOK, object)
	case namesObject(r.URL.Path):
		writeStatus(w, http.StatusNotFound, fmt.Sprintf("%q not found", resource), &metav1.StatusDetails{Name: resource})
	case query.Get("sendInitialEvents") != "":
		// As servers that are older than streamed lists do.
		writeStatus(w, http.StatusUnprocessableEntity, "sendInitialEvents is not supported", nil)
	case query.Get("watch") != "":
		s.watch(w, r)
	default:
		s.list(w, r)
	}
}

// namesObject reports whether a path is that of an object and not of a list:
// /api/v1/pods and /api/v1/namespaces/shop/pods are lists.
func namesObject(path string) bool {
	path = strings.Trim(path, "/")
	return strings.HasPrefix(path, "apis/") == (strings.Count(path, "/")%2 == 0)
}

// list answers with a page of the objects that the field selector selects.
func (s *store) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		writeStatus(w, http.StatusBadRequest, err.Error(), nil)
		return
	}
	s.mu.Lock()
	version := strconv.Itoa(len(s.events))
	var paths []string
	for path, object := range s.objects {
		if within(path, r.URL.Path) && selector.Matches(fieldsOf(object)) && path > query.Get("continue") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	metadata := map[string]any{"resourceVersion": version}
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && len(paths) > limit {
		paths = paths[:limit]
		metadata["continue"] = paths[limit-1]
	}
	items := []any{}
	for _, path := range paths {
		items = append(items, s.objects[path].Object)
	}
	s.mu.Unlock()
	group, kind := listKind(r.URL.Path)
	writeJSON(w, http.StatusOK, map[string]any{"kind": kind, "apiVersion": group, "metadata": metadata, "items": items})
}

// watch streams what happens to the objects of a resource.
func (s *store) watch(w http.ResponseWriter, r *http.Request) {
	seen, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	forgotten := seen < s.forgotten
	s.mu.Unlock()
	if forgotten {
		writeStatus(w, http.StatusGone, "too old resource version", nil)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	stream := json.NewEncoder(w)
	for {
		_ = http.NewResponseController(w).Flush()
		s.mu.Lock()
		events, more := s.events[min(seen, len(s.events)):], s.more
		s.mu.Unlock()
		for _, e := range events {
			seen++
			if within(e.path, r.URL.Path) && stream.Encode(e) != nil {
				return
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

// within reports whether the object at path is listed at list, which may be the
// objects of one namespace or of all.
func within(path, list string) bool {
	collection := path[:strings.LastIndex(path, "/")]
	if collection == list {
		return true
	}
	root, rest, ok := strings.Cut(collection, "/namespaces/")
	if !ok {
		return false
	}
	_, resource, ok := strings.Cut(rest, "/")
	return ok && root+"/"+resource == list
}

// fieldsOf are the fields that a field selector may be about.
func fieldsOf(object *unstructured.Unstructured) fields.Set {
	node, _, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
	return fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace(), "spec.nodeName": node}
}

// listKind gives the apiVersion and the kind of the list at a path.
func listKind(path string) (apiVersion, kind string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	resource := parts[len(parts)-1]
	apiVersion = parts[1]
	if parts[0] == "apis" && len(parts) > 2 {
		apiVersion += "/" + parts[2]
	}
	for known := range scheme.Scheme.AllKnownTypes() {
		if known.GroupVersion().String() == apiVersion && strings.EqualFold(known.Kind+"s", resource) {
			return apiVersion, known.Kind + "List"
		}
	}
	return apiVersion, "List"
}
