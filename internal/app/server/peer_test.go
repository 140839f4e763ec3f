package server

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/pod-security-admission/admission"
	admissionapi "k8s.io/pod-security-admission/admission/api"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
	psapolicy "k8s.io/pod-security-admission/policy"
)

// peer answers an AdmissionReview as the webhook of
// k8s.io/pod-security-admission does: with the Kubernetes codec on both ends of
// its admission.Admission.
type peer struct {
	admission *admission.Admission
	codecs    serializer.CodecFactory
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, admissionv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	evaluator, err := psapolicy.NewEvaluator(psapolicy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{codecs: serializer.NewCodecFactory(scheme), admission: &admission.Admission{
		Configuration: &admissionapi.PodSecurityConfiguration{Defaults: admissionapi.PodSecurityDefaults{
			Enforce: "restricted", EnforceVersion: "latest", Audit: "privileged", AuditVersion: "latest", Warn: "privileged", WarnVersion: "latest",
		}},
		Evaluator: evaluator, Metrics: silent{}, PodSpecExtractor: admission.DefaultPodSpecExtractor{},
		NamespaceGetter: namespaces{}, PodLister: namespaces{},
	}}
	if err := p.admission.CompleteConfiguration(); err != nil {
		t.Fatal(err)
	}
	if err := p.admission.ValidateConfiguration(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *peer) answer(ctx context.Context, body []byte) []byte {
	gvk := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	object, _, err := p.codecs.UniversalDeserializer().Decode(body, &gvk, nil)
	if err != nil {
		return []byte(err.Error())
	}
	review := object.(*admissionv1.AdmissionReview)
	response := p.admission.Validate(ctx, api.RequestAttributes(review.Request, p.codecs.UniversalDeserializer()))
	answered := *response
	answered.UID = review.Request.UID
	var b bytes.Buffer
	err = json.NewEncoder(&b).Encode(&admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: &answered})
	if err != nil {
		return []byte(err.Error())
	}
	return b.Bytes()
}

type silent struct{}

func (silent) RecordEvaluation(metrics.Decision, api.LevelVersion, metrics.Mode, api.Attributes) {}
func (silent) RecordExemption(api.Attributes)                                                    {}
func (silent) RecordError(bool, api.Attributes)                                                  {}

type namespaces struct{}

func (namespaces) GetNamespace(_ context.Context, name string) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

func (namespaces) ListPods(context.Context, string) ([]*corev1.Pod, error) { return nil, nil }
