package image

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	fake "github.com/google/go-containerregistry/pkg/registry"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
)

// newRegistry is one in this process, and gives its address.
func newRegistry(t *testing.T, before func(http.ResponseWriter, *http.Request) bool, options ...fake.Option) string {
	t.Helper()
	handler := fake.New(append(options, fake.Logger(log.New(io.Discard, "", 0)))...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func at(t *testing.T, name string) *remote.Repository {
	t.Helper()
	r, err := remote.NewRepository(name)
	if err != nil {
		t.Fatal(err)
	}
	r.PlainHTTP = true
	return r
}

// TestPush pushes to registries that know referrers and to such that do not, where they
// are found by a tag.
func TestPush(t *testing.T) {
	image, dir, digest := written(t)
	for name, knows := range map[string]bool{"with referrers": true, "without referrers": false} {
		t.Run(name, func(t *testing.T) {
			host := newRegistry(t, nil, fake.WithReferrersSupport(knows))
			for given, tag := range map[string]string{host + "/team/sallyport": released.Version, host + "/team/other:mine": "mine"} {
				pushed, err := Push(t.Context(), dir, Target{Name: given, PlainHTTP: true})
				if err != nil {
					t.Fatal(err)
				}
				repository, _, _ := strings.Cut(given, ":mine")
				if want := repository + "@" + digest.String(); pushed != want {
					t.Errorf("%s was pushed, want %s", pushed, want)
				}
				r := at(t, repository)
				index, err := r.Resolve(t.Context(), tag)
				if err != nil || index.Digest.String() != digest.String() {
					t.Fatalf("%s is %s, %v", tag, index.Digest, err)
				}
				// By digest: this registry gives other types of artifacts than manifests say.
				held := func(of spec.Descriptor, want Referrer) {
					t.Helper()
					var found []string
					if err := r.Referrers(t.Context(), of, "", func(all []spec.Descriptor) error {
						for _, one := range all {
							found = append(found, one.Digest.String())
						}
						return nil
					}); err != nil {
						t.Fatal(err)
					}
					if len(found) != 1 || found[0] != want.Descriptor.Digest.String() {
						t.Errorf("%s is referred to by %q, want %s", of.Digest, found, want.Descriptor.Digest)
					}
				}
				parts, err := content.Successors(t.Context(), r, index)
				if err != nil || len(parts) != 2 {
					t.Fatalf("the index has %v, %v", parts, err)
				}
				held(parts[0], image.Referrers[0])
				held(parts[1], image.Referrers[1])
				held(index, image.Referrers[2])
			}
		})
	}
}

// TestTagComesLast has the registry refuse the last referrer.
func TestTagComesLast(t *testing.T) {
	image, dir, _ := written(t)
	last := image.Referrers[len(image.Referrers)-1].Descriptor.Digest.String()
	host := newRegistry(t, func(w http.ResponseWriter, r *http.Request) bool {
		refused := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, last)
		if refused {
			w.WriteHeader(http.StatusForbidden)
		}
		return refused
	})
	if _, err := Push(t.Context(), dir, Target{Name: host + "/sallyport:v9", PlainHTTP: true}); err == nil || !strings.Contains(err.Error(), last) {
		t.Errorf("the push ends with %v", err)
	}
	if _, err := at(t, host+"/sallyport").Resolve(t.Context(), "v9"); err == nil {
		t.Error("the tag is there")
	}
}

func TestPushRefuses(t *testing.T) {
	_, dir, digest := written(t)
	for _, c := range []struct{ dir, name, says string }{
		{dir, "Not A Name", "is not the name of an image"},
		{dir, "localhost:1/sallyport@" + digest.String(), "a tag is wanted"},
		{t.TempDir(), "localhost:1/sallyport", "make image writes it"},
	} {
		if _, err := Push(t.Context(), c.dir, Target{Name: c.name, PlainHTTP: true}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

// TestLogin logs in by the environment, and nowhere but at the registry that is named.
func TestLogin(t *testing.T) {
	_, dir, _ := written(t)
	host := newRegistry(t, func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		if user == "robot" && password == "secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	env := func(name string) string {
		return map[string]string{"REGISTRY_USERNAME": "robot", "REGISTRY_PASSWORD": "secret"}[name]
	}
	name := host + "/sallyport"
	if _, err := Push(t.Context(), dir, Target{Name: name, PlainHTTP: true}); err == nil {
		t.Error("it is pushed without a login")
	}
	if _, err := Push(t.Context(), dir, Target{Name: name, PlainHTTP: true, Credential: FromEnvironment(name, env)}); err != nil {
		t.Error(err)
	}
	elsewhere, err := FromEnvironment(name, env)(t.Context(), "elsewhere.example.com")
	if err != nil || elsewhere.Password != "" {
		t.Errorf("elsewhere it logs in as %q, %v", elsewhere.Username, err)
	}
	if FromEnvironment(name, func(string) string { return "" }) != nil {
		t.Error("it logs in with nothing")
	}
}
