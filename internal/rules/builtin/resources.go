package builtin

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

func NamesSubresources(resources []string) bool {
	return slices.ContainsFunc(resources, func(entry string) bool {
		name, _, slash := strings.Cut(entry, "/")
		return slash && name != string(corev1.ResourcePods)
	})
}

func AllNamespaced(groups, resources []string) bool {
	return !slices.ContainsFunc(resources, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "/")
		return slices.ContainsFunc(groups, func(group string) bool { return !match.NamespacedResource(group, name) })
	})
}
