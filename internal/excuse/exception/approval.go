package exception

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Approval is the record of who wrote an exception, and so approved it. It stands
// in an annotation, which is held to the authenticated request. It counts only for
// the spec that was written then.
type Approval struct {
	By string      `json:"by"`
	At metav1.Time `json:"at"`
	// Spec is the digest of what the exception said.
	Spec string `json:"spec"`
	// Kinds are, for each entry, the kinds of policies that the writer was asked
	// about. What the right to write was enough for is not among them.
	Kinds [][]string `json:"kinds"`
}

// String is the record as the annotation has it.
func (a *Approval) String() (string, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("the record of an approval cannot be written: %w", err)
	}
	return string(raw), nil
}

// ReadApproval reads a record from the annotations of an exception.
func ReadApproval(meta *metav1.ObjectMeta) (*Approval, error) {
	text := meta.Annotations[v1alpha1.AnnotationApproval]
	if text == "" {
		return nil, nil
	}
	record := &Approval{}
	if err := apijson.UnmarshalStrict([]byte(text), record); err != nil {
		return nil, fmt.Errorf("annotation %s holds no record of an approval: %w", v1alpha1.AnnotationApproval, err)
	}
	return record, nil
}

// counts reports whether a record is about what an exception says now.
func (a *Approval) counts(kind, namespace string, spec *v1alpha1.PolicyExceptionSpec) bool {
	if a.By == "" || len(a.Kinds) != len(spec.Exceptions) {
		return false
	}
	digest, err := Digest(kind, namespace, spec)
	return err == nil && digest == a.Spec
}

// Digest stands for what an exception says: its spec, its kind and its namespace.
// Its name is not known yet when it is made with generateName.
func Digest(kind, namespace string, spec *v1alpha1.PolicyExceptionSpec) (string, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("the spec cannot be written: %w", err)
	}
	// Values that are kept as they came are laid out as everything else.
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return "", fmt.Errorf("the spec cannot be read: %w", err)
	}
	raw, err = json.Marshal([]any{kind, namespace, tree})
	if err != nil {
		return "", fmt.Errorf("the spec cannot be written: %w", err)
	}
	sum := sha256.Sum256(raw)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
