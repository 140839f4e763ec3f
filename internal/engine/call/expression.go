package call

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// ExpressionInput makes the input of expressions about the request.
func (c *Call) ExpressionInput(namespace bool) (*expression.Input, error) {
	r := c.Request
	in := &expression.Input{Request: c.expressionRequest()}
	var err error
	if in.Request.Options, err = c.writeOptions(); err != nil {
		return nil, err
	}
	if r.Object != nil {
		if in.Object, err = r.Object.Tree(); err != nil {
			return nil, fmt.Errorf("the object cannot be read: %w", err)
		}
	} else if r.Operation == request.Connect {
		// Without options, what uses them cannot be evaluated.
		in.Object, err = c.OptionsTree()
		if in.NotCarried = errors.Is(err, ErrNoOptions); err != nil && !in.NotCarried {
			return nil, err
		}
	}
	in.NotCarried = in.NotCarried || r.Door == request.Access
	if r.OldObject != nil {
		if in.OldObject, err = r.OldObject.Tree(); err != nil {
			return nil, fmt.Errorf("the old object cannot be read: %w", err)
		}
	}
	if namespace && r.Namespace != "" {
		if in.Namespace, err = c.namespace(); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (c *Call) namespace() (*corev1.Namespace, error) {
	ns, err := c.Request.Cluster.Namespace(c.Ctx, c.Request.Namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("namespace %q cannot be read: %w", c.Request.Namespace, err)
	}
	if err != nil {
		return nil, fmt.Errorf("namespaceObject: namespace %q is not there: %w", c.Request.Namespace, err)
	}
	return ns, nil
}

func (c *Call) expressionRequest() *expression.Request {
	r := c.Request
	e := &expression.Request{
		Kind: r.Kind, Resource: r.Resource, SubResource: r.Subresource, Name: r.Name, Namespace: r.Namespace,
		Operation: OperationOf(r), DryRun: r.DryRun, UserInfo: r.User,
	}
	if r.Asked != nil {
		e.RequestKind, e.RequestResource, e.RequestSubResource = &r.Asked.Kind, &r.Asked.Resource, r.Asked.Subresource
	}
	return e
}

// OperationOf is the operation of a request. A review at the access door is about
// a CONNECT.
func OperationOf(r *request.Request) request.Operation {
	if r.Door == request.Access {
		return request.Connect
	}
	return r.Operation
}
