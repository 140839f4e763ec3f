// Package program starts programs of this machine in place of the containers of
// some images, as a kubelet would have them run: with the arguments, environment,
// files, user and root file system that the pod asks for, probed, started again
// and ended in order.
package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Options say which containers are programs, and what they are given.
type Options struct {
	// Images are paths of programs by the repository of the image that stands for
	// each. Any tag and digest will do.
	Images map[string]string
	// Client reads what pods refer to, as the node.
	Client kubernetes.Interface
	// APIServer is HOST:PORT, for clients that find it by the environment.
	APIServer string
	// Root has a directory for each pod, which goes with it, and Logs one that stays.
	Root, Logs string
	// Changed is told of a pod that is in another state than it was.
	Changed func(namespace, name string)
}

// Programs are the pods that consist of programs.
type Programs struct {
	options   Options
	addresses *addresses

	mu    sync.Mutex
	byUID map[types.UID]*instance
}

// New prepares for programs to be started. It takes a range of addresses for the
// pods, which Close gives back, and fails where this process lacks the rights to.
func New(options Options) (*Programs, error) {
	if len(options.Images) == 0 {
		return nil, nil
	}
	for image, binary := range options.Images {
		if info, err := os.Stat(binary); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("the program of image %s: %s is not a file (%v)", image, binary, err)
		}
	}
	if _, _, err := net.SplitHostPort(options.APIServer); err != nil {
		return nil, fmt.Errorf("the address of the API server: %w", err)
	}
	addresses, err := takeAddresses()
	if err != nil {
		return nil, fmt.Errorf("addresses for pods: %w", err)
	}
	return &Programs{options: options, addresses: addresses, byUID: map[types.UID]*instance{}}, nil
}

// binaryOf returns the program that stands for an image, empty when none does.
func (p *Programs) binaryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	// A colon before the last slash is that of a registry's port.
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		image = image[:colon]
	}
	return p.options.Images[image]
}

// Ensure starts the programs of a pod, unless they have been, and returns how the
// pod is. A pod that consists of no programs has no State.
func (p *Programs) Ensure(pod *corev1.Pod) (*State, error) {
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, ok := p.byUID[pod.UID]; ok {
		return i.state(), nil
	}
	var real []corev1.Container
	for _, c := range pod.Spec.Containers {
		if p.binaryOf(c.Image) != "" {
			real = append(real, c)
		}
	}
	if len(real) == 0 {
		return nil, nil
	}
	address := ""
	if !pod.Spec.HostNetwork {
		var err error
		if address, err = p.addresses.next(); err != nil {
			return nil, err
		}
	}
	i := newInstance(p, pod, address, real)
	p.byUID[pod.UID] = i
	go i.run()
	return i.state(), nil
}

// End asks the programs of a pod to end, within the time that its deletion has,
// and tells whether they have ended. Changed is told when they do.
func (p *Programs) End(pod *corev1.Pod) bool {
	i := p.of(pod.UID)
	if i == nil {
		return true
	}
	var grace int64
	if pod.DeletionGracePeriodSeconds != nil {
		grace = *pod.DeletionGracePeriodSeconds
	}
	return i.end(grace)
}

// State returns how a pod is, nil when it consists of no programs.
func (p *Programs) State(uid types.UID) *State {
	if i := p.of(uid); i != nil {
		return i.state()
	}
	return nil
}

// Remove ends the programs of a pod at once, and returns when they are gone, and
// the pod's directory with them.
func (p *Programs) Remove(uid types.UID) {
	i := p.of(uid)
	if i == nil {
		return
	}
	i.kill()
	p.mu.Lock()
	delete(p.byUID, uid)
	p.mu.Unlock()
	p.addresses.giveBack(i.address)
	_ = os.RemoveAll(i.dir)
}

// Close removes all pods.
func (p *Programs) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	var uids []types.UID
	for uid := range p.byUID {
		uids = append(uids, uid)
	}
	p.mu.Unlock()
	var removing sync.WaitGroup
	for _, uid := range uids {
		removing.Go(func() { p.Remove(uid) })
	}
	removing.Wait()
	return p.addresses.close()
}

func (p *Programs) of(uid types.UID) *instance {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byUID[uid]
}

// Log returns the file with what a container has written since it was started
// last, or until then. Without one that is a program, it is empty.
func (p *Programs) Log(uid types.UID, container string, previous bool) (file string, err error) {
	i := p.of(uid)
	if i == nil {
		return "", nil
	}
	c := i.containers[container]
	if c == nil {
		return "", nil
	}
	n := int(c.status().RestartCount)
	if previous {
		n--
	}
	if n < 0 {
		return "", errors.New("previous terminated container not found")
	}
	return c.logFile(n), nil
}

// Ended is closed when no program of a pod runs any more.
func (p *Programs) Ended(uid types.UID) <-chan struct{} {
	if i := p.of(uid); i != nil {
		return i.done
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

// instance is one pod.
type instance struct {
	programs   *Programs
	pod        *corev1.Pod
	dir        string
	address    string
	containers map[string]*container
	volumes    *volumes

	// ctx ends when the pod's programs are to be ended, and now when that has to be
	// at once. done is closed when they have.
	ctx    context.Context
	cancel context.CancelFunc
	now    context.Context
	hurry  context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	grace int64
}

func newInstance(p *Programs, pod *corev1.Pod, address string, real []corev1.Container) *instance {
	name := pod.Namespace + "_" + pod.Name + "_" + string(pod.UID)
	i := &instance{
		programs: p, pod: pod, address: address, dir: filepath.Join(p.options.Root, name+".program"),
		containers: map[string]*container{}, done: make(chan struct{}),
	}
	i.volumes = &volumes{client: p.options.Client, pod: pod, address: address, dir: filepath.Join(i.dir, "volumes"), tokens: map[string]token{}}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	i.now, i.hurry = context.WithCancel(context.Background())
	for _, c := range real {
		i.containers[c.Name] = newContainer(i, c, filepath.Join(p.options.Logs, name, c.Name))
	}
	return i
}

// State is how a pod is.
type State struct {
	// Address is the pod's own, empty for one that is in the node's network.
	Address string
	// Containers are the statuses of those that are programs, by name.
	Containers map[string]corev1.ContainerStatus
}

func (i *instance) state() *State {
	s := &State{Address: i.address, Containers: map[string]corev1.ContainerStatus{}}
	for name, c := range i.containers {
		s.Containers[name] = c.status()
	}
	return s
}

func (i *instance) end(grace int64) bool {
	i.mu.Lock()
	i.grace = grace
	i.mu.Unlock()
	i.cancel()
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}

func (i *instance) kill() {
	i.hurry()
	i.cancel()
	<-i.done
}

func (i *instance) changed() { i.programs.options.Changed(i.pod.Namespace, i.pod.Name) }
