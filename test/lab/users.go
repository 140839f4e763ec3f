package lab

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// User is a user that the API server knows.
type User struct {
	Name   string
	UID    string
	Groups []string
	// Certificate makes the API server know this user by a client certificate and
	// not by a token; there is no UID then.
	Certificate bool
}

// tokenFile writes the file that the API server knows users' tokens from.
func (l *Lab) tokenFile() (string, error) {
	name := filepath.Join(l.Dir, "tokens.csv")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer file.Close()
	// The API server does not start with an empty file.
	rows := [][]string{{token("nobody"), "lab:nobody", "lab:nobody"}}
	for _, u := range l.options.Users {
		if !u.Certificate {
			rows = append(rows, []string{token(u.Name), u.Name, u.UID, strings.Join(u.Groups, ",")})
		}
	}
	writer := csv.NewWriter(file)
	return name, errors.Join(writer.WriteAll(rows), file.Close())
}

// token of a user. The API server listens only on loopback and ends with the
// lab.
func token(user string) string { return "lab-token-" + url.PathEscape(user) }

// fileName is a user's name without what paths, and lists of paths, are split at.
func fileName(user string) string { return url.QueryEscape(user) }

// Kubeconfig returns a kubeconfig file for a user: Admin, one of the users that
// the lab was started with, or system:serviceaccount:NAMESPACE:NAME for a service
// account that exists.
func (l *Lab) Kubeconfig(ctx context.Context, user string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if file, ok := l.kubeconfigs[user]; ok {
		return file, nil
	}
	config, err := l.configOf(ctx, user)
	if err != nil {
		return "", err
	}
	file, err := l.writeKubeconfig(user, config)
	if err == nil {
		l.kubeconfigs[user] = file
	}
	return file, err
}

func (l *Lab) configOf(ctx context.Context, user string) (*rest.Config, error) {
	if user == Admin {
		return l.Config, nil
	}
	for _, u := range l.options.Users {
		switch {
		case u.Name != user:
		case u.Certificate:
			return l.certificateUser(u.Name, u.Groups...)
		default:
			config := rest.AnonymousClientConfig(l.Config)
			config.BearerToken = token(u.Name)
			return config, nil
		}
	}
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		namespace, name, _ := strings.Cut(account, ":")
		answer, err := l.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("a token for %s: %w", user, err)
		}
		config := rest.AnonymousClientConfig(l.Config)
		config.BearerToken = answer.Status.Token
		return config, nil
	}
	return nil, fmt.Errorf("the lab was started without a user %q", user)
}

func (l *Lab) certificateUser(name string, groups ...string) (*rest.Config, error) {
	l.signing.Lock()
	defer l.signing.Unlock()
	user, err := l.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return nil, err
	}
	return user.Config(), nil
}

// systemKubeconfig returns a kubeconfig for a part of the control plane.
func (l *Lab) systemKubeconfig(user string, groups ...string) (string, error) {
	config, err := l.certificateUser(user, groups...)
	if err != nil {
		return "", err
	}
	return l.writeKubeconfig(user, config)
}

// Contexts writes one kubeconfig with a context for each of the users, named
// after them, and returns its file. The first is the current one.
func (l *Lab) Contexts(ctx context.Context, users ...string) (string, error) {
	merged := clientcmdapi.NewConfig()
	for i, user := range users {
		config, err := l.configOf(ctx, user)
		if err != nil {
			return "", err
		}
		add(merged, user, user, config)
		if i == 0 {
			merged.CurrentContext = user
		}
	}
	name := filepath.Join(l.Dir, "kubeconfig")
	return name, clientcmd.WriteToFile(*merged, name)
}

func (l *Lab) writeKubeconfig(user string, config *rest.Config) (string, error) {
	kubeconfig := clientcmdapi.NewConfig()
	add(kubeconfig, "lab", user, config)
	kubeconfig.CurrentContext = "lab"
	name := filepath.Join(l.Dir, "users", fileName(user)+".kubeconfig")
	return name, clientcmd.WriteToFile(*kubeconfig, name)
}

// add puts a user into a kubeconfig, with a context that leads to the lab.
func add(kubeconfig *clientcmdapi.Config, contextName, user string, config *rest.Config) {
	kubeconfig.Clusters["lab"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[user] = &clientcmdapi.AuthInfo{
		Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
	}
	kubeconfig.Contexts[contextName] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: user}
}
