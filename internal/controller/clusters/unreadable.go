package clusters

import (
	"cmp"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// longestProblem bounds how much of what is wrong with a ClusterConfig stands in
// an answer.
const longestProblem = 200

// definitionIn is the cluster of a ClusterConfig that cannot work, as far as it can
// be read: every request for it is refused, and who is bound to it stays bound.
func definitionIn(object *unstructured.Unstructured, problem Problem) Definition {
	why := decision.Clean(problem.Message)
	if len(why) > longestProblem {
		why = why[:longestProblem] + " ..."
	}
	d := Definition{ID: object.GetName(), Problem: problem, Unusable: "ClusterConfig " + object.GetName() + " cannot work as it is stored: " + why}
	spec, _ := object.Object["spec"].(map[string]any)
	id, _ := spec["clusterID"].(string)
	d.ID = cmp.Or(id, d.ID)
	if clusterconfig.CheckName(d.ID) != "" {
		d.ID = object.GetName()
	}
	callers, given := spec["callers"]
	if !given {
		return d
	}
	names := []string{}
	var read struct {
		CommonNames []json.RawMessage `json:"commonNames"`
	}
	if raw, err := json.Marshal(callers); err == nil {
		_ = json.Unmarshal(raw, &read)
	}
	for _, raw := range read.CommonNames {
		var name string
		if json.Unmarshal(raw, &name) == nil {
			names = append(names, name)
		}
	}
	d.Callers = &names
	return d
}
