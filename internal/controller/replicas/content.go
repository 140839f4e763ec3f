package replicas

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
)

// Content is what a replica has in force, by kind.
type Content map[string]Holding

// Holding is what a replica has of one kind.
type Holding struct {
	// Version is the highest resourceVersion among the objects: watches bring changes
	// of a kind in order, so whatever was written before is there too.
	Version string `json:"version"`
	// Digest is the same for the same objects in the same generations, whatever their
	// status says.
	Digest string `json:"digest"`
}

// born is the resourceVersion that an object was first seen with in a generation.
type born struct {
	generation int64
	resource   string
}

// contentOf sums up objects.
func contentOf(objects []*unstructured.Unstructured) Content {
	sums, content := map[string]uint64{}, Content{}
	for _, o := range objects {
		kind := o.GetKind()
		sums[kind] += digestOf(o)
		h := content[kind]
		if v := o.GetResourceVersion(); h.Version == "" || !reaches(h.Version, v) {
			h.Version = v
		}
		content[kind] = h
	}
	for kind, h := range content {
		h.Digest = strconv.FormatUint(sums[kind], 36)
		content[kind] = h
	}
	return content
}

func digestOf(o *unstructured.Unstructured) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(o.GetUID()))
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(o.GetGeneration())))
	if o.GetKind() == breakglass.KindSession {
		// What a session says stands in its status, which no generation counts.
		_, _ = h.Write([]byte(o.GetResourceVersion()))
	}
	return h.Sum64()
}

// reaches reports whether a resourceVersion is at least another.
func reaches(one, other string) bool {
	compared, err := resourceversion.CompareResourceVersion(one, other)
	return err == nil && compared >= 0
}

// bornOf notes with which resourceVersion each object came into its generation, as far
// as this replica saw it.
func bornOf(objects []*unstructured.Unstructured, before map[types.UID]born) map[types.UID]born {
	all := make(map[types.UID]born, len(objects))
	for _, o := range objects {
		b, ok := before[o.GetUID()]
		if !ok || b.generation != o.GetGeneration() {
			b = born{o.GetGeneration(), o.GetResourceVersion()}
		}
		all[o.GetUID()] = b
	}
	return all
}
