package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
)

// authenticator says whether a caller may ask. With neither a client CA nor
// tokens every caller may; the server then listens only on loopback. That is not so
// where callers are told apart by the network: none is believed then without either.
type authenticator struct {
	network      bool
	certificates bool
	tokenFile    string
	// tokens are hashed, so that comparing takes the same time whatever their
	// length.
	tokens  atomic.Pointer[[]boundToken]
	content []byte
	unusable
	// cas verify the certificates of connections; nil where none is accepted.
	cas *clientCAs
	now func() time.Time
}

// boundToken is the hash of a token, with the clusters that it is bound to; nil
// for one that is bound to none.
type boundToken struct {
	sum      [sha256.Size]byte
	clusters []string
}

func newAuthenticator(o *Options) (*authenticator, error) {
	a := &authenticator{network: o.Callers == CallersNetwork, certificates: o.ClientCAFile != "", tokenFile: o.TokenFile, now: o.Now}
	if a.tokenFile == "" {
		return a, nil
	}
	if _, err := a.reload(); err != nil {
		return nil, err
	}
	return a, nil
}

// reload reads the tokens again and reports whether they changed. If they cannot
// be used, those that were read before stay, as the file may be half written; if it
// is the same at the next look, or gone, those that do not stand in it any more
// count no longer.
func (a *authenticator) reload() (changed bool, err error) {
	content, err := os.ReadFile(a.tokenFile)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return false, fmt.Errorf("the bearer tokens cannot be read: %w", err)
	}
	if a.content != nil && bytes.Equal(content, a.content) {
		a.usable()
		return false, nil
	}
	var tokens []boundToken
	if err == nil {
		tokens, err = parseTokens(string(content))
		if err != nil {
			err = fmt.Errorf("%s: %w", a.tokenFile, err)
		}
	} else {
		err = fmt.Errorf("the bearer tokens cannot be read: %w", err)
	}
	if err == nil {
		a.usable()
		a.content = content
		a.tokens.Store(&tokens)
		return true, nil
	}
	if a.again(content) {
		a.withdraw(string(content))
		err = fmt.Errorf("%w; tokens that do not stand there any more are not accepted", err)
	}
	return false, err
}

// withdraw keeps of the tokens in force those that begin a line of a content.
func (a *authenticator) withdraw(content string) {
	standing := map[[sha256.Size]byte]bool{}
	for line := range strings.Lines(content) {
		if fields := strings.Fields(line); len(fields) > 0 {
			standing[sha256.Sum256([]byte(fields[0]))] = true
		}
	}
	kept := slices.DeleteFunc(slices.Clone(*a.tokens.Load()), func(t boundToken) bool { return !standing[t.sum] })
	a.tokens.Store(&kept)
	// Whatever is written next is a change.
	a.content = never
}

// parseTokens reads a file of tokens, one a line.
func parseTokens(content string) ([]boundToken, error) {
	var tokens []boundToken
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		token, err := parseToken(line)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(tokens, func(t boundToken) bool { return t.sum == token.sum && !slices.Equal(t.clusters, token.clusters) }) {
			return nil, errors.New("a token is there twice, bound to other clusters each time; write all of them behind it, on one line")
		}
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return nil, errors.New("no token was found; write one a line")
	}
	return tokens, nil
}

var errUnauthenticated = errors.New("the caller is not authenticated: show a client certificate or a bearer token that this server knows")

// errNothingShown is why a caller is not authenticated that did not try to be.
var errNothingShown = fmt.Errorf("%w", errUnauthenticated)

// errStale is why a connection that was let in is not served any more.
var errStale = fmt.Errorf("%w: the certificate that this connection began with is over, or its CA is not trusted any more", errUnauthenticated)

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
	if !a.network && !a.certificates && a.tokenFile == "" {
		return caller{}, nil
	}
	shown := a.cas != nil && r.TLS != nil && len(r.TLS.VerifiedChains) > 0
	if shown {
		if chain := a.cas.verify(r.TLS, a.now()); chain != nil {
			return caller{commonName: chain[0].Subject.CommonName}, nil
		}
	}
	if a.tokenFile != "" {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if strings.EqualFold(scheme, "Bearer") {
			if known := a.find(strings.TrimSpace(token)); known != nil {
				return caller{clusters: known.clusters}, nil
			}
		}
	}
	if shown {
		return caller{}, errStale
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 || len(r.Header.Values("Authorization")) > 0 {
		return caller{}, errUnauthenticated
	}
	return caller{}, errNothingShown
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
