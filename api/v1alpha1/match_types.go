package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Match selects requests: by any of some filters, by all of them, or, in the
// short form, by one filter that stands right here. Exactly one of the three is
// given. Policies and exceptions use it alike.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.any) && has(self.all))",message="any and all cannot be used together"
// +kubebuilder:validation:XValidation:rule="!(has(self.any) || has(self.all)) || !(has(self.resources) || has(self.subjects) || has(self.roles) || has(self.clusterRoles))",message="any and all cannot stand beside a filter of the short form (resources, subjects, roles, clusterRoles): move that one into the list"
type Match struct {
	// any: one of these filters has to hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:MinItems=1
	Any []ResourceFilter `json:"any,omitempty"`
	// all: each of these filters has to hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:MinItems=1
	All []ResourceFilter `json:"all,omitempty"`
	// The short form: one filter.
	ResourceFilter `json:",inline"`
}

// ResourceFilter holds for a request if everything that is given in it does.
type ResourceFilter struct {
	// resources says what the request is about.
	// +optional
	Resources *ResourceDescription `json:"resources,omitempty"`
	// subjects: one of these users, groups or service accounts asks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:XValidation:rule="self.kind in ['User', 'Group', 'ServiceAccount']",message="kind is User, Group or ServiceAccount"
	// +kubebuilder:validation:items:XValidation:rule="self.name != ''",message="an empty name matches nobody"
	// +kubebuilder:validation:items:XValidation:rule="(self.kind == 'ServiceAccount') == (has(self.namespace) && self.namespace != '')",message="a ServiceAccount is in a namespace, which has to be named; a User and a Group are in none"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.apiGroup) || self.apiGroup == '' || self.kind != 'ServiceAccount' && self.apiGroup == 'rbac.authorization.k8s.io'",message="apiGroup is rbac.authorization.k8s.io for a User and a Group, and empty for a ServiceAccount"
	Subjects []rbacv1.Subject `json:"subjects,omitempty"`
	// roles: one of these Roles (namespace:name) is bound to who asks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*?-]+:[^/%]+$`
	Roles []string `json:"roles,omitempty"`
	// clusterRoles: one of these ClusterRoles is bound to who asks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^/%]+$`
	ClusterRoles []string `json:"clusterRoles,omitempty"`

	// kind, name and namespace are a short form of resources, as document "Policy
	// Exceptions" writes it in its user story: one name, or a list of them.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Kind Strings `json:"kind,omitempty"`
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Name Strings `json:"name,omitempty"`
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Namespace Strings `json:"namespace,omitempty"`
}

// ResourceDescription selects resources: all fields that are given must match,
// and of a list one entry.
//
// +kubebuilder:validation:MinProperties=1
type ResourceDescription struct {
	// kinds: Kind, version/Kind or group/version/Kind, each also with
	// /subresource, with `*` and `?`.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[-A-Za-z0-9.*?]+(/[-A-Za-z0-9.*?]+){0,3}$`
	Kinds []string `json:"kinds,omitempty"`
	// name is names with one entry.
	// +optional
	Name string `json:"name,omitempty"`
	// names of the resource, with `*` and `?`; its generateName where it has no
	// name yet.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^\[\]{}/%\\ \t\r\n]+$`
	Names []string `json:"names,omitempty"`
	// namespaces of the resource, with `*` and `?`. Not given: every namespace,
	// and resources that have none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*?-]+$`
	Namespaces []string `json:"namespaces,omitempty"`
	// annotations of the resource; keys and values with `*` and `?`.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	Annotations map[string]string `json:"annotations,omitempty"`
	// selector selects by the labels of the resource; keys and values of
	// matchLabels with `*` and `?`.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// namespaceSelector selects by the labels of the resource's namespace, or of
	// the resource where it is a Namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// operations: CREATE, UPDATE, DELETE, CONNECT. Not given: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Enum=CREATE;UPDATE;DELETE;CONNECT
	Operations []string `json:"operations,omitempty"`
}

// Strings is one string, or a list of them. A structural schema cannot say so,
// and leaves the shape open; UnmarshalJSON checks it.
type Strings []string

// UnmarshalJSON takes both forms.
func (s *Strings) UnmarshalJSON(data []byte) error {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) > 0 && trimmed[0] == '"' {
		var one string
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		*s = Strings{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("takes a name or a list of names: %w", err)
	}
	*s = list
	return nil
}
