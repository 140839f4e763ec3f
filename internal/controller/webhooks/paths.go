package webhooks

import (
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	doorpath "github.com/sallyport-io/sallyport/internal/door"
)

// leads is where webhooks of a class lead, after where a shipped one does: what lets in
// what cannot be judged, and what is converted, have paths of their own. false where
// the path of the shipped one is not that of a door, so that neither can be said.
func (k class) leads(as admissionregistrationv1.WebhookClientConfig) (leads admissionregistrationv1.WebhookClientConfig, ok bool) {
	leads = *as.DeepCopy()
	with := []string{}
	if k.ignore {
		with = append(with, bare(doorpath.IgnorePath))
	}
	if !k.version.Empty() {
		with = append(with, bare(doorpath.ConvertedPath))
	}
	if leads.Service != nil && leads.Service.Path != nil {
		*leads.Service.Path, ok = pathWith(*leads.Service.Path, with...)
	}
	if leads.URL != nil {
		if parsed, err := url.Parse(*leads.URL); err == nil {
			var path string
			path, ok = pathWith(parsed.EscapedPath(), with...)
			parsed.Path, parsed.RawPath = unescaped(path)
			*leads.URL = parsed.String()
		}
	}
	return leads, ok
}

// leadsToConverted reports whether a webhook leads to where only those policies are
// asked which name the version of the object.
func (h *hook) leadsToConverted() bool {
	path := ""
	switch {
	case h.leads.Service != nil && h.leads.Service.Path != nil:
		path = *h.leads.Service.Path
	case h.leads.URL != nil:
		if parsed, err := url.Parse(*h.leads.URL); err == nil {
			path = parsed.EscapedPath()
		}
	}
	_, before, _, ok := splitPath(path)
	return ok && slices.Contains(before, bare(doorpath.ConvertedPath))
}

// unescaped is an escaped path as a URL holds it.
func unescaped(escaped string) (path, raw string) {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped, ""
	}
	return path, escaped
}

// bare is a part of a path without its slash.
func bare(path string) string { return strings.TrimPrefix(path, "/") }

// pathWith is the path of a door with just these parts before it; false where it is the
// path of none, which stays as it is.
func pathWith(path string, with ...string) (string, bool) {
	root, _, at, ok := splitPath(path)
	if !ok {
		return path, false
	}
	return strings.Join(slices.Concat(root, with, at), "/"), true
}

// splitPath takes the path of a door apart: validate or mutate with or without a cluster
// after it, with what stands right before it of ignore and converted, and the rest.
func splitPath(path string) (root, with, doorAndCluster []string, ok bool) {
	parts := strings.Split(path, "/")
	isDoor := func(i int) bool { return i >= 0 && (parts[i] == "validate" || parts[i] == "mutate") }
	at := len(parts) - 1
	if isDoor(at - 1) {
		at--
	}
	if !isDoor(at) {
		return nil, nil, nil, false
	}
	from := at
	for _, before := range []string{doorpath.ConvertedPath, doorpath.IgnorePath} {
		if from > 0 && parts[from-1] == bare(before) {
			from--
		}
	}
	return parts[:from], parts[from:at], parts[at:], true
}
