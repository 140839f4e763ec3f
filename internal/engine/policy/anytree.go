package policy

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// anyTree reads free JSON; nil where there is none.
func anyTree(raw json.RawMessage) any {
	tree, _ := decodePattern(&apiextensionsv1.JSON{Raw: raw}, nil)
	return tree
}
