package clusterpolicy

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// AnyTree reads free JSON; nil where there is none.
func AnyTree(raw json.RawMessage) any {
	tree, _ := decodePattern(&apiextensionsv1.JSON{Raw: raw}, nil)
	return tree
}
