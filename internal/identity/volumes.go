package identity

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// volumes reads inline CSI volumes, projected tokens and projected certificates,
// mounted or not: an ephemeral container can mount what no other does.
func (c *collector) volumes(p *pod.Pod) error {
	if len(c.set.drivers)+len(c.set.audiences)+len(c.set.signers) == 0 {
		return nil
	}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if v.CSI != nil {
			if err := c.csi(p, i, v.CSI); err != nil {
				return err
			}
		}
		if v.Projected != nil {
			if err := c.projected(p, i, v.Projected); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collector) csi(p *pod.Pod, volume int, csi *corev1.CSIVolumeSource) error {
	for _, s := range c.set.drivers[strings.ToLower(csi.Driver)] {
		path := p.FieldPath("spec.volumes[" + strconv.Itoa(volume) + "].csi")
		var err error
		if s.attribute == "" {
			err = c.addAccount(s, p.ServiceAccountName(), path)
		} else {
			// A volume without the attribute has an empty value, which is refused.
			err = c.add(s, csi.VolumeAttributes[s.attribute], apijson.Child(path+".volumeAttributes", s.attribute))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) projected(p *pod.Pod, volume int, projected *corev1.ProjectedVolumeSource) error {
	for i := range projected.Sources {
		from := &projected.Sources[i]
		if token := from.ServiceAccountToken; token != nil && token.Audience != "" {
			if err := c.eachAccount(c.set.audiences[token.Audience], p, volume, i, "serviceAccountToken"); err != nil {
				return err
			}
		}
		if certificate := from.PodCertificate; certificate != nil {
			if err := c.eachAccount(c.set.signers[certificate.SignerName], p, volume, i, "podCertificate"); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachAccount adds the pod's account under the key of each source.
func (c *collector) eachAccount(found []*identitySource, p *pod.Pod, volume, projection int, name string) error {
	for _, s := range found {
		path := p.FieldPath("spec.volumes[" + strconv.Itoa(volume) + "].projected.sources[" + strconv.Itoa(projection) + "]." + name)
		if err := c.addAccount(s, p.ServiceAccountName(), path); err != nil {
			return err
		}
	}
	return nil
}
