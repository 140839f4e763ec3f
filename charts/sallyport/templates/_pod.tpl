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
- name: config
  mountPath: /etc/sallyport/config
  readOnly: true
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
- name: config
  configMap:
    name: sallyport-config
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
