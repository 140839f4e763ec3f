package cluster

import (
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// protobuf is what built-in kinds are read as: a third of JSON's size, and a
// fraction of the time to decode it.
const protobuf = "application/vnd.kubernetes.protobuf"

// client holds the connections to one API server. It is built once a cluster.
type client struct {
	core, rbac, authorization *rest.RESTClient
	connections               *connections
	settings
}

// newClient builds the client of the cluster that config describes. config is
// not changed. Nothing is sent yet.
//
// Plain REST clients are used and not a generated clientset: only they take the
// number of retries of a single read, which is ours to bound (see read).
func newClient(config *rest.Config, s settings) (*client, error) {
	if config == nil {
		return nil, fmt.Errorf("a cluster cannot be read without a client configuration")
	}
	c := &client{settings: s}
	config = pace.Reads.Of(config)
	c.connections = newConnections(config.Dial, s.readTimeout)
	config.Dial = c.connections.Dial
	config.UserAgent = s.userAgent
	config.ContentType = protobuf
	config.AcceptContentTypes = protobuf + "," + runtime.ContentTypeJSON
	// Warnings of the API server would end up in the log, a line a read.
	config.WarningHandler = rest.NoWarnings{}
	// A time-out of the HTTP client would end watches. Each read has its own.
	config.Timeout = 0

	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("the client configuration of the cluster cannot be used: %w", err)
	}
	// An API server sends nobody elsewhere. What answers in its place must not choose
	// where else this server asks, with the credentials that are for it.
	direct := *transport
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, api := range []struct {
		into    **rest.RESTClient
		path    string
		version schema.GroupVersion
	}{
		{&c.core, "/api", corev1.SchemeGroupVersion},
		{&c.rbac, "/apis", rbacv1.SchemeGroupVersion},
		{&c.authorization, "/apis", authorizationv1.SchemeGroupVersion},
	} {
		config.APIPath, config.GroupVersion = api.path, &api.version
		config.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()
		if *api.into, err = rest.RESTClientForConfigAndClient(config, &direct); err != nil {
			return nil, fmt.Errorf("the client configuration of the cluster cannot be used: %w", err)
		}
	}
	c.connections.handshake = c.core.Get().URL().Scheme == "https"
	return c, nil
}
