package policyserver

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// reconciliation is one look at a server: what is to be, what is, and what came of it.
type reconciliation struct {
	server   *v1alpha1.PolicyServer
	policies []*hosted
	callers  *Callers
	live     *webhooks
	// file is what the pods are to have, and digest that of it.
	file   file
	config *corev1.ConfigMap
	digest string
	// without are policies for which there is no room, refused those whose webhooks
	// the API server does not take, and current those whose webhooks are in force as
	// they are to be.
	without, refused map[string]string
	current          map[string]bool
	deployment       *appsv1.Deployment
	// moving are policies that name another server now and are asked for only here.
	moving map[string]bool
	// broken is set where the server cannot work as it is now.
	broken bool
	// going is set while the server still has policies that it is to let go of.
	going bool
}

var errNoCallers = errors.New("this Sallyport was given neither --client-ca-file nor --auth-token-file, by which the pods of a PolicyServer could tell an API server from others, as it does itself")

var errBroken = errors.New("the PolicyServer cannot work as it is; its own status says why")

// reconcileServer sees to one server. It reports whether something is coming or going.
func (c *Controller) reconcileServer(ctx context.Context, w *snapshot, s *v1alpha1.PolicyServer) (soon bool, err error) {
	if s.DeletionTimestamp != nil {
		return c.takeDown(ctx, w, s)
	}
	l := &reconciliation{server: s, policies: w.of(s.Name), current: map[string]bool{}}
	if l.broken = c.isBrokenServer(s); l.broken {
		// What runs goes on as it is; there may be nothing.
		l.deployment = &appsv1.Deployment{}
		if there, err := c.get(ctx, l.deployment, c.Namespace, ObjectName(s.Name)); err != nil || !there || !owned(l.deployment, s) {
			l.deployment = nil
			return false, errors.Join(err, c.updateStatus(ctx, l, errBroken))
		}
	}
	err = c.make(ctx, w, l)
	if told := c.updateStatus(ctx, l, err); told != nil {
		err = errors.Join(err, told)
	}
	return err == nil && (l.going || len(l.current) < l.fine()), err
}

// fine counts the policies that are to be judged by.
func (l *reconciliation) fine() int {
	n := 0
	for _, p := range l.policies {
		if l.wants(p) {
			n++
		}
	}
	return n
}

// wants reports whether a policy is to be in force.
func (l *reconciliation) wants(p *hosted) bool {
	return !p.broken && p.problem == "" && l.without[p.id] == "" && l.refused[p.id] == ""
}

