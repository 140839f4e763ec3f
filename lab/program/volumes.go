package program

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/secret"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
)

// files are contents and modes by their paths in a volume.
type files = map[string]volumeutil.FileProjection

// volumes are the volumes of a pod, each a directory. Their files are written by
// the code of the kubelet.
type volumes struct {
	client  kubernetes.Interface
	pod     *corev1.Pod
	address string
	dir     string
	tokens  map[string]token
}

// token is one of the pod's account, good until it is to be replaced.
type token struct {
	value string
	until time.Time
}

func (v *volumes) path(name string) string { return filepath.Join(v.dir, name) }

// write brings every volume to what it comes from.
func (v *volumes) write(ctx context.Context) error {
	for i := range v.pod.Spec.Volumes {
		volume := &v.pod.Spec.Volumes[i]
		if err := v.writeOne(ctx, volume); err != nil {
			return fmt.Errorf("volume %s: %w", volume.Name, err)
		}
	}
	return nil
}

func (v *volumes) writeOne(ctx context.Context, volume *corev1.Volume) error {
	dir := v.path(volume.Name)
	if volume.EmptyDir != nil {
		if _, err := os.Stat(dir); err == nil {
			return nil
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		// Beyond what the umask allows, as a kubelet has it.
		if err := os.Chmod(dir, 0o777|fs.ModeSetgid); err != nil {
			return err
		}
		return v.own(dir, 0)
	}
	payload, err := v.payload(ctx, volume)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	writer, err := volumeutil.NewAtomicWriter(dir, "lab")
	if err != nil {
		return err
	}
	return writer.Write(payload, func(sub string) error { return v.own(filepath.Join(dir, sub), 0o440) })
}

// own gives files to the group that the pod asks for, and that group the mode.
func (v *volumes) own(path string, mode fs.FileMode) error {
	if v.pod.Spec.SecurityContext == nil || v.pod.Spec.SecurityContext.FSGroup == nil {
		return nil
	}
	group := int(*v.pod.Spec.SecurityContext.FSGroup)
	return filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := os.Lchown(name, -1, group); err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return os.Chmod(name, info.Mode().Perm()|mode)
	})
}

func (v *volumes) payload(ctx context.Context, volume *corev1.Volume) (files, error) {
	switch {
	case volume.Secret != nil:
		s := volume.Secret
		return v.secret(ctx, s.SecretName, s.Items, s.DefaultMode, s.Optional)
	case volume.ConfigMap != nil:
		c := volume.ConfigMap
		return v.configMap(ctx, c.Name, c.Items, c.DefaultMode, c.Optional)
	case volume.DownwardAPI != nil:
		return v.downward(volume.DownwardAPI.Items, volume.DownwardAPI.DefaultMode)
	case volume.Projected != nil:
		all := files{}
		for _, source := range volume.Projected.Sources {
			part, err := v.projected(ctx, volume.Name, source, volume.Projected.DefaultMode)
			if err != nil {
				return nil, err
			}
			maps.Copy(all, part)
		}
		return all, nil
	}
	return nil, fmt.Errorf("only emptyDir, secret, configMap, downwardAPI and projected volumes are known here")
}

func (v *volumes) projected(ctx context.Context, volume string, source corev1.VolumeProjection, mode *int32) (files, error) {
	switch {
	case source.Secret != nil:
		return v.secret(ctx, source.Secret.Name, source.Secret.Items, mode, source.Secret.Optional)
	case source.ConfigMap != nil:
		return v.configMap(ctx, source.ConfigMap.Name, source.ConfigMap.Items, mode, source.ConfigMap.Optional)
	case source.DownwardAPI != nil:
		return v.downward(source.DownwardAPI.Items, mode)
	case source.ServiceAccountToken != nil:
		value, err := v.token(ctx, volume, source.ServiceAccountToken)
		return files{source.ServiceAccountToken.Path: {Data: []byte(value), Mode: v.tokenMode()}}, err
	}
	return nil, fmt.Errorf("only secret, configMap, downwardAPI and serviceAccountToken can be projected here")
}

// tokenMode is that of a kubelet: a token is for the pod's user or its group.
func (v *volumes) tokenMode() int32 {
	if v.pod.Spec.SecurityContext != nil && v.pod.Spec.SecurityContext.FSGroup != nil {
		return 0o600
	}
	return 0o644
}

func (v *volumes) secret(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (files, error) {
	may := optional != nil && *optional
	object, err := v.client.CoreV1().Secrets(v.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if may && apierrors.IsNotFound(err) {
		return files{}, nil
	}
	if err != nil {
		return nil, err
	}
	payload, err := secret.MakePayload(items, object, mode, nil, may)
	if err != nil {
		return nil, fmt.Errorf("Secret %s: %w", name, err)
	}
	return payload, nil
}

func (v *volumes) configMap(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (files, error) {
	may := optional != nil && *optional
	object, err := v.client.CoreV1().ConfigMaps(v.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if may && apierrors.IsNotFound(err) {
		return files{}, nil
	}
	if err != nil {
		return nil, err
	}
	payload, err := configmap.MakePayload(items, object, mode, nil, may)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s: %w", name, err)
	}
	for path, file := range payload {
		file.Data = listensAtInFile(file.Data, v.address)
		payload[path] = file
	}
	return payload, nil
}

func (v *volumes) downward(items []corev1.DownwardAPIVolumeFile, mode *int32) (files, error) {
	for _, item := range items {
		if item.ResourceFieldRef != nil {
			return nil, fmt.Errorf("%s: resourceFieldRef is not known here", item.Path)
		}
	}
	return downwardapi.CollectData(items, v.pod, nil, mode, nil)
}

// token returns one of the pod's account, which is bound to the pod, and asks for
// another when four fifths of its time are over.
func (v *volumes) token(ctx context.Context, volume string, source *corev1.ServiceAccountTokenProjection) (string, error) {
	key := volume + "/" + source.Path
	if have := v.tokens[key]; time.Now().Before(have.until) {
		return have.value, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: v.pod.Name, UID: v.pod.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	asked := time.Now()
	answer, err := v.client.CoreV1().ServiceAccounts(v.pod.Namespace).CreateToken(ctx, v.pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("a token of ServiceAccount %s: %w", v.pod.Spec.ServiceAccountName, err)
	}
	good := answer.Status.ExpirationTimestamp.Sub(asked)
	v.tokens[key] = token{value: answer.Status.Token, until: asked.Add(good * 4 / 5)}
	return answer.Status.Token, nil
}
