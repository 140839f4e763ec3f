// Package policyserver makes what PolicyServers run as: for each a Deployment, its
// Service, policies, certificate and disruption budget, and the webhooks by which
// an API server asks it.
package policyserver

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of what is made, and where it stands in the pods.
const (
	// objectPrefix begins the names of all that stands in a namespace.
	objectPrefix = "policy-server-"
	// webhookPrefix begins the names of the webhook configurations.
	webhookPrefix = "sallyport-policy-server-"
	// webhookSuffix ends the name of each webhook.
	webhookSuffix = ".policies.sallyport.io"
	// PoliciesFile is the key of the ConfigMap that has the policies.
	PoliciesFile = "policies.yml"

	certKey, keyKey, caKey     = "tls.crt", "tls.key", "ca.crt"
	nextCertKey, nextKeyKey    = "next.crt", "next.key"
	clientCAKey, tokensKey     = "client-ca.crt", "tokens"
	policiesDir, secretDir     = "/etc/sallyport", "/etc/sallyport-tls"
	cacheDir                   = "/var/cache/sallyport"
	containerName              = "sallyport"
	servicePort, containerPort = 443, 8443

	labelServer    = "sallyport.io/policy-server"
	labelManagedBy = "app.kubernetes.io/managed-by"
	manager        = "sallyport"
	// annotationPolicies has the digest of the policies that pods were started with.
	annotationPolicies = "sallyport.io/policies"
	// annotationRolledOut has the digest of those that every pod was seen to be ready
	// with.
	annotationRolledOut = "sallyport.io/rolled-out"
	// annotationStaged says when the next certificate was made.
	annotationStaged = "sallyport.io/next-since"
	finalizer        = "sallyport.io/policy-server"
)

// ObjectName is what the Deployment, the Service and the rest that stands in a
// namespace is called.
func ObjectName(server string) string { return objectPrefix + server }

// WebhooksName is what both webhook configurations of a server are called.
func WebhooksName(server string) string {
	if server == itself.Name {
		return OwnWebhooks
	}
	return webhookPrefix + server
}

// longestWebhook bounds the name of a webhook.
const longestWebhook = 253

// webhookName is what the webhook of a policy is called.
func webhookName(id string) string {
	if name := id + webhookSuffix; len(name) <= longestWebhook {
		return name
	}
	return digest([]byte(id)) + webhookSuffix
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Managed reports whether a webhook configuration is that of a PolicyServer, or of
// policies with webhooks of their own, made by Sallyport.
func Managed(m *metav1.ObjectMeta) bool {
	return (m.Name == OwnWebhooks || strings.HasPrefix(m.Name, webhookPrefix)) && m.Labels[labelManagedBy] == manager
}
