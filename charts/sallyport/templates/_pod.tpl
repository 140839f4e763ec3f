{{/* What serve is told. */}}
{{- define "sallyport.args" -}}
- serve
{{- if .Values.callers.proxy.enabled }}
- --addr=127.0.0.1:{{ .Values.callers.proxy.port }}
- --insecure-http
{{- else }}
- --addr=:{{ .Values.ports.webhook }}
{{- if include "sallyport.ownCertificate" . }}
- --certificate-secret=sallyport-certificate
{{- range .Values.tls.serverNames }}
- {{ printf "--tls-server-name=%s" . | quote }}
{{- end }}
{{- else }}
- --tls-cert-file=/etc/sallyport/tls/tls.crt
- --tls-private-key-file=/etc/sallyport/tls/tls.key
{{- end }}
{{- end }}
{{- if or (include "sallyport.follows" .) (include "sallyport.ownCertificate" .) }}
- --service={{ .Release.Namespace }}/{{ include "sallyport.name" . }}:{{ .Values.service.port }}
{{- end }}
{{- with include "sallyport.caFile" . }}
- --webhooks-ca-file={{ . }}
{{- end }}
{{- if .Values.callers.clientCA.existingSecret }}
- --client-ca-file=/etc/sallyport/client-ca/ca.crt
{{- end }}
{{- if .Values.callers.tokens.existingSecret }}
- --auth-token-file=/etc/sallyport/tokens/tokens
{{- end }}
- --shutdown-delay={{ .Values.shutdownDelaySeconds }}s
- --mode={{ .Values.mode }}
- --doors={{ join "," .Values.doors }}
{{- with .Values.clusterName }}
- {{ printf "--cluster-name=%s" . | quote }}
{{- end }}
- --webhooks={{ ternary "all" "static" (eq (include "sallyport.follows" .) "true") }}
{{- if include "sallyport.follows" . }}
- --webhook-timeout={{ .Values.webhook.timeoutSeconds }}s
{{- with without .Values.webhook.startNamespaces "kube-system" }}
- --webhook-start-namespaces={{ join "," . }}
{{- end }}
{{- with .Values.webhook.excludeNamespaces }}
- --webhook-exclude-namespaces={{ join "," . }}
{{- end }}
{{- range $kinds := .Values.webhook.podKinds }}
{{- range .resources }}
- --webhook-pod-kinds={{ . }}.{{ $kinds.group }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq .Values.webhook.failurePolicy "Ignore" }}
- --webhook-failure-policy=Ignore
{{- end }}
- --pod-source={{ .Values.podSource }}
{{- with .Values.decisionTimeout }}
- --decision-timeout={{ . }}
{{- end }}
{{- with .Values.maxStaleness }}
- --max-staleness={{ . }}
{{- end }}
{{- range .Values.trustedExceptionNamespaces }}
- {{ printf "--trusted-exception-namespaces=%s" . | quote }}
{{- end }}
- --module-cache=/var/cache/sallyport/modules
{{- with .Values.auditLog }}
- {{ printf "--audit-log=%s" . | quote }}
{{- end }}
- --log-level={{ .Values.log.level }}
- --log-format={{ .Values.log.format }}
{{- with .Values.features.backgroundScan }}
{{- if .enabled }}
- --background-scan={{ .interval }}
{{- if .reports }}
- --background-scan-reports
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.templateKey.existingSecret }}
- --template-key-file=/etc/sallyport/template-key/key
{{- end }}
{{- if .Values.registryCredentials.existingSecret }}
- --registry-config=/etc/sallyport/registries/config.json
{{- end }}
{{- if .Values.notifications.existingSecret }}
- --notify-config=/etc/sallyport/notifications/{{ .Values.notifications.key }}
{{- end }}
{{- range $kinds := .Values.webhook.podKinds }}
{{- range $kind, $user := $kinds.controllers }}
- {{ printf "--controller-account=%s.%s=%s" $kind $kinds.group $user | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
Secrets that are mounted: the name of the volume, the Secret, its key and the file that it
becomes. Without a key all of them are files: what says who is told names further ones.
*/}}
{{- define "sallyport.secrets" -}}
{{- with .Values.callers.clientCA }}{{ if .existingSecret }}
- {name: client-ca, secret: {{ .existingSecret | quote }}, key: {{ .key | quote }}, file: ca.crt}
{{- end }}{{ end }}
{{- with .Values.callers.tokens }}{{ if .existingSecret }}
- {name: tokens, secret: {{ .existingSecret | quote }}, key: {{ .key | quote }}, file: tokens}
{{- end }}{{ end }}
{{- with .Values.templateKey }}{{ if .existingSecret }}
- {name: template-key, secret: {{ .existingSecret | quote }}, key: {{ .key | quote }}, file: key}
{{- end }}{{ end }}
{{- with .Values.registryCredentials }}{{ if .existingSecret }}
- {name: registries, secret: {{ .existingSecret | quote }}, key: {{ .key | quote }}, file: config.json}
{{- end }}{{ end }}
{{- with .Values.notifications }}{{ if .existingSecret }}
- {name: notifications, secret: {{ .existingSecret | quote }}}
{{- end }}{{ end }}
{{- end -}}

{{- define "sallyport.mounts" -}}
{{- $ca := include "sallyport.caFile" . }}
{{- if and (not (include "sallyport.ownCertificate" .)) (or (not .Values.callers.proxy.enabled) (eq $ca "/etc/sallyport/tls/ca.crt")) }}
- name: tls
  mountPath: /etc/sallyport/tls
  readOnly: true
{{- end }}
{{- if eq $ca "/etc/sallyport/ca/ca.crt" }}
- name: ca
  mountPath: /etc/sallyport/ca
  readOnly: true
{{- end }}
{{- range include "sallyport.secrets" . | fromYamlArray }}
- name: {{ .name }}
  mountPath: /etc/sallyport/{{ .name }}
  readOnly: true
{{- end }}
- name: cache
  mountPath: /var/cache/sallyport
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "sallyport.volumes" -}}
{{- if not (include "sallyport.ownCertificate" .) }}
- name: tls
  secret:
    secretName: {{ include "sallyport.tlsSecret" . | quote }}
    defaultMode: 0440
{{- end }}
{{- if eq (include "sallyport.caFile" .) "/etc/sallyport/ca/ca.crt" }}
- name: ca
  configMap:
    name: sallyport-ca
{{- end }}
{{- range include "sallyport.secrets" . | fromYamlArray }}
- name: {{ .name }}
  secret:
    secretName: {{ .secret | quote }}
    defaultMode: 0440
    {{- if .key }}
    items:
    - key: {{ .key | quote }}
      path: {{ .file }}
    {{- end }}
{{- end }}
- name: cache
  emptyDir:
    sizeLimit: {{ .Values.moduleCacheSize }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
