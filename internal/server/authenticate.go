package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
)

// authenticator says whether a caller may ask. With neither a client CA nor
// tokens every caller may; the server then listens on loopback alone.
type authenticator struct {
	certificates bool
	tokenFile    string
	// tokens are hashed, so that comparing takes the same time whatever their
	// length.
	tokens  atomic.Pointer[[][sha256.Size]byte]
	content []byte
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
	var tokens [][sha256.Size]byte
	for line := range strings.Lines(string(content)) {
		token := strings.TrimSpace(line)
		if token == "" || strings.HasPrefix(token, "#") {
			continue
		}
		if strings.ContainsAny(token, " \t,") {
			return false, fmt.Errorf("%s: a token holds no space and no comma; write one token a line", a.tokenFile)
		}
		tokens = append(tokens, sha256.Sum256([]byte(token)))
	}
	if len(tokens) == 0 {
		return false, fmt.Errorf("%s: no token was found; write one a line", a.tokenFile)
	}
	a.content = content
	a.tokens.Store(&tokens)
	return true, nil
}

var errUnauthenticated = errors.New("the caller is not authenticated: show a client certificate or a bearer token that this server knows")

// authenticate returns an error for a caller who may not ask.
func (a *authenticator) authenticate(r *http.Request) error {
	if !a.certificates && a.tokenFile == "" {
		return nil
	}
	// The TLS layer has verified what certificate there is.
	if a.certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return nil
	}
	if a.tokenFile != "" {
		scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
		if ok && strings.EqualFold(scheme, "Bearer") && a.knows(strings.TrimSpace(token)) {
			return nil
		}
	}
	return errUnauthenticated
}

func (a *authenticator) knows(token string) bool {
	sum := sha256.Sum256([]byte(token))
	found := 0
	for _, known := range *a.tokens.Load() {
		found |= subtle.ConstantTimeCompare(sum[:], known[:])
	}
	return found == 1
}
