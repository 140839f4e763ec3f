package lab

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/controller/replicas"
)

// forgetKilled deletes the Leases of what was killed in this lab. Other replicas wait for
// such ones until they run out, which is what a cluster wants and the next test does not.
// What cannot be deleted costs that time and no more.
func (l *Lab) forgetKilled(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	leases, err := l.Client.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{LabelSelector: replicas.LabelOf})
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lease := range leases.Items {
		for _, p := range l.processes {
			// Who holds it is a host, the process and a time.
			if holder := lease.Spec.HolderIdentity; holder != nil && p.ended() && strings.Contains(*holder, fmt.Sprintf("-%d-", p.cmd.Process.Pid)) {
				_ = l.Client.CoordinationV1().Leases(lease.Namespace).Delete(ctx, lease.Name, metav1.DeleteOptions{})
			}
		}
	}
}
