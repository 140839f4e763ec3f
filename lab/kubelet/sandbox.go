package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/lab/program"
)

// sandboxes are what stands for the pods on this machine: a directory for each
// container, and the commands that run in it.
type sandboxes struct {
	root string
	real bool

	mu    sync.Mutex
	byUID map[types.UID]*sandbox
}

type sandbox struct {
	dir string
	// ctx ends when the pod goes; its commands end with it.
	ctx    context.Context
	cancel context.CancelFunc
}

// newSandboxes keeps directories under root. Commands are "any" for processes of
// this machine; everything else means those that are built in.
func newSandboxes(root, commands string) *sandboxes {
	return &sandboxes{root: root, real: commands == "any", byUID: map[types.UID]*sandbox{}}
}

// container is one container of a pod, as a place to run commands in.
type container struct {
	pod  *corev1.Pod
	name string
	dir  string
	env  []string
	real bool
	ctx  context.Context
	// stdin says whether the request has input at all: a WebSocket hands over a
	// stream even where it has not.
	stdin bool
	// state is that of a pod that consists of programs, nil for others.
	state *program.State
}

// enter returns the named container of a pod, and an error when the pod has none
// of that name.
func (s *sandboxes) enter(pod *corev1.Pod, name string) (*container, error) {
	variables, ok := variablesOf(pod, name)
	if !ok {
		return nil, fmt.Errorf("container %s not found in pod %s/%s", name, pod.Namespace, pod.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	box := s.byUID[pod.UID]
	if box == nil {
		box = &sandbox{dir: filepath.Join(s.root, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID))}
		box.ctx, box.cancel = context.WithCancel(context.Background())
		s.byUID[pod.UID] = box
	}
	dir := filepath.Join(box.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HOSTNAME=" + pod.Name}
	for _, v := range variables {
		if v.ValueFrom == nil {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return &container{pod: pod, name: name, dir: dir, env: env, real: s.real, ctx: box.ctx}, nil
}

func variablesOf(pod *corev1.Pod, name string) ([]corev1.EnvVar, bool) {
	for _, c := range pod.Spec.Containers {
		if c.Name == name {
			return c.Env, true
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if c.Name == name {
			return c.Env, true
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		if c.Name == name {
			return c.Env, true
		}
	}
	return nil, false
}

// remove ends what runs in a pod and deletes its directories.
func (s *sandboxes) remove(uid types.UID) {
	s.mu.Lock()
	box := s.byUID[uid]
	delete(s.byUID, uid)
	s.mu.Unlock()
	if box != nil {
		box.cancel()
		_ = os.RemoveAll(box.dir)
	}
}

// close removes every pod's sandbox.
func (s *sandboxes) close() {
	s.mu.Lock()
	uids := make([]types.UID, 0, len(s.byUID))
	for uid := range s.byUID {
		uids = append(uids, uid)
	}
	s.mu.Unlock()
	for _, uid := range uids {
		s.remove(uid)
	}
}

// userOf returns the user that a container's spec asks for, root where it asks
// for none.
func userOf(pod *corev1.Pod, name string) int64 {
	var user int64
	if pod.Spec.SecurityContext != nil && pod.Spec.SecurityContext.RunAsUser != nil {
		user = *pod.Spec.SecurityContext.RunAsUser
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == name && c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
			user = *c.SecurityContext.RunAsUser
		}
	}
	return user
}
