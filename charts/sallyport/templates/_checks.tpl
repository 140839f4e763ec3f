{{/* What values say together and a schema cannot. Each failure says what to give. */}}
{{- define "sallyport.checks" -}}
{{- $tls := .Values.tls -}}
{{- $callers := .Values.callers -}}
{{- if .Values.webhook.enabled -}}
{{- /* What takes the webhooks away frees a cluster, and is not kept from it. */ -}}
{{- include "sallyport.checkNamespace" . -}}
{{- end -}}
{{- include "sallyport.checkRun" . -}}
{{- include "sallyport.checkUnused" . -}}
{{- if and $tls.existingSecret.name $tls.certManager.enabled -}}
{{- fail "tls.existingSecret.name and tls.certManager.enabled are both given; give one of them" -}}
{{- end -}}
{{- if include "sallyport.ownCertificate" . -}}
{{- if $callers.proxy.enabled -}}
{{- fail "callers.proxy.enabled needs a certificate that the proxy shows: give tls.existingSecret.name, or tls.certManager.enabled=true and tls.certManager.issuerRef.name" -}}
{{- end -}}
{{- if and .Values.webhook.enabled (not .Values.webhook.follow) -}}
{{- fail "webhook.follow=false has webhooks installed before Sallyport has made its certificate: give tls.existingSecret.name and tls.existingSecret.caBundle, or tls.certManager.enabled=true and tls.certManager.issuerRef.name" -}}
{{- end -}}
{{- if $tls.existingSecret.caBundle -}}
{{- fail "tls.existingSecret.caBundle is given without tls.existingSecret.name, whose CA it is: Sallyport makes a certificate itself then; leave it out, or give both" -}}
{{- end -}}
{{- end -}}
{{- if and $tls.certManager.enabled (not $tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.enabled needs tls.certManager.issuerRef.name: the issuer that signs the certificate" -}}
{{- end -}}
{{- if and $tls.certManager.enabled $tls.existingSecret.caBundle -}}
{{- fail "tls.existingSecret.caBundle is given with tls.certManager.enabled, where cert-manager fills in the CA; leave it out" -}}
{{- end -}}
{{- if and .Values.webhook.enabled (not .Values.webhook.follow) $tls.existingSecret.name (not $tls.existingSecret.caBundle) -}}
{{- fail "tls.existingSecret.name needs tls.existingSecret.caBundle with webhook.follow=false, the CA in PEM that webhooks trust: --set-file tls.existingSecret.caBundle=ca.crt" -}}
{{- end -}}
{{- if and (eq .Values.mode "observe") (eq .Values.webhook.failurePolicy "Fail") -}}
{{- fail "webhook.failurePolicy is Fail with mode=observe: what could not be judged would be refused; leave it out" -}}
{{- end -}}
{{- if and .Values.webhook.enabled (eq (include "sallyport.failurePolicy" .) "Ignore") (not .Values.templateKey.existingSecret) -}}
{{- fail "webhooks let in what could not be judged (mode=observe or webhook.failurePolicy=Ignore), and then templates can be marked as judged by hand, which would count for ever: give templateKey.existingSecret, a Secret that nobody else reads: kubectl create secret generic sallyport-template-key --from-literal=key=\"$(openssl rand -hex 32)\"" -}}
{{- end -}}
{{- $told := or $callers.clientCA.existingSecret $callers.tokens.existingSecret -}}
{{- if and $callers.network.enabled (not $callers.network.from) -}}
{{- fail "callers.network.enabled needs callers.network.from: the networks that API servers ask from, such as 172.16.0.0/28" -}}
{{- end -}}
{{- range $callers.network.from -}}
{{- if and $callers.network.enabled (hasSuffix "/0" .) -}}
{{- fail (printf "callers.network.from has %s, which is everybody: name the networks that API servers ask from" .) -}}
{{- end -}}
{{- end -}}
{{- if and $callers.network.enabled (not $told) (has "access" .Values.doors) -}}
{{- fail "doors has access, where callers always show a certificate or a token: give callers.clientCA.existingSecret or callers.tokens.existingSecret as well, or doors=[admission]" -}}
{{- end -}}
{{- if and $callers.network.enabled $callers.proxy.enabled -}}
{{- fail "callers.network.enabled is given with callers.proxy.enabled, behind which all addresses are those of the proxy; give one of them" -}}
{{- end -}}
{{- if and $callers.network.enabled (not $told) .Values.features.policyServers -}}
{{- fail "features.policyServers needs callers.clientCA or callers.tokens: PolicyServers let in whom Sallyport knows, and by the network that is nobody" -}}
{{- end -}}
{{- if not (or $told $callers.proxy.enabled $callers.network.enabled) -}}
{{- fail "callers have to be told apart: give callers.clientCA.existingSecret or callers.tokens.existingSecret, for what API servers show (docs/helm.md), or callers.network.enabled=true or callers.proxy.enabled=true where they show nothing" -}}
{{- end -}}
{{- if $callers.proxy.enabled -}}
{{- if $told -}}
{{- fail "callers.proxy.enabled is given with callers.clientCA or callers.tokens: behind a proxy nobody shows a certificate or a token; give one of them" -}}
{{- end -}}
{{- if not .Values.extraContainers -}}
{{- fail "callers.proxy.enabled needs the proxy in extraContainers, which ends TLS at ports.webhook and leads to callers.proxy.port on loopback" -}}
{{- end -}}
{{- if not (and .Values.networkPolicy.enabled .Values.networkPolicy.from) -}}
{{- fail "callers.proxy.enabled lets in whoever reaches the proxy: say in networkPolicy.from who that is, such as an ipBlock of the control plane" -}}
{{- end -}}
{{- if .Values.hostNetwork -}}
{{- fail "callers.proxy.enabled is given with hostNetwork: all that runs on the node would reach what listens on loopback, and a NetworkPolicy does not hold there" -}}
{{- end -}}
{{- if .Values.features.policyServers -}}
{{- fail "features.policyServers needs callers.clientCA or callers.tokens: PolicyServers let in whom Sallyport lets in, and behind a proxy that is nobody" -}}
{{- end -}}
{{- end -}}
{{- with .Values.serviceMonitor -}}
{{- if and .enabled (not $callers.proxy.enabled) (not .authorization) (not (or (dig "cert" nil .tlsConfig) (dig "certFile" nil .tlsConfig))) -}}
{{- fail "serviceMonitor.enabled needs serviceMonitor.authorization, with one of the tokens of callers.tokens, or a client certificate in serviceMonitor.tlsConfig: metrics are for callers that are known" -}}
{{- end -}}
{{- end -}}
{{- end -}}