// make makes everything that the server consists of, in the order in which each
// needs the one before.
func (c *Controller) make(ctx context.Context, w *snapshot, l *reconciliation) (err error) {
	s := l.server
	if controllerutil.AddFinalizer(s, finalizer) {
		before := s.DeepCopy()
		controllerutil.RemoveFinalizer(before, finalizer)
		if err := c.client.Patch(ctx, s, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	if l.callers, err = c.Callers(); err != nil {
		return err
	}
	if len(l.callers.ClientCA) == 0 && len(l.callers.Tokens) == 0 {
		return errNoCallers
	}
	if l.live, err = c.hooks(ctx, s); err != nil {
		return err
	}
	moving, soon, err := c.moving(ctx, w, l)
	if err != nil {
		return err
	}
	l.moving, l.going = moving, soon
	secret, err := c.secret(ctx, s, l.callers, l.live)
	if err != nil {
		return err
	}
	if err := c.fill(ctx, l); err != nil {
		return err
	}
	err = c.deploy(ctx, l)
	// A webhook that has to go goes, whatever became of the pods.
	return errors.Join(err, c.wire(ctx, l, secret.Data[caKey]))
}

// fill writes the policies that the pods are to have: those that name the server,
// and for a while those that an API server may still ask for.
func (c *Controller) fill(ctx context.Context, l *reconciliation) error {
	s := l.server
	live := &corev1.ConfigMap{}
	if _, err := c.get(ctx, live, c.Namespace, ObjectName(s.Name)); err != nil {
		return err
	}
	before := file{}
	if owned(live, s) {
		before = readFile(live.Data[PoliciesFile])
	}
	var fine []*hosted
	named := map[string]*hosted{}
	for _, p := range l.policies {
		if p.problem == "" {
			named[p.id] = p
			if !p.broken {
				fine = append(fine, p)
			}
		}
	}
	asked, m, now := l.live.ids(), c.remember(s), c.Clock.Now()
	keep := file{}
	for id, raw := range before {
		since, waiting := m.gone[id]
		switch p := named[id]; {
		case p != nil && !p.broken:
			delete(m.gone, id)
		case p != nil:
			// The last version that could work stays.
			keep[id] = raw
		case asked[id] || !waiting:
			m.gone[id], keep[id] = now, raw
			l.going = l.going || !l.moving[id]
		case now.Sub(since) < drain:
			keep[id], l.going = raw, true
		default:
			delete(m.gone, id)
		}
	}
	var err error
	if l.file, l.without, err = fill(fine, before, keep); err != nil {
		return err
	}
	text, err := l.file.bytes()
	if err != nil {
		return err
	}
	l.digest = digest(text)
	if c.Observe {
		// Pods that only observe are others than those that refuse.
		l.digest = digest(append(text, " observed"...))
	}
	l.config = c.configMap(s, string(text))
	return c.put(ctx, s, l.config)
}

// deploy sees to the pods, and to the Service that leads to them.
func (c *Controller) deploy(ctx context.Context, l *reconciliation) error {
	s := l.server
	if l.broken {
		return nil
	}
	if err := c.put(ctx, s, c.service(s)); err != nil {
		return err
	}
	wanted := c.deployment(s, l.callers, l.digest)
	if err := c.put(ctx, s, wanted); err != nil {
		return err
	}
	l.deployment = wanted
	if rolledOut(wanted) && l.config.Annotations[annotationRolledOut] != l.digest {
		// It stands at the ConfigMap, as a Deployment that gets an annotation is one that
		// was changed.
		metav1.SetMetaDataAnnotation(&l.config.ObjectMeta, annotationRolledOut, l.digest)
		if err := c.client.Update(ctx, l.config); err != nil {
			return err
		}
		c.wrote(s, l.config)
	}
	budget := c.budget(s)
	if replicas(s) > 1 {
		return c.put(ctx, s, budget)
	}
	_, err := c.remove(ctx, s, &policyv1.PodDisruptionBudget{}, budget.Namespace, budget.Name)
	return err
}

// wire puts the webhooks in force: of a policy that is new or has changed, once
// every pod judges by it. Until then they stay as they are, and where the pods fail
// later as well: what they would have judged is then up to the failure policy.
func (c *Controller) wire(ctx context.Context, l *reconciliation, cas []byte) error {
	target := &Target{Namespace: c.Namespace, Service: ObjectName(l.server.Name), Port: servicePort, CABundle: cas, LetIn: c.Observe || c.LetIn}
	ready := l.config.Annotations[annotationRolledOut] == l.digest
	byID := map[string]*hosted{}
	for _, p := range l.policies {
		if l.wants(p) || p.broken && p.problem == "" || l.without[p.id] != "" {
			byID[p.id] = p
		}
	}
	wanted, m := &webhooks{}, c.remember(l.server)
	if ready {
		m.out = l.file
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		p := byID[id]
		switch {
		case l.file[id] == nil:
		case l.wants(p) && (replicas(l.server) == 0 || bytes.Equal(m.out[id], l.file[id])):
			// Without pods, the failure policy answers.
			wanted.add(target, p)
			l.current[id] = true
		default:
			wanted.keep(target, l.live, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.moving)) {
		if l.moving[id] {
			wanted.keep(target, l.live, id)
		}
	}
	var err error
	l.refused, err = c.write(ctx, l.server, target, l.live, wanted)
	for id := range l.refused {
		delete(l.current, id)
	}
	if err != nil {
		clear(l.current)
	}
	return err
}
