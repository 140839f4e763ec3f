//go:build long

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/sallyport-io/sallyport/test/lab"
)

// person is somebody who works with the API server as fast as he may.
type person struct {
	config *rest.Config
	kubernetes.Interface
}

// as returns a person of the lab, who impersonates if that is given.
func as(t *testing.T, l *lab.Lab, user string, impersonate rest.ImpersonationConfig) person {
	t.Helper()
	file, err := l.Kubeconfig(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = impersonate
	config.QPS, config.Burst = 20, 20
	// One that is not answered for a while tries again.
	config.Timeout = 20 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return person{config, client}
}

// unanswered is an error that nobody said no with.
func unanswered(err error) bool {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return false
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	return strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "connection reset") || strings.Contains(err.Error(), "EOF")
}

// into runs a command in a pod of shop, by WebSocket (a get) or SPDY (a create).
func (p person) into(ctx context.Context, pod string, webSocket bool) error {
	target := p.CoreV1().RESTClient().Post().Resource("pods").Namespace("shop").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"true"}, Stdout: true}, scheme.ParameterCodec).URL()
	var executor remotecommand.Executor
	var err error
	if webSocket {
		executor, err = remotecommand.NewWebSocketExecutor(p.config, "GET", target.String())
	} else {
		executor, err = remotecommand.NewSPDYExecutor(p.config, "POST", target)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard})
	var exit exec.CodeExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// attackers are the ways in that are tried all the time. Each succeeds where there
// are no policies.
func attackers(ann, admin person) map[string]func(ctx context.Context, try string) error {
	privileged := func(p person) func(ctx context.Context, try string) error {
		return func(ctx context.Context, try string) error {
			_, err := p.CoreV1().Pods("shop").Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "attack-" + try},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "a", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}},
			}, metav1.CreateOptions{})
			return err
		}
	}
	return map[string]func(ctx context.Context, try string) error{
		"a privileged pod":                   privileged(ann),
		"a privileged pod by system:masters": privileged(admin),
		"exec by create":                     func(ctx context.Context, _ string) error { return ann.into(ctx, "risky", false) },
		"exec by get":                        func(ctx context.Context, _ string) error { return ann.into(ctx, "risky", true) },
		"exec by system:masters":             func(ctx context.Context, _ string) error { return admin.into(ctx, "risky", false) },
		"a token of another identity": func(ctx context.Context, _ string) error {
			_, err := ann.CoreV1().ServiceAccounts("shop").CreateToken(ctx, "paid", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			return err
		},
		"a label that exempts": func(ctx context.Context, _ string) error {
			_, err := ann.CoreV1().Pods("shop").Patch(ctx, "risky", types.MergePatchType, []byte(`{"metadata":{"labels":{"exempt":"yes"}}}`), metav1.PatchOptions{})
			return err
		},
		"a label of the namespace": func(ctx context.Context, _ string) error {
			_, err := ann.CoreV1().Namespaces().Patch(ctx, "shop", types.MergePatchType, []byte(`{"metadata":{"labels":{"lab/exempt":"yes"}}}`), metav1.PatchOptions{})
			return err
		},
	}
}

// letIn says whether an attacker had his way, and says so in the test.
func (s *starts) letIn(ctx context.Context, name string, try func(ctx context.Context, try string) error) func(context.Context, int) bool {
	return func(context.Context, int) bool {
		err := try(ctx, fmt.Sprint(s.tries.Add(1)))
		switch {
		case err == nil:
			s.Errorf("%s was let in at %s", name, time.Now().Format(time.StampMilli))
			return true
		case unanswered(err):
			s.pause(ctx)
		default:
			s.refusals.Add(1)
			s.note(name, err)
		}
		return false
	}
}

// pause keeps who is not answered from spinning.
func (s *starts) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
}

// note keeps one of each kind of answer, so that a run shows what was answered.
func (s *starts) note(name string, err error) {
	reason := string(apierrors.ReasonForError(err))
	if _, told := s.told.LoadOrStore(name+reason, true); !told {
		s.Logf("%s: %s: %.300s", name, reason, strings.ReplaceAll(err.Error(), "\n", " "))
	}
}
