package program

import (
	"cmp"
	"context"
	"log"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/probe"
	probehttp "k8s.io/kubernetes/pkg/probe/http"
)

var prober = probehttp.New(false)

// probe looks at the program again and again, and tells report each time that it
// holds to be well, or not, where it held the opposite before. It ends when report
// returns false.
func (c *container) probe(ctx context.Context, spec *corev1.Probe, well bool, report func(well bool) bool) {
	period := time.Duration(max(spec.PeriodSeconds, 1)) * time.Second
	timer := time.NewTimer(time.Duration(spec.InitialDelaySeconds) * time.Second)
	defer timer.Stop()
	in := int32(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(period)
		ok, why := c.look(spec)
		if ctx.Err() != nil {
			return
		}
		if ok == well {
			in = 0
			continue
		}
		in++
		needed := max(spec.SuccessThreshold, 1)
		if well {
			needed = max(spec.FailureThreshold, 1)
		}
		if in < needed {
			continue
		}
		in, well = 0, ok
		if !ok {
			log.Printf("pod %s/%s: a probe of container %s fails: %s", c.instance.pod.Namespace, c.instance.pod.Name, c.spec.Name, why)
		}
		if !report(well) {
			return
		}
	}
}

// look makes one probe. Kinds that are not known here go well.
func (c *container) look(spec *corev1.Probe) (ok bool, why string) {
	if spec.HTTPGet == nil {
		return true, ""
	}
	address := cmp.Or(c.instance.address, "127.0.0.1")
	request, err := probehttp.NewRequestForHTTPGetAction(spec.HTTPGet, &c.spec, address, "probe")
	if err != nil {
		return false, err.Error()
	}
	result, answer, err := prober.Probe(request, time.Duration(max(spec.TimeoutSeconds, 1))*time.Second)
	if err != nil {
		return false, err.Error()
	}
	return result == probe.Success || result == probe.Warning, answer
}

// Dial connects to a port of the pod.
func (s *State) Dial(ctx context.Context, port string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", net.JoinHostPort(cmp.Or(s.Address, "127.0.0.1"), port))
}
