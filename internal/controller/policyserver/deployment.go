package policyserver

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// someUser is who the process runs as: anybody but root.
const someUser = 65532

// graceSeconds is what a pod needs to end in: the 10 s for which it is still asked, as
// --shutdown-delay has it where nothing is said, which an image that does not know the
// flag does not take amiss; 15 s each for requests that run then and those that came
// after; and what is left for what it writes last.
const graceSeconds = 45

// replicas of a server.
func replicas(s *v1alpha1.PolicyServer) int32 {
	if s.Spec.Replicas == nil {
		return 1
	}
	return *s.Spec.Replicas
}

// account is the service account of a server.
func account(s *v1alpha1.PolicyServer) string { return cmp.Or(s.Spec.ServiceAccountName, "default") }

func selector(s *v1alpha1.PolicyServer) map[string]string {
	return map[string]string{labelServer: s.Name}
}

func labels(s *v1alpha1.PolicyServer) map[string]string {
	return map[string]string{
		labelServer: s.Name, labelManagedBy: manager,
		"app.kubernetes.io/name": "sallyport-policy-server", "app.kubernetes.io/instance": s.Name,
	}
}

// meta is the metadata of what is made for a server.
func (c *Controller) meta(s *v1alpha1.PolicyServer, name, namespace string) metav1.ObjectMeta {
	if s == itself {
		return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{labelManagedBy: manager}}
	}
	owner := metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("PolicyServer"))
	// Who blocks the deletion of an owner needs rights on its finalizers.
	owner.BlockOwnerDeletion = nil
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels(s), OwnerReferences: []metav1.OwnerReference{*owner}}
}

// arguments of the process.
func (c *Controller) arguments(s *v1alpha1.PolicyServer, callers *Callers) []string {
	args := []string{
		"serve", "--policies", policiesDir + "/" + PoliciesFile, "--policy-server", s.Name, "--addr", ":8443",
		"--tls-cert-file", secretDir + "/" + certKey, "--tls-private-key-file", secretDir + "/" + keyKey,
		"--module-cache", cacheDir + "/modules", "--decision-timeout", "30s",
	}
	if len(callers.ClientCA) > 0 {
		args = append(args, "--client-ca-file", secretDir+"/"+clientCAKey)
	}
	if len(callers.Tokens) > 0 {
		args = append(args, "--auth-token-file", secretDir+"/"+tokensKey)
	}
	if c.ClusterName != "" {
		args = append(args, "--cluster-name", c.ClusterName)
	}
	if c.Observe {
		args = append(args, "--mode", "observe")
	}
	return args
}

// deployment is how a server runs: pods that the Pod Security Standard "restricted"
// takes, restarted with each change of the policies, one by one.
func (c *Controller) deployment(s *v1alpha1.PolicyServer, callers *Callers, policies string) *appsv1.Deployment {
	probe := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(containerPort), Scheme: corev1.URISchemeHTTPS}}
	}
	container := corev1.Container{
		Name: containerName, Image: s.Spec.Image, Args: c.arguments(s, callers), Env: s.Spec.Env,
		Ports:          []corev1.ContainerPort{{Name: "https", ContainerPort: containerPort, Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: probe("/readyz"), PeriodSeconds: 5},
		LivenessProbe:  &corev1.Probe{ProbeHandler: probe("/healthz"), PeriodSeconds: 10, FailureThreshold: 6},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "policies", MountPath: policiesDir, ReadOnly: true},
			{Name: "secret", MountPath: secretDir, ReadOnly: true},
			{Name: "cache", MountPath: cacheDir},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Privileged: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	return &appsv1.Deployment{
		ObjectMeta: c.meta(s, ObjectName(s.Name), c.Namespace),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas(s)), Selector: &metav1.LabelSelector{MatchLabels: selector(s)},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1)),
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(s), Annotations: map[string]string{annotationPolicies: policies}},
				Spec: corev1.PodSpec{
					ServiceAccountName: account(s), Containers: []corev1.Container{container},
					TerminationGracePeriodSeconds: new(int64(graceSeconds)), TopologySpreadConstraints: spread(s),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: new(true), RunAsUser: new(int64(someUser)), RunAsGroup: new(int64(someUser)), FSGroup: new(int64(someUser)),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Volumes: []corev1.Volume{
						{Name: "policies", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
							LocalObjectReference: corev1.LocalObjectReference{Name: ObjectName(s.Name)},
							Items:                []corev1.KeyToPath{{Key: PoliciesFile, Path: PoliciesFile}},
						}}},
						{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
							SecretName: ObjectName(s.Name), DefaultMode: new(int32(0o440)), Items: secretItems(callers),
						}}},
						{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					},
				},
			},
		},
	}
}

// spread has the pods of a server on nodes of their own, as far as there are so many.
func spread(s *v1alpha1.PolicyServer) []corev1.TopologySpreadConstraint {
	if replicas(s) < 2 {
		return nil
	}
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: selector(s)},
	}}
}

// secretItems leaves the next certificate out, which the pods do not need yet.
func secretItems(callers *Callers) []corev1.KeyToPath {
	items := []corev1.KeyToPath{{Key: certKey, Path: certKey}, {Key: keyKey, Path: keyKey}}
	if len(callers.ClientCA) > 0 {
		items = append(items, corev1.KeyToPath{Key: clientCAKey, Path: clientCAKey})
	}
	if len(callers.Tokens) > 0 {
		items = append(items, corev1.KeyToPath{Key: tokensKey, Path: tokensKey})
	}
	return items
}

func (c *Controller) service(s *v1alpha1.PolicyServer) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: c.meta(s, ObjectName(s.Name), c.Namespace),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: selector(s),
			Ports: []corev1.ServicePort{{Name: "https", Port: servicePort, TargetPort: intstr.FromInt32(containerPort), Protocol: corev1.ProtocolTCP}},
		},
	}
}

func (c *Controller) configMap(s *v1alpha1.PolicyServer, policies string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: c.meta(s, ObjectName(s.Name), c.Namespace), Data: map[string]string{PoliciesFile: policies}}
}

// budget lets one pod at a time be taken away for maintenance.
func (c *Controller) budget(s *v1alpha1.PolicyServer) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: c.meta(s, ObjectName(s.Name), c.Namespace),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: selector(s)},
		},
	}
}

// rolledOut reports whether every pod there is was started with what the Deployment
// has now, and can be used.
func rolledOut(d *appsv1.Deployment) bool {
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	s := &d.Status
	return wanted > 0 && s.ObservedGeneration >= d.Generation && s.Replicas == wanted && s.UpdatedReplicas == wanted && s.AvailableReplicas == wanted
}
