package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sallyport-io/sallyport/internal/clusterconfig"
)

// authenticator says whether a caller may ask. With neither a client CA nor
// tokens every caller may; the server then listens on loopback alone.
type authenticator struct {
	certificates bool
	tokenFile    string
	// tokens are hashed, so that comparing takes the same time whatever their
	// length.
	tokens  atomic.Pointer[[]boundToken]
	content []byte
}

// boundToken is the hash of a token, with the clusters that it is bound to; nil
// for one that is bound to none.
type boundToken struct {
	sum      [sha256.Size]byte
	clusters []string
}

func newAuthenticator(o *Options) (*authenticator, error) {
	a := &authenticator{certificates: o.ClientCAFile != "", tokenFile: o.TokenFile}
	if a.tokenFile == "" {
		return a, nil
	}
	if _, err := a.reload(); err != nil {
		return nil, err
	}
	return a, nil
}

// reload reads the tokens again and reports whether they changed. If they cannot
// be used, those that were read before stay.
func (a *authenticator) reload() (changed bool, err error) {
	content, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return false, fmt.Errorf("the bearer tokens cannot be read: %w", err)
	}
	if a.content != nil && bytes.Equal(content, a.content) {
		return false, nil
	}
	var tokens []boundToken
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		token, err := parseToken(line)
		if err != nil {
			return false, fmt.Errorf("%s: %w", a.tokenFile, err)
		}
		if slices.ContainsFunc(tokens, func(t boundToken) bool { return t.sum == token.sum && !slices.Equal(t.clusters, token.clusters) }) {
			return false, fmt.Errorf("%s: a token is there twice, bound to other clusters each time; write all of them behind it, on one line", a.tokenFile)
		}
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return false, fmt.Errorf("%s: no token was found; write one a line", a.tokenFile)
	}
	a.content = content
	a.tokens.Store(&tokens)
	return true, nil
}

var errUnauthenticated = errors.New("the caller is not authenticated: show a client certificate or a bearer token that this server knows")

// binding is what stands before each cluster that a token is bound to.
const binding = "cluster="

// parseToken reads a line: a token, and behind it the clusters that it is bound
// to, if it is, as cluster=NAME each.
func parseToken(line string) (boundToken, error) {
	fields := strings.Fields(line)
	token := boundToken{sum: sha256.Sum256([]byte(fields[0]))}
	if strings.Contains(fields[0], ",") || strings.HasPrefix(fields[0], binding) {
		return token, errors.New("a token holds no space and no comma, and begins a line; write one token a line")
	}
	for _, field := range fields[1:] {
		cluster, ok := strings.CutPrefix(field, binding)
		if !ok {
			return token, errors.New("a token holds no space and no comma; write one token a line, and behind it nothing but cluster=NAME")
		}
		if why := clusterconfig.CheckName(cluster); why != "" {
			return token, fmt.Errorf("a token is bound to cluster %q, whose name %s", cluster, why)
		}
		token.clusters = append(token.clusters, cluster)
	}
	return token, nil
}

// authenticate says who asks, or returns an error for a caller who may not.
func (a *authenticator) authenticate(r *http.Request) (caller, error) {
	if !a.certificates && a.tokenFile == "" {
		return caller{}, nil
	}
	// The TLS layer has verified what certificate there is.
	if a.certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return caller{commonName: r.TLS.VerifiedChains[0][0].Subject.CommonName}, nil
	}
	if a.tokenFile != "" {
		scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
		if ok && strings.EqualFold(scheme, "Bearer") {
			if known := a.find(strings.TrimSpace(token)); known != nil {
				return caller{clusters: known.clusters}, nil
			}
		}
	}
	return caller{}, errUnauthenticated
}

// find finds a token, in the same time whichever it is.
func (a *authenticator) find(token string) *boundToken {
	sum := sha256.Sum256([]byte(token))
	tokens := *a.tokens.Load()
	found := -1
	for i := range tokens {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], tokens[i].sum[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return &tokens[found]
}
