// Package fetch gets policy modules from where they are: files, HTTPS, registries
// of OCI artifacts, ConfigMaps. What is fetched is bounded in size and time, held to
// its digest, and kept in a directory by its digest, where one is given.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/sallyport-io/sallyport/internal/wasm/addresses"
)

// The defaults of Options.
const (
	DefaultMaxBytes = 64 << 20
	DefaultTimeout  = 60 * time.Second
)

// ConfigMaps reads one key of a ConfigMap's binaryData.
type ConfigMaps interface {
	BinaryData(ctx context.Context, namespace, name, key string) ([]byte, error)
}

// Options change how a Fetcher works. Zero values stand for the defaults.
type Options struct {
	// MaxBytes bounds a module, and Timeout the time that it takes to get it.
	MaxBytes int64
	Timeout  time.Duration
	// Cache is the directory of what was fetched before; none where it is empty.
	Cache string
	// ConfigMaps is needed for modules that are in one.
	ConfigMaps ConfigMaps
	// Credential gives what registries ask for; nothing where it is nil.
	Credential auth.CredentialFunc
	// Transport is http.DefaultTransport where it is nil.
	Transport http.RoundTripper
	// Private are the hosts, as HOST or HOST:PORT, that what is foreign may name at an
	// address that is not public.
	Private []string
}

// Fetcher gets modules. Make one with New.
type Fetcher struct {
	Options
	client *http.Client
	// guarded is the client for what is foreign.
	guarded func() (*http.Client, error)
}

// Module is a module as it was fetched.
type Module struct {
	Wasm []byte
	// Digest is that of Wasm, as sha256:hex.
	Digest string
	// Artifact is the digest of the manifest in a registry; empty for what is in
	// none.
	Artifact string
}

// New makes a Fetcher.
func New(options Options) *Fetcher {
	if options.MaxBytes == 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	f := &Fetcher{Options: options}
	base := options.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	f.client = &http.Client{Transport: &secured{base: base}, CheckRedirect: checkRedirect}
	f.guarded = sync.OnceValues(func() (*http.Client, error) {
		return guard(options.Transport, defaultDialer(), addresses.HostsOf(options.Private))
	})
	return f
}

// Fetch gets the module at an address: file:///path, https://, http:// only on
// this machine, registry://host/name:tag or @sha256:..., or
// configmap://namespace/name/key. An address without a scheme is one of a
// registry.
func (f *Fetcher) Fetch(ctx context.Context, address string) (*Module, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.Timeout, fmt.Errorf("it took more than %s", f.Timeout))
	defer cancel()
	m, err := f.fetch(ctx, address)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
			err = cause
		}
		return nil, fmt.Errorf("module %s cannot be fetched: %w", redacted(address), err)
	}
	return m, nil
}

func (f *Fetcher) fetch(ctx context.Context, address string) (*Module, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "registry", address
	}
	var wasm []byte
	var err error
	switch scheme {
	case "file":
		if isForeign(ctx) {
			return nil, errors.New("it is a file of the server, which an AdmissionPolicy may not name")
		}
		wasm, err = f.file(rest)
	case "https", "http":
		wasm, err = f.web(ctx, address)
	case "registry":
		return f.registry(ctx, rest)
	case "configmap":
		wasm, err = f.configMap(ctx, rest)
	default:
		return nil, fmt.Errorf("scheme %q is not known; there are file, https, registry and configmap", scheme)
	}
	if err != nil {
		return nil, err
	}
	if err := checkWasm(wasm); err != nil {
		return nil, err
	}
	return &Module{Wasm: wasm, Digest: DigestOf(wasm)}, nil
}

func (f *Fetcher) file(path string) ([]byte, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%q is not the whole path of a file; it begins with a slash, as in file:///policies/a.wasm", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return f.bounded(file)
}

func (f *Fetcher) web(ctx context.Context, address string) ([]byte, error) {
	target, err := url.Parse(address)
	if err != nil {
		// The error holds the address, and with it what must not be shown.
		return nil, errors.New("the address is not a URL")
	}
	if err := checkTransport(ctx, target); err != nil {
		return nil, err
	}
	client, err := f.clientFor(ctx)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	response, err := client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", response.Status)
	}
	return f.bounded(response.Body)
}

// checkTransport makes sure that nobody between here and there changes a module,
// and that what is foreign is not asked of this machine.
func checkTransport(ctx context.Context, target *url.URL) error {
	foreign := isForeign(ctx)
	if target.Host == "" {
		return errors.New("the address has no host")
	}
	if wrong := CheckHost(target.Host, foreign); wrong != "" {
		return fmt.Errorf("the address %s", wrong)
	}
	if target.Scheme == "https" || target.Scheme == "http" && loopback(target.Hostname()) && !foreign {
		return nil
	}
	return fmt.Errorf("%s is not read from %s: only https keeps others from changing a module on its way", target.Scheme, target.Host)
}

func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("there are more than 5 redirects")
	}
	return checkTransport(request.Context(), request.URL)
}

func (f *Fetcher) configMap(ctx context.Context, path string) ([]byte, error) {
	parts := strings.Split(path, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return nil, errors.New("the address of a module in a ConfigMap is configmap://namespace/name/key")
	}
	if f.ConfigMaps == nil {
		return nil, errors.New("ConfigMaps are not read here, as there is no cluster")
	}
	wasm, err := f.ConfigMaps.BinaryData(ctx, parts[0], parts[1], parts[2])
	if err == nil && int64(len(wasm)) > f.MaxBytes {
		err = f.tooLarge()
	}
	return wasm, err
}

func (f *Fetcher) bounded(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, f.MaxBytes+1))
	if err == nil && int64(len(data)) > f.MaxBytes {
		err = f.tooLarge()
	}
	return data, err
}

func (f *Fetcher) tooLarge() error {
	return fmt.Errorf("it has more than the %d bytes that a module may have", f.MaxBytes)
}

func checkWasm(data []byte) error {
	if !strings.HasPrefix(string(data[:min(len(data), 4)]), "\x00asm") {
		return errors.New("what is there is not WebAssembly")
	}
	return nil
}

// DigestOf is the digest of data, as sha256:hex.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// redacted is an address without a password or a query.
func redacted(address string) string {
	target, err := url.Parse(address)
	if err != nil || target.User == nil && target.RawQuery == "" {
		if err != nil && strings.ContainsAny(address, "@?") {
			return "(an address that is not a URL)"
		}
		return address
	}
	target.User, target.RawQuery = nil, ""
	return target.String()
}
