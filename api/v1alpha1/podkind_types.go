package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodKind says that objects of a custom kind make pods, and where in them these
// stand. Rules about Pods, the Pod Security Standards, identities and exceptions then
// hold for such objects as they do for a Deployment. Places that Sallyport knows of
// already, or that are registered beside others, add up; nothing can be taken away
// from the kinds of Kubernetes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=pk,categories=sallyport
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.group`
// +kubebuilder:printcolumn:name="Kinds",type=string,JSONPath=`.spec.kinds`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PodKind struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PodKindSpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// PodKindList is a list of PodKind.
//
// +kubebuilder:object:root=true
type PodKindList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodKind `json:"items"`
}

// PodKindSpec names kinds and the places of pods in them.
type PodKindSpec struct {
	// group of the kinds, without a version: what is said holds for each version, and
	// a path that one of them does not have leads to no pod there. Kinds of Kubernetes
	// itself, whose groups have no dot, cannot be registered.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`
	// +kubebuilder:validation:XValidation:rule="self != 'sallyport.io'",message="kinds of Sallyport make no pods"
	Group string `json:"group"`
	// kinds as they stand in the objects, such as Workflow. Each is registered by one
	// PodKind; of two, the one with the later name does not work.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:items:XValidation:rule="!self.endsWith('List')",message="lists are read by the kind of their items"
	// +listType=set
	Kinds []string `json:"kinds"`
	// pods are the places at which pods stand, in each of the kinds.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Pods []PodPlace `json:"pods"`
}

// PodForm is what stands at a place.
type PodForm string

// The forms.
const (
	// PodFormTemplate is metadata and spec.
	PodFormTemplate PodForm = "Template"
	// PodFormSpec is the spec of a pod, without metadata.
	PodFormSpec PodForm = "PodSpec"
	// PodFormParts is an object that has parts of a pod in fields of its own.
	PodFormParts PodForm = "Parts"
)

// PodPlace is a place at which a pod, or several, stand.
//
// +kubebuilder:validation:XValidation:rule="(has(self.form) && self.form == 'Parts') == has(self.parts)",message="parts belong to the form Parts, which needs them"
// +kubebuilder:validation:XValidation:rule="self.path != '.' || !has(self.form) || self.form == 'Template'",message="the object itself can only be a Template, which has metadata and spec"
type PodPlace struct {
	// path from the root of the object: spec.template; spec.tasks[*].template for each
	// element of a list, spec.tasks[0].template for one; spec.replicaSpecs.*.template
	// for each value of a map; spec["odd.name"] for names of other characters than
	// letters, digits, "-" and "_"; "." for the object itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(metadata|apiVersion|kind|items|[*])($|[.\\\\[])')",message="no pods stand in metadata, apiVersion, kind and items, and a path does not begin with a wildcard"
	Path string `json:"path"`
	// form of what stands there. Template: metadata and spec, as in a Deployment.
	// PodSpec: the spec without metadata. Parts: containers and other fields of a pod
	// under names of its own, see parts.
	// +optional
	// +kubebuilder:validation:Enum=Template;PodSpec;Parts
	// +kubebuilder:default=Template
	Form PodForm `json:"form,omitempty"`
	// completed says that the controller adds to what stands here before it makes the
	// pod, such as the image of a container or a security context. Rules then hold
	// what is written to account, and not what is missing: Pod Security Standards and
	// patterns pass over fields that are not set, and rules in CEL, which ask about
	// whole pods, do not hold here. The pods that come of it are judged as a whole.
	// +optional
	Completed bool `json:"completed,omitempty"`
	// parts of the pod. Of several for one field, lists, labels and annotations add up,
	// and of everything else the first that is there counts. An object that has no
	// containers by them makes no pod here, unless it is completed.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Parts []PodPart `json:"parts,omitempty"`
}

// PodPart says that what stands in one field is a part of a pod.
type PodPart struct {
	// from is a path from the place on, such as container, or sidecars[*]; "." is the
	// place itself. One that begins with "$." begins at the root of the object:
	// $.spec.serviceAccountName.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	From string `json:"from"`
	// to is the part: metadata, metadata.labels, metadata.annotations, spec or a field
	// of a pod spec, such as spec.containers, which takes one container or a list.
	// container.image and its like are fields of one container more, for a kind that
	// has them apart.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^(spec|metadata|metadata\.labels|metadata\.annotations|(spec|container)\.[a-zA-Z]+)$`
	To string `json:"to"`
}
