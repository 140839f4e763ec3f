package notify

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Target is who is told.
type Target struct {
	// Name is what metrics and logs call it.
	Name string `json:"name"`
	// URL is where messages are posted; URLFile holds it where it is a secret, as
	// that of a Slack webhook is.
	URL     string `json:"url,omitempty"`
	URLFile string `json:"urlFile,omitempty"`
	// Format is JSON if it is not given.
	Format Format `json:"format,omitempty"`
	// SecretFile holds what messages are signed with.
	SecretFile string `json:"secretFile,omitempty"`
	// Events that are told; all if not given.
	Events []Type `json:"events,omitempty"`
	// Escalations and Clusters, with * and ?, that are told of; all if not given.
	Escalations []string `json:"escalations,omitempty"`
	Clusters    []string `json:"clusters,omitempty"`

	secret                []byte
	escalations, clusters glob.List
}

// shortestSecret keeps a secret from being guessed.
const shortestSecret = 16

// ReadConfig reads the targets of a YAML file, with the secrets that it names. An
// error holds all that is wrong.
func ReadConfig(path string) ([]*Target, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the targets of notifications cannot be read: %w", err)
	}
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not YAML: %w", path, err)
	}
	var config struct {
		Targets []*Target `json:"targets"`
	}
	if err := apijson.UnmarshalStrict(raw, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(config.Targets) == 0 {
		return nil, fmt.Errorf("%s: targets: it is empty, so nobody would be told", path)
	}
	var wrong []error
	names := map[string]bool{}
	for i, t := range config.Targets {
		at := fmt.Sprintf("%s: targets[%d]", path, i)
		if t == nil {
			wrong = append(wrong, fmt.Errorf("%s: is null", at))
			continue
		}
		for _, err := range t.compile(names) {
			wrong = append(wrong, fmt.Errorf("%s.%w", at, err))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return config.Targets, nil
}

func (t *Target) compile(names map[string]bool) (wrong []error) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	switch {
	case t.Name == "":
		add("name: is missing; metrics and logs call the target by it")
	case names[t.Name]:
		add("name: %q is taken by another target", t.Name)
	}
	names[t.Name] = true
	switch {
	case (t.URL == "") == (t.URLFile == ""):
		add("url: give one of url and urlFile")
	case t.URLFile != "":
		text, err := os.ReadFile(t.URLFile)
		if err != nil {
			add("urlFile: %w", err)
			break
		}
		t.URL = strings.TrimSpace(string(text))
	}
	if t.URL != "" {
		if why := checkURL(t.URL); why != "" {
			// The address itself may be a secret.
			add("url: %s", why)
		}
	}
	if t.Format == "" {
		t.Format = JSON
	}
	if !slices.Contains(formats, t.Format) {
		add("format: %q is not known; there are %v", t.Format, formats)
	}
	for i, e := range t.Events {
		if !slices.Contains(Types, e) {
			add("events[%d]: %q is not known; there are %v", i, e, Types)
		}
	}
	if t.Events != nil && len(t.Events) == 0 {
		add("events: an empty list tells of nothing; name one or more, or leave the field out")
	}
	for name, list := range map[string][]string{"escalations": t.Escalations, "clusters": t.Clusters} {
		if list != nil && len(list) == 0 || slices.Contains(list, "") {
			add("%s: an empty name matches nothing", name)
		}
	}
	t.escalations, t.clusters = glob.NewList(t.Escalations), glob.NewList(t.Clusters)
	if t.SecretFile != "" {
		text, err := os.ReadFile(t.SecretFile)
		if t.secret = []byte(strings.TrimSpace(string(text))); err != nil {
			add("secretFile: %w", err)
		} else if len(t.secret) < shortestSecret {
			add("secretFile: the secret has %d bytes; at least %d are expected", len(t.secret), shortestSecret)
		}
	}
	return wrong
}

// checkURL says what is wrong with an address. Messages hold names of people and
// what they do, so they travel encrypted, but to this machine itself.
func checkURL(address string) string {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" {
		return "it is not a URL, such as https://host/path"
	}
	if target.Scheme == "https" {
		return ""
	}
	ip, err := netip.ParseAddr(target.Hostname())
	if target.Scheme == "http" && (target.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback()) {
		return ""
	}
	return "it does not begin with https://; http is only for this machine"
}

// wants reports whether a target is told of an event.
func (t *Target) wants(e *Event) bool {
	return (len(t.Events) == 0 || slices.Contains(t.Events, e.Type)) &&
		(len(t.Escalations) == 0 || t.escalations.Match(e.Escalation)) &&
		(len(t.Clusters) == 0 || t.clusters.Match(e.Cluster))
}
