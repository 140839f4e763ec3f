{{/* What serve is told, as the file that it reads. */}}
{{- define "sallyport.config" -}}
apiVersion: config.sallyport.io/v1alpha1
kind: ServerConfiguration
{{- if .Values.callers.proxy.enabled }}
addr: "127.0.0.1:{{ .Values.callers.proxy.port }}"
insecureHTTP: true
{{- else }}
addr: ":{{ .Values.ports.webhook }}"
{{- if include "sallyport.ownCertificate" . }}
certificateSecret: sallyport-certificate
{{- with .Values.tls.serverNames }}
tlsServerName: {{ toJson . }}
{{- end }}
{{- else }}
tlsCertFile: /etc/sallyport/tls/tls.crt
tlsPrivateKeyFile: /etc/sallyport/tls/tls.key
{{- end }}
{{- end }}
{{- if or (include "sallyport.follows" .) (include "sallyport.ownCertificate" .) }}
service: {{ .Release.Namespace }}/{{ include "sallyport.name" . }}:{{ .Values.service.port }}
{{- end }}
{{- with include "sallyport.caFile" . }}
webhooksCAFile: {{ . }}
{{- end }}
{{- if .Values.callers.clientCA.existingSecret }}
clientCAFile: /etc/sallyport/client-ca/ca.crt
{{- end }}
{{- if .Values.callers.tokens.existingSecret }}
authTokenFile: /etc/sallyport/tokens/tokens
{{- end }}
{{- with .Values.callers.network }}{{ if .enabled }}
callers: network
callerNetworks: {{ toJson .from }}
{{- end }}{{ end }}
shutdownDelay: {{ .Values.shutdownDelaySeconds }}s
mode: {{ .Values.mode }}
doors: {{ toJson .Values.doors }}
{{- with .Values.clusterName }}
clusterName: {{ toJson . }}
{{- end }}
webhooks: {{ ternary "all" "static" (eq (include "sallyport.follows" .) "true") }}
{{- if include "sallyport.follows" . }}
webhookTimeout: {{ .Values.webhook.timeoutSeconds }}s
{{- with without .Values.webhook.startNamespaces "kube-system" }}
webhookStartNamespaces: {{ toJson . }}
{{- end }}
{{- with .Values.webhook.excludeNamespaces }}
webhookExcludeNamespaces: {{ toJson . }}
{{- end }}
{{- with include "sallyport.podKinds" . | fromYamlArray }}
webhookPodKinds: {{ toJson . }}
{{- end }}
{{- end }}
{{- if eq .Values.webhook.failurePolicy "Ignore" }}
webhookFailurePolicy: Ignore
{{- end }}
podSource: {{ .Values.podSource }}
{{- with .Values.decisionTimeout }}
decisionTimeout: {{ . }}
{{- end }}
{{- with .Values.maxStaleness }}
maxStaleness: {{ . }}
{{- end }}
{{- with .Values.trustedExceptionNamespaces }}
trustedExceptionNamespaces: {{ toJson . }}
{{- end }}
moduleCache: /var/cache/sallyport/modules
{{- with .Values.auditLog }}
auditLog: {{ toJson . }}
{{- end }}
logLevel: {{ .Values.log.level }}
logFormat: {{ .Values.log.format }}
{{- with .Values.features.backgroundScan }}
{{- if .enabled }}
backgroundScan: {{ .interval }}
{{- if .reports }}
backgroundScanReports: true
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.templateKey.existingSecret }}
templateKeyFile: /etc/sallyport/template-key/key
{{- end }}
{{- if .Values.registryCredentials.existingSecret }}
registryConfig: /etc/sallyport/registries/config.json
{{- end }}
{{- if .Values.notifications.existingSecret }}
notifyConfig: {{ printf "/etc/sallyport/notifications/%s" .Values.notifications.key | toJson }}
{{- end }}
{{- with include "sallyport.controllerAccounts" . | fromYamlArray }}
controllerAccount: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* Kinds of others that make pods, as RESOURCE.GROUP. */}}
{{- define "sallyport.podKinds" -}}
{{- range $kinds := .Values.webhook.podKinds }}
{{- range .resources }}
- {{ printf "%s.%s" . $kinds.group | toJson }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Accounts of their controllers, as KIND.GROUP=USER. */}}
{{- define "sallyport.controllerAccounts" -}}
{{- range $kinds := .Values.webhook.podKinds }}
{{- range $kind, $user := $kinds.controllers }}
- {{ printf "%s.%s=%s" $kind $kinds.group $user | toJson }}
{{- end }}
{{- end }}
{{- end -}}
