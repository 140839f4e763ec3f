package program

import (
	"context"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// readEnvironment works out the environment and the arguments of a container,
// from what they refer to as it is now.
func (c *container) readEnvironment(ctx context.Context) error {
	host, port, err := net.SplitHostPort(c.instance.programs.options.APIServer)
	if err != nil {
		return err
	}
	found := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": c.instance.pod.Name,
		"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port,
	}
	for _, from := range c.spec.EnvFrom {
		values, err := c.envFrom(ctx, from)
		if err != nil {
			return fmt.Errorf("envFrom of container %s: %w", c.spec.Name, err)
		}
		for key, value := range values {
			found[from.Prefix+key] = value
		}
	}
	mapping := expansion.MappingFuncFor(found)
	for _, variable := range c.spec.Env {
		value := expansion.Expand(variable.Value, mapping)
		if variable.ValueFrom != nil {
			var set bool
			if value, set, err = c.valueFrom(ctx, variable.ValueFrom); err != nil {
				return fmt.Errorf("env %s of container %s: %w", variable.Name, c.spec.Name, err)
			}
			if !set {
				continue
			}
		}
		found[variable.Name] = value
	}
	c.env = nil
	for _, name := range slices.Sorted(maps.Keys(found)) {
		c.env = append(c.env, name+"="+found[name])
	}
	c.args = nil
	for _, arg := range c.spec.Args {
		c.args = append(c.args, listensAt(expansion.Expand(arg, mapping), c.instance.address))
	}
	return nil
}

var (
	everywhere       = regexp.MustCompile(`^((?:-[^=]*=)?):([0-9]+)$`)
	everywhereInFile = regexp.MustCompile(`(?m)^(\w+: )":([0-9]+)"$`)
)

// listensAt has an argument such as --addr=:8443 name the pod's address: pods
// share the network of this machine, and would take each other's ports.
func listensAt(arg, address string) string {
	if address == "" {
		return arg
	}
	return everywhere.ReplaceAllString(arg, "${1}"+address+":${2}")
}

// listensAtInFile does the same to a line of YAML such as addr: ":8443".
func listensAtInFile(content []byte, address string) []byte {
	if address == "" {
		return content
	}
	return everywhereInFile.ReplaceAll(content, []byte(`${1}"`+address+`:${2}"`))
}

func (c *container) envFrom(ctx context.Context, from corev1.EnvFromSource) (map[string]string, error) {
	core, namespace := c.instance.programs.options.Client.CoreV1(), c.instance.pod.Namespace
	values := map[string]string{}
	switch {
	case from.SecretRef != nil:
		object, err := core.Secrets(namespace).Get(ctx, from.SecretRef.Name, metav1.GetOptions{})
		if err != nil {
			return nil, unless(from.SecretRef.Optional, err)
		}
		for key, value := range object.Data {
			values[key] = string(value)
		}
	case from.ConfigMapRef != nil:
		object, err := core.ConfigMaps(namespace).Get(ctx, from.ConfigMapRef.Name, metav1.GetOptions{})
		if err != nil {
			return nil, unless(from.ConfigMapRef.Optional, err)
		}
		values = object.Data
	}
	return values, nil
}

// valueFrom returns what a variable is, and whether it is set at all.
func (c *container) valueFrom(ctx context.Context, from *corev1.EnvVarSource) (value string, set bool, err error) {
	core, namespace := c.instance.programs.options.Client.CoreV1(), c.instance.pod.Namespace
	switch {
	case from.FieldRef != nil:
		value, err = c.field(from.FieldRef.FieldPath)
		return value, err == nil, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		object, err := core.Secrets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", false, unless(ref.Optional, err)
		}
		content, ok := object.Data[ref.Key]
		return string(content), ok, missing(ok, ref.Optional, "Secret", ref.Name, ref.Key)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		object, err := core.ConfigMaps(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", false, unless(ref.Optional, err)
		}
		content, ok := object.Data[ref.Key]
		return content, ok, missing(ok, ref.Optional, "ConfigMap", ref.Name, ref.Key)
	}
	return "", false, fmt.Errorf("only fieldRef, secretKeyRef and configMapKeyRef are known here")
}

// field returns a field of the pod; those of its status are what they will be.
func (c *container) field(path string) (string, error) {
	pod := c.instance.pod
	switch path {
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return c.instance.address, nil
	}
	return fieldpath.ExtractFieldPathAsString(pod, path)
}

// unless drops the error of an object that is not there and need not be.
func unless(optional *bool, err error) error {
	if optional != nil && *optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func missing(ok bool, optional *bool, kind, name, key string) error {
	if ok || optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("%s %s has no key %s", kind, name, key)
}
