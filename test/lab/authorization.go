package lab

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// nodeAndRBAC is how a lab authorizes that was told nothing else.
const nodeAndRBAC = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- {type: Node, name: node}
- {type: RBAC, name: rbac}
`

func (l *Lab) authorizationFile() string { return filepath.Join(l.Dir, "authorization.yaml") }

// WriteAuthorization replaces the AuthorizationConfiguration and does not wait
// for it to be read: one that is wrong never takes effect.
func (l *Lab) WriteAuthorization(content string) error {
	fresh := l.authorizationFile() + ".new"
	if err := os.WriteFile(fresh, []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, l.authorizationFile())
}

// SetAuthorization replaces the AuthorizationConfiguration while the API server
// runs, and returns once it is in force. Empty content means Node and RBAC.
func (l *Lab) SetAuthorization(ctx context.Context, content string) error {
	if content == "" {
		content = nodeAndRBAC
	}
	if err := l.WriteAuthorization(content); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	hash := fmt.Sprintf(`sha256:%x`, sha256.Sum256([]byte(content)))
	var last error
	for {
		metrics, err := l.Client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err == nil && strings.Contains(string(metrics), hash) {
			return nil
		}
		if err != nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the AuthorizationConfiguration is not in force (%v %v):\n%s", ctx.Err(), last, tail(l.LogFile("kube-apiserver")))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
