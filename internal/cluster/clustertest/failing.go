// Package clustertest helps to test what reads a cluster: a cluster whose every
// read fails, a stand-in for an API server that can break in the ways in which
// real ones do, and a check that nothing was left running.
package clustertest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Failing gives a cluster whose every read fails with err.
func Failing(err error) request.Cluster { return failing{err} }

type failing struct{ err error }

func (f failing) Pod(context.Context, string, string) (*corev1.Pod, error) { return nil, f.err }

// ServiceAccount fails.
func (f failing) ServiceAccount(context.Context, string, string) (*corev1.ServiceAccount, error) {
	return nil, f.err
}

// Object fails.
func (f failing) Object(context.Context, schema.GroupVersionKind, string, string) ([]byte, error) {
	return nil, f.err
}

func (f failing) PodsOnNode(context.Context, string) ([]*corev1.Pod, error) { return nil, f.err }

func (f failing) Namespace(context.Context, string) (*corev1.Namespace, error) { return nil, f.err }

func (f failing) ServiceAccountPowers(context.Context, string, string) ([]string, error) {
	return nil, f.err
}
