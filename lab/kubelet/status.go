package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/lab/program"
)

// statusOf returns the status of a pod. Containers that are programs are as state,
// which may be nil, says; all others run: init containers have completed, sidecars,
// main and ephemeral containers are up. What the present status says already, times
// above all, is kept.
func statusOf(pod *corev1.Pod, address string, state *program.State, now metav1.Time) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.HostIP, status.HostIPs = address, []corev1.HostIP{{IP: address}}
	if state != nil && state.Address != "" {
		address = state.Address
	}
	status.PodIP, status.PodIPs = address, []corev1.PodIP{{IP: address}}
	if status.StartTime == nil {
		status.StartTime = &now
	}

	init := make([]corev1.ContainerStatus, 0, len(pod.Spec.InitContainers))
	for _, c := range pod.Spec.InitContainers {
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		init = append(init, containerStatus(pod, c.Name, c.Image, status.InitContainerStatuses, now, !sidecar))
	}
	main := make([]corev1.ContainerStatus, 0, len(pod.Spec.Containers))
	for _, c := range pod.Spec.Containers {
		if state != nil {
			if real, ok := state.Containers[c.Name]; ok {
				main = append(main, real)
				continue
			}
		}
		main = append(main, containerStatus(pod, c.Name, c.Image, status.ContainerStatuses, now, false))
	}
	ephemeral := make([]corev1.ContainerStatus, 0, len(pod.Spec.EphemeralContainers))
	for _, c := range pod.Spec.EphemeralContainers {
		ephemeral = append(ephemeral, containerStatus(pod, c.Name, c.Image, status.EphemeralContainerStatuses, now, false))
	}
	status.InitContainerStatuses = orNil(init)
	status.ContainerStatuses = orNil(main)
	status.EphemeralContainerStatuses = orNil(ephemeral)

	status.Phase = phaseOf(pod, main)
	running := corev1.ConditionTrue
	for _, c := range main {
		if !c.Ready {
			running = corev1.ConditionFalse
		}
	}
	ready := running
	for _, gate := range pod.Spec.ReadinessGates {
		if !conditionTrue(status.Conditions, gate.ConditionType) {
			ready = corev1.ConditionFalse
		}
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodScheduled,
	} {
		setCondition(&status, kind, corev1.ConditionTrue, now)
	}
	setCondition(&status, corev1.ContainersReady, running, now)
	setCondition(&status, corev1.PodReady, ready, now)
	return status
}

// phaseOf returns the phase of a pod with these main containers.
func phaseOf(pod *corev1.Pod, main []corev1.ContainerStatus) corev1.PodPhase {
	phase := corev1.PodSucceeded
	for _, c := range main {
		switch {
		case c.State.Waiting != nil && c.RestartCount == 0:
			return corev1.PodPending
		case c.State.Terminated == nil,
			pod.Spec.RestartPolicy == corev1.RestartPolicyAlways,
			pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && c.State.Terminated.ExitCode != 0:
			return corev1.PodRunning
		case c.State.Terminated.ExitCode != 0:
			phase = corev1.PodFailed
		}
	}
	return phase
}

func orNil(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	if len(statuses) == 0 {
		return nil
	}
	return statuses
}

func containerStatus(pod *corev1.Pod, name, image string, present []corev1.ContainerStatus, now metav1.Time, completed bool) corev1.ContainerStatus {
	for _, s := range present {
		if s.Name == name && s.Image == image && (s.State.Terminated != nil) == completed && (s.State.Running != nil) != completed {
			return s
		}
	}
	id := "lab://" + string(pod.UID) + "." + name
	status := corev1.ContainerStatus{
		Name: name, Image: image, ImageID: "lab://" + image, ContainerID: id,
		Ready: true, Started: new(!completed),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}
	if completed {
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: now, FinishedAt: now, ContainerID: id,
		}}
	}
	return status
}

func conditionTrue(conditions []corev1.PodCondition, kind corev1.PodConditionType) bool {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func setCondition(status *corev1.PodStatus, kind corev1.PodConditionType, value corev1.ConditionStatus, now metav1.Time) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type != kind {
			continue
		}
		if c.Status != value {
			*c = corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: now}
		}
		return
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: now})
}
