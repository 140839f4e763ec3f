package defaults

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// replicationController has the labels of its pods where it has none.
func replicationController(c *corev1.ReplicationController) {
	if c.Spec.Template == nil || c.Spec.Template.Labels == nil {
		return
	}
	if len(c.Spec.Selector) == 0 {
		c.Spec.Selector = c.Spec.Template.Labels
	}
	if len(c.Labels) == 0 {
		c.Labels = c.Spec.Template.Labels
	}
}

func job(j *batchv1.Job) {
	if labels := j.Spec.Template.Labels; labels != nil && len(j.Labels) == 0 {
		j.Labels = labels
	}
}

// What the API server writes down without a pointer comes back as 0, whatever the
// strategy is. The rows of the table have been there before.

func deployed(u *appsv1.RollingUpdateDeployment) {
	fillZero(&u.MaxSurge)
	fillZero(&u.MaxUnavailable)
}

func surging(u *appsv1.RollingUpdateDaemonSet) {
	fillZero(&u.MaxSurge)
	fillZero(&u.MaxUnavailable)
}

func fillZero(at **intstr.IntOrString) {
	if *at == nil {
		*at = &intstr.IntOrString{}
	}
}

func ordered(u *appsv1.RollingUpdateStatefulSetStrategy) {
	if u.Partition == nil {
		u.Partition = new(int32)
	}
}

// daemonSet has the generation of its template in an annotation.
func daemonSet(d *appsv1.DaemonSet) {
	if generation := d.Annotations[appsv1.DeprecatedTemplateGeneration]; generation != "" && generation != "0" {
		return
	}
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[appsv1.DeprecatedTemplateGeneration] = "1"
}

// claimTemplates name what they are.
func claimTemplates(s *appsv1.StatefulSetSpec) {
	for i := range s.VolumeClaimTemplates {
		s.VolumeClaimTemplates[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	}
}

// metricsAnnotation is where the first version of autoscalers keeps metrics that
// it has no fields for.
const metricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics"

func autoscaler(a *autoscalingv1.HorizontalPodAutoscaler) {
	if _, others := a.Annotations[metricsAnnotation]; others || a.Spec.TargetCPUUtilizationPercentage != nil {
		return
	}
	percent := int32(80)
	a.Spec.TargetCPUUtilizationPercentage = &percent
}
