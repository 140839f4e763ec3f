package replicas

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// LabelOf is on the Lease of each replica; its value is the installation's name.
const LabelOf = "sallyport.io/replica-of"

// Annotations of a replica's Lease: what it has in force, what it cannot do of that,
// whether it answers, whether it only observes, by which word it knows the questions of
// this replica to both doors, and the CA of the certificate that it shows.
const (
	annotationInForce  = "sallyport.io/in-force"
	annotationTroubles = "sallyport.io/troubles"
	annotationReady    = "sallyport.io/ready"
	annotationWord     = "sallyport.io/word"
	annotationObserves = "sallyport.io/observes"
	annotationShows    = "sallyport.io/shows-certificate-of"
)

// Bounds of what a replica says of what it cannot do.
const (
	mostTroubles   = 20
	longestTrouble = 200
)

// trouble is what keeps a replica from doing what a version of an object says.
type trouble struct {
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	Why        string `json:"why"`
}

func (t *trouble) about(ref stored.Ref, v policy.Version) bool {
	return t.Kind == ref.Kind && t.Namespace == ref.Namespace && t.Name == ref.Name && t.UID == string(v.UID) && t.Generation == v.Generation
}

// saying is what a replica says of itself.
type saying struct {
	identity string
	content  Content
	troubles []trouble
	ready    bool
	observes bool
	word     string
	shows    string
	// lasts is how long it may go on by what it has without being heard of.
	lasts time.Duration
}

// nameOf is the name of a replica's Lease. A replica that is started again in the same
// place has the same.
func nameOf(place string) string {
	sum := sha256.Sum256([]byte(place))
	return "sallyport-replica-" + hex.EncodeToString(sum[:8])
}

// put writes what is said into a Lease.
func (s *saying) put(lease *coordinationv1.Lease, installation string, now time.Time) error {
	content, err := json.Marshal(s.content)
	if err != nil {
		return fmt.Errorf("what is in force cannot be written down: %w", err)
	}
	troubles, err := json.Marshal(s.troubles)
	if err != nil {
		return fmt.Errorf("what does not work cannot be written down: %w", err)
	}
	for _, to := range []*map[string]string{&lease.Labels, &lease.Annotations} {
		if *to == nil {
			*to = map[string]string{}
		}
	}
	lease.Labels[LabelOf] = installation
	lease.Annotations[annotationInForce], lease.Annotations[annotationTroubles] = string(content), string(troubles)
	lease.Annotations[annotationReady], lease.Annotations[annotationWord] = "false", s.word
	if s.ready {
		lease.Annotations[annotationReady] = "true"
	}
	lease.Annotations[annotationObserves] = strconv.FormatBool(s.observes)
	lease.Annotations[annotationShows] = s.shows
	lease.Spec.HolderIdentity = &s.identity
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(s.lasts / time.Second))
	lease.Spec.RenewTime = &metav1.MicroTime{Time: now}
	return nil
}

// sayingOf reads a Lease. What cannot be read says nothing, so that what is in force
// there counts as not known.
func sayingOf(lease *coordinationv1.Lease) *saying {
	s := &saying{
		identity: ptr.Deref(lease.Spec.HolderIdentity, lease.Name), ready: lease.Annotations[annotationReady] == "true", word: lease.Annotations[annotationWord],
		observes: lease.Annotations[annotationObserves] == "true", shows: lease.Annotations[annotationShows],
		lasts: time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second,
	}
	if json.Unmarshal([]byte(lease.Annotations[annotationInForce]), &s.content) != nil {
		s.content = nil
	}
	if json.Unmarshal([]byte(lease.Annotations[annotationTroubles]), &s.troubles) != nil {
		s.troubles = nil
	}
	return s
}

// same reports whether two sayings say the same.
func (s *saying) same(other *saying) bool {
	return s.identity == other.identity && s.ready == other.ready && s.observes == other.observes && s.word == other.word && s.shows == other.shows && s.lasts == other.lasts &&
		slices.Equal(s.troubles, other.troubles) && s.content.same(other.content)
}

func (c Content) same(other Content) bool {
	if len(c) != len(other) || (c == nil) != (other == nil) {
		return false
	}
	for kind, h := range c {
		if other[kind] != h {
			return false
		}
	}
	return true
}
