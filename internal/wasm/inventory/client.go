package inventory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// pageSize is how many objects are asked for at once.
const pageSize = 500

// client reads objects as JSON, whatever their kind.
type client struct{ rest *rest.RESTClient }

// newClient builds a client that sends nothing until the first read. config is
// not changed.
func newClient(config *rest.Config) (*client, error) {
	if config == nil {
		return nil, errors.New("a cluster cannot be read without a client configuration")
	}
	config = pace.Reads.Of(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.WarningHandler = rest.NoWarnings{}
	// A time-out of the HTTP client would end watches.
	config.Timeout = 0
	config.APIPath, config.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	r, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("the client configuration of the cluster cannot be used: %w", err)
	}
	return &client{r}, nil
}

// request is a GET of a resource, in one namespace or in all. A namespace or name
// that would lead elsewhere is an error of the request: both may come from a
// module.
func (c *client) request(r contextgate.Resource, namespace, name string) *rest.Request {
	base := []string{"/api", r.Version}
	if r.Group != "" {
		base = []string{"/apis", r.Group, r.Version}
	}
	request := c.rest.Verb(http.MethodGet).AbsPath(base...).Resource(r.Resource).MaxRetries(0)
	if namespace != "" {
		request = request.Namespace(namespace)
	}
	if name != "" {
		request = request.Name(name)
	}
	return request
}

// read reads a whole answer of at most limit bytes.
func (c *client) read(ctx context.Context, request *rest.Request, limit int64) ([]byte, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &TooLarge{Limit: limit}
	}
	return data, nil
}

// list is one page of objects.
type list struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject is what client-go knows objects by.
func (l *list) DeepCopyObject() runtime.Object { copied := *l; return &copied }

// page reads one page of a resource.
func (c *client) page(ctx context.Context, r contextgate.Resource, namespace string, options *metav1.ListOptions, limit int64) (*list, error) {
	data, err := c.read(ctx, c.request(r, namespace, "").VersionedParams(options, metav1.ParameterCodec), limit)
	if err != nil {
		return nil, err
	}
	page := &list{}
	var whole bool
	err = apijson.Read(data, func(d *apijson.Decoder) error {
		return d.Object(func(name string) error {
			switch name {
			case "metadata":
				return d.Decode(&page.ListMeta)
			case "items":
				whole = true
				if d.Kind() == apijson.Null {
					return d.Skip()
				}
				return d.List(func(int) error {
					raw, err := d.Raw()
					if err != nil {
						return err
					}
					o, err := parse(raw, r.APIVersion(), r.Kind)
					if err == nil {
						page.Items = append(page.Items, o)
					}
					return err
				})
			}
			return d.Skip()
		})
	})
	if err != nil {
		return nil, err
	}
	if !whole {
		return nil, errors.New("the server answered with something else than a list; is the address that of an API server?")
	}
	return page, nil
}

// watch follows the changes of a resource.
func (c *client) watch(ctx context.Context, r contextgate.Resource, options *metav1.ListOptions, heard func(error)) (watch.Interface, error) {
	options.Watch = true
	body, err := c.request(r, "", "").VersionedParams(options, metav1.ParameterCodec).Stream(ctx)
	if err != nil {
		return nil, err
	}
	return watch.NewStreamWatcher(&decoder{
		resource: r, body: body, heard: heard,
		frames: jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(true)),
	}, reporter{}), nil
}

// decoder reads the events of a watch.
type decoder struct {
	resource contextgate.Resource
	body     io.ReadCloser
	frames   *jsontext.Decoder
	heard    func(error)
	closing  sync.Once
}

// Decode reads one event.
func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	frame, err := d.frames.ReadValue()
	if err != nil {
		return "", nil, err
	}
	kind, o, err := d.decode(frame)
	switch {
	case err != nil:
		d.heard(err)
	case kind == watch.Error:
		d.heard(apierrors.FromObject(o))
	default:
		d.heard(nil)
	}
	return kind, o, err
}

func (d *decoder) decode(frame []byte) (watch.EventType, runtime.Object, error) {
	var event struct {
		Type   watch.EventType `json:"type"`
		Object apijson.Raw     `json:"object"`
	}
	if err := apijson.Unmarshal(frame, &event); err != nil {
		return "", nil, err
	}
	if event.Type == watch.Error {
		status := &metav1.Status{}
		return event.Type, status, apijson.Unmarshal(event.Object, status)
	}
	o, err := parse(event.Object, d.resource.APIVersion(), d.resource.Kind)
	return event.Type, o, err
}

// Close ends the watch.
func (d *decoder) Close() { d.closing.Do(func() { _ = d.body.Close() }) }

// reporter makes an event of an error that broke a watch.
type reporter struct{}

// AsObject gives the error as the API's own.
func (reporter) AsObject(err error) runtime.Object {
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()}
}
