package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
)

const wasm = "\x00asm\x01\x00\x00\x00"

type configMaps struct{}

func (configMaps) BinaryData(_ context.Context, namespace, name, key string) ([]byte, error) {
	if namespace+name+key != "nsmapkey.wasm" {
		return nil, errors.New("there is no such ConfigMap")
	}
	return []byte(wasm), nil
}

func TestFetch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"a.wasm": wasm, "text": "hello", "large": wasm + strings.Repeat("x", 1000)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hang := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a.wasm":
			_, _ = w.Write([]byte(wasm))
		case "/large":
			_, _ = w.Write(make([]byte, 5000))
		case "/away":
			http.Redirect(w, r, "http://example.com/a.wasm", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/hang":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		default:
			http.NotFound(w, r)
		}
	})
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(func() { close(hang) })
	secure := httptest.NewTLSServer(handler)
	t.Cleanup(secure.Close)
	f := fetch.New(fetch.Options{ConfigMaps: configMaps{}, MaxBytes: 500, Timeout: 2 * time.Second, Transport: secure.Client().Transport})
	for address, want := range map[string]string{
		"file://" + dir + "/a.wasm":                    "",
		plain.URL + "/a.wasm":                          "",
		secure.URL + "/a.wasm":                         "",
		"configmap://ns/map/key.wasm":                  "",
		"file://" + dir + "/none":                      "no such file",
		"file://" + dir:                                "not a regular file",
		"file://" + dir + "/text":                      "not WebAssembly",
		"file://" + dir + "/large":                     "more than the 500 bytes",
		"file://a.wasm":                                "begins with a slash",
		plain.URL + "/none":                            "404",
		plain.URL + "/large":                           "more than the 500 bytes",
		plain.URL + "/away":                            "only https",
		plain.URL + "/loop":                            "more than 5 redirects",
		secure.URL + "/away":                           "only https",
		"http://example.com/a.wasm":                    "only https",
		"http://127.0.0.1.example.com":                 "only https",
		"http:///a":                                    "no host",
		"https://u:secret@%zz":                         "not a URL",
		"configmap://ns/map":                           "configmap://namespace/name/key",
		"configmap://ns/other/key":                     "no such ConfigMap",
		"ftp://a/b":                                    "is not known",
		"registry://host":                              "not an address in a registry",
		"registry://host/name":                         "neither a tag nor a digest",
		"host/name@sha512:" + strings.Repeat("a", 128): "sha256 is read",
	} {
		m, err := f.Fetch(t.Context(), address)
		if want == "" {
			if err != nil || string(m.Wasm) != wasm || !strings.HasPrefix(m.Digest, "sha256:93a44bbb96c7") {
				t.Errorf("%s: %+v, %v", address, m, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	f.Timeout = 50 * time.Millisecond
	if _, err := f.Fetch(t.Context(), plain.URL+"/hang?token=secret"); err == nil || !strings.Contains(err.Error(), "it took more than 50ms") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// artifacts is a registry of one repository.
type artifacts struct {
	blobs    map[string]string
	tags     map[string]string
	requests atomic.Int64
}

func (a *artifacts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.requests.Add(1)
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	digest := name
	if tagged, ok := a.tags[name]; ok {
		digest = tagged
	}
	content, ok := a.blobs[digest]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if strings.Contains(r.URL.Path, "/manifests/") {
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	}
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write([]byte(content))
}

func (a *artifacts) add(content string) string {
	digest := fetch.DigestOf([]byte(content))
	a.blobs[digest] = content
	return digest
}

// push adds an artifact with layers of a type each.
func (a *artifacts) push(tag string, layers ...[2]string) string {
	var written []string
	for _, l := range layers {
		written = append(written, fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, l[0], a.add(l[1]), len(l[1])))
	}
	digest := a.add(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","layers":[` + strings.Join(written, ",") + `]}`)
	a.tags[tag] = digest
	return digest
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	const layer = "application/vnd.wasm.content.layer.v1+wasm"
	a := &artifacts{blobs: map[string]string{}, tags: map[string]string{}}
	server := httptest.NewServer(a)
	host := strings.TrimPrefix(server.URL, "http://")
	good := a.push("v1", [2]string{"text/plain", "hello"}, [2]string{layer, wasm})
	a.push("two", [2]string{layer, wasm}, [2]string{layer, wasm + "\x00\x01\x00"})
	a.push("none", [2]string{"text/plain", "hello"})
	a.push("index")
	a.push("text", [2]string{layer, "hello"})
	a.push("large", [2]string{layer, wasm + strings.Repeat("x", 1000)})
	a.push("gone", [2]string{layer, wasm + "\x00\x02\x01a"})
	delete(a.blobs, fetch.DigestOf([]byte(wasm+"\x00\x02\x01a")))
	a.push("forged", [2]string{layer, wasm + "\x00\x02\x01b"})
	a.blobs[fetch.DigestOf([]byte(wasm+"\x00\x02\x01b"))] = wasm + "\x00\x02\x01c"
	other := fetch.DigestOf([]byte("other"))
	a.blobs[other] = a.blobs[good]
	dir := t.TempDir()
	f := fetch.New(fetch.Options{MaxBytes: 500, Cache: dir, Timeout: 10 * time.Second})
	for reference, want := range map[string]string{
		":v1": "", "@" + good: "", ":v1@" + good: "",
		":two": "holds 2 modules", ":none": "they are text/plain", ":index": "no layers", ":text": "not WebAssembly",
		":large": "1008 bytes; 500 are read", ":gone": "not found", ":forged": "not what its digest", ":missing": "not found",
		"@" + other: "digest",
	} {
		m, err := f.Fetch(t.Context(), "registry://"+host+"/policies/a"+reference)
		if want == "" {
			if err != nil || string(m.Wasm) != wasm || m.Artifact != good {
				t.Errorf("%s: %+v, %v", reference, m, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", reference, err, want)
		}
	}
	// What is pinned and was fetched needs no registry.
	server.Close()
	if m, err := f.Fetch(t.Context(), host+"/policies/a@"+good); err != nil || string(m.Wasm) != wasm {
		t.Errorf("%+v, %v", m, err)
	}
	// What somebody changed in the cache is not used.
	path := filepath.Join(dir, "sha256", strings.TrimPrefix(fetch.DigestOf([]byte(wasm)), "sha256:"))
	if err := os.WriteFile(path, []byte(wasm+"\x00\x01\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := f.Fetch(t.Context(), host+"/policies/a@"+good); err == nil {
		t.Errorf("a changed cache gave %q", m.Wasm)
	}
}
