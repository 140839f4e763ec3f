package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IdentitySource names a kind of identity that pods carry, and where in a pod it
// is read. Whoever gets into such a pod's runtime, by making it, changing it or
// entering it, must hold `use` on each identity that it carries. Source: document
// "Validated Pod Annotations".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=idsrc,categories=sallyport
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.spec.key`
// +kubebuilder:printcolumn:name="Review",type=string,JSONPath=`.spec.reviewForm`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type IdentitySource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec IdentitySourceSpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// IdentitySourceList is a list of IdentitySource.
//
// +kubebuilder:object:root=true
type IdentitySourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IdentitySource `json:"items"`
}

// IdentitySourceSpec is a key and one way to read its value.
//
// +kubebuilder:validation:XValidation:rule="[has(self.podAnnotation), has(self.serviceAccount), has(self.csiVolume), has(self.projectedToken), has(self.podCertificate), has(self.field)].filter(given, given).size() == 1",message="exactly one of podAnnotation, serviceAccount, csiVolume, projectedToken, podCertificate and field is required"
// +kubebuilder:validation:XValidation:rule="!has(self.reviewForm) || self.reviewForm != 'Resource' || !self.key.contains('/')",message="with reviewForm Resource the key is the name of a resource, which holds no /: what follows it reads as a subresource"
// +kubebuilder:validation:XValidation:rule="!has(self.reviewForm) || self.reviewForm != 'Resource' || !(self.key.lowerAscii() in ['validatedannotations', 'subjectaccessreviews', 'localsubjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews'])",message="with reviewForm Resource the key must be none of the resources that authorization.k8s.io has"
// +kubebuilder:validation:XValidation:rule="!has(self.subresources) || ['exec', 'attach', 'ephemeralcontainers'].all(s, s in self.subresources)",message="subresources must hold exec, attach and ephemeralcontainers: an identity that any of them reaches is not protected"
type IdentitySourceSpec struct {
	// key of the identity, as in the review: kerberos, or
	// cloud.google.com/serviceaccount. Of two sources with one key the older
	// works, and the other is not ready.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	Key string `json:"key"`

	// podAnnotation: the value is that of an annotation of the pod.
	// +optional
	PodAnnotation *PodAnnotationIdentity `json:"podAnnotation,omitempty"`
	// serviceAccount: the value is the account that the pod runs as, or an
	// annotation of it.
	// +optional
	ServiceAccount *ServiceAccountIdentity `json:"serviceAccount,omitempty"`
	// csiVolume: the value is given to, or made up by, the CSI driver of an
	// inline volume.
	// +optional
	CSIVolume *CSIVolumeIdentity `json:"csiVolume,omitempty"`
	// projectedToken: the pod has a token of its service account for an audience.
	// +optional
	ProjectedToken *ProjectedTokenIdentity `json:"projectedToken,omitempty"`
	// podCertificate: the pod has a certificate of a signer.
	// +optional
	PodCertificate *PodCertificateIdentity `json:"podCertificate,omitempty"`
	// field: the value stands in an object of a custom kind.
	// +optional
	Field *FieldIdentity `json:"field,omitempty"`

	// reviewForm is how the permission is asked for, always of group
	// authorization.k8s.io with verb use. ValidatedAnnotation: resource
	// validatedannotations, the value as the subresource and the key as the name;
	// a value cannot hold a slash. Resource: the key as the resource and the value
	// as the name; RBAC can then grant every value of one key, by a rule without
	// resourceNames.
	// +optional
	// +kubebuilder:validation:Enum=ValidatedAnnotation;Resource
	// +kubebuilder:default=ValidatedAnnotation
	ReviewForm IdentityReviewForm `json:"reviewForm,omitempty"`

	// subresources of pods by which a running pod's identity is reached. exec,
	// attach and ephemeralcontainers always are; portforward and proxy can be
	// added, for pods that hand their identity to whoever asks over the network.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:Enum=exec;attach;ephemeralcontainers;portforward;proxy
	// +kubebuilder:default={exec,attach,ephemeralcontainers}
	Subresources []string `json:"subresources,omitempty"`

	// cacheSeconds is how long a permission that was found may be taken to hold
	// without asking again. Refusals are never kept. 0 asks each time.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	CacheSeconds int32 `json:"cacheSeconds,omitempty"`
}

// IdentityReviewForm is how the permission to use an identity is asked for.
type IdentityReviewForm string

// How the permission to use an identity is asked for.
const (
	ReviewValidatedAnnotation IdentityReviewForm = "ValidatedAnnotation"
	ReviewResource            IdentityReviewForm = "Resource"
)

// PodAnnotationIdentity reads an annotation of the pod or of its template.
type PodAnnotationIdentity struct {
	// name of the annotation. Not given: the key.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="is not the name of an annotation; it looks like kerberos or example.com/account"
	Name string `json:"name,omitempty"`
}

// ServiceAccountIdentity reads the service account that a pod runs as; default
// where the pod names none.
type ServiceAccountIdentity struct {
	// annotation of the service account whose value is meant. An account without
	// it carries no such identity. Not given, the value is the account itself,
	// NAMESPACE:NAME.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="is not the name of an annotation; it looks like kerberos or example.com/account"
	Annotation string `json:"annotation,omitempty"`
	// kinds are custom kinds that name a service account and hold no pod
	// template, with the paths of its name. Where none of the paths leads to a
	// name, the account is default.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.group == b.group && a.kind == b.kind))",message="names a kind twice"
	Kinds []IdentityKind `json:"kinds,omitempty"`
}

// CSIVolumeIdentity reads the inline volumes of a CSI driver. A volume that comes
// by a claim, a generic ephemeral volume among them, gets its attributes from the
// administrator's storage class or persistent volume, and is not read.
type CSIVolumeIdentity struct {
	// driver, such as csi.spiffe.io; letters count alike in either case.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii().matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="is not the name of a driver, such as csi.spiffe.io"
	Driver string `json:"driver"`
	// volumeAttribute whose value is meant; a volume of the driver without it is
	// refused. Not given, the driver gives what belongs to the pod's service
	// account, and the value is NAMESPACE:NAME of that.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	VolumeAttribute string `json:"volumeAttribute,omitempty"`
}

// ProjectedTokenIdentity finds projected service account tokens. The value is
// NAMESPACE:NAME of the service account, which is what the token says.
type ProjectedTokenIdentity struct {
	// audience of the token, exactly. A token without one is for the API server
	// and no identity.
	// +kubebuilder:validation:MinLength=1
	Audience string `json:"audience"`
}

// PodCertificateIdentity finds projected pod certificates. The value is
// NAMESPACE:NAME of the pod's service account.
type PodCertificateIdentity struct {
	// signerName of the certificate, exactly.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=571
	// +kubebuilder:validation:XValidation:rule="self.indexOf('/') > 0 && self.indexOf('/') < size(self) - 1",message="is not a signer; write DOMAIN/NAME, such as example.com/workload"
	SignerName string `json:"signerName"`
}

// FieldIdentity reads a field of custom kinds. The value is what stands there.
// For a field that names a service account use serviceAccount.kinds, which puts
// the namespace to it.
type FieldIdentity struct {
	// kinds and the paths in them.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.group == b.group && a.kind == b.kind))",message="names a kind twice"
	Kinds []IdentityKind `json:"kinds"`
}

// IdentityKind is a custom kind, in each of its versions, with paths of fields.
type IdentityKind struct {
	// group of the kind, without a version.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="is not a group of a custom kind, such as tekton.dev, without a version"
	Group string `json:"group"`
	// kind as in the objects, such as TaskRun.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$') && !self.endsWith('List')",message="is not a kind, such as TaskRun; objects of a list are read by their own kind"
	Kind string `json:"kind"`
	// paths of fields that hold strings: spec.serviceAccountName,
	// spec.taskRunSpecs[*].serviceAccountName, spec.accounts.*.name. A field that
	// is not there gives nothing; one that holds anything but a string is an
	// error.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(metadata|status)([.]|$)')",message="metadata and status are not part of what the object is to be: labels, annotations and status are changed by others, and in other ways"
	Paths []string `json:"paths"`
}
