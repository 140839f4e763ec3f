package expression

import corev1 "k8s.io/api/core/v1"

// namespaceTree returns a namespace as expressions see it: the fields that its
// type declares, and nothing else that stands in the object, so that no way
// around the type shows more.
func namespaceTree(n *corev1.Namespace) map[string]any {
	return map[string]any{
		"metadata": namespaceMetadata(n),
		"spec":     namespaceSpec(n),
		"status":   namespaceStatus(n),
	}
}

func namespaceMetadata(n *corev1.Namespace) map[string]any {
	t := map[string]any{}
	setText(t, "name", n.Name)
	setText(t, "generateName", n.GenerateName)
	setText(t, "namespace", n.Namespace)
	setText(t, "uid", string(n.UID))
	setText(t, "resourceVersion", n.ResourceVersion)
	if len(n.Labels) > 0 {
		t["labels"] = n.Labels
	}
	if len(n.Annotations) > 0 {
		t["annotations"] = n.Annotations
	}
	if len(n.Finalizers) > 0 {
		t["finalizers"] = n.Finalizers
	}
	if n.Generation != 0 {
		t["generation"] = n.Generation
	}
	if !n.CreationTimestamp.IsZero() {
		t["creationTimestamp"] = n.CreationTimestamp.Time
	}
	if n.DeletionTimestamp != nil {
		t["deletionTimestamp"] = n.DeletionTimestamp.Time
	}
	if n.DeletionGracePeriodSeconds != nil {
		t["deletionGracePeriodSeconds"] = *n.DeletionGracePeriodSeconds
	}
	return t
}

func namespaceSpec(n *corev1.Namespace) map[string]any {
	if len(n.Spec.Finalizers) == 0 {
		return map[string]any{}
	}
	finalizers := make([]string, len(n.Spec.Finalizers))
	for i, f := range n.Spec.Finalizers {
		finalizers[i] = string(f)
	}
	return map[string]any{"finalizers": finalizers}
}

func namespaceStatus(n *corev1.Namespace) map[string]any {
	t := map[string]any{}
	setText(t, "phase", string(n.Status.Phase))
	if len(n.Status.Conditions) == 0 {
		return t
	}
	conditions := make([]any, len(n.Status.Conditions))
	for i, c := range n.Status.Conditions {
		condition := map[string]any{"type": string(c.Type), "status": string(c.Status)}
		setText(condition, "reason", c.Reason)
		setText(condition, "message", c.Message)
		if !c.LastTransitionTime.IsZero() {
			condition["lastTransitionTime"] = c.LastTransitionTime.Time
		}
		conditions[i] = condition
	}
	t["conditions"] = conditions
	return t
}
