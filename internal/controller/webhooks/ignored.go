package webhooks

import (
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// ignored is the part of a path by which Sallyport knows that a webhook is registered
// with failurePolicy: Ignore.
const ignored = "ignore"

// leads is where webhooks of a class lead, after where a shipped one does: what lets in
// what cannot be judged has a path of its own.
func (k class) leads(as admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.WebhookClientConfig {
	leads := *as.DeepCopy()
	if leads.Service != nil && leads.Service.Path != nil {
		*leads.Service.Path = pathOf(*leads.Service.Path, k.ignore)
	}
	if leads.URL != nil {
		if parsed, err := url.Parse(*leads.URL); err == nil {
			parsed.Path, parsed.RawPath = unescaped(pathOf(parsed.EscapedPath(), k.ignore))
			*leads.URL = parsed.String()
		}
	}
	return leads
}

// unescaped is an escaped path as a URL holds it.
func unescaped(escaped string) (path, raw string) {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped, ""
	}
	return path, escaped
}

// pathOf is the path of a door, validate or mutate with or without a cluster after it,
// with or without ignore before it. Other paths stay as they are.
func pathOf(path string, ignore bool) string {
	parts := strings.Split(path, "/")
	isDoor := func(i int) bool { return i >= 0 && (parts[i] == "validate" || parts[i] == "mutate") }
	at := len(parts) - 1
	if isDoor(at - 1) {
		at--
	}
	if !isDoor(at) {
		return path
	}
	has := at > 0 && parts[at-1] == ignored
	switch {
	case ignore && !has:
		parts = slices.Insert(parts, at, ignored)
	case !ignore && has:
		parts = slices.Delete(parts, at-1, at)
	}
	return strings.Join(parts, "/")
}
