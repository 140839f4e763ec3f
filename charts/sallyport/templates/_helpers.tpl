{{/* Names are the same in each installation: what repairs Sallyport is not asked about by these names. */}}
{{- define "sallyport.name" -}}sallyport{{- end -}}

{{- define "sallyport.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sallyport.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sallyport.labels" -}}
{{- $ours := include "sallyport.selectorLabels" . | fromYaml -}}
{{- $_ := set $ours "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $ours "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $ours "app.kubernetes.io/part-of" "sallyport" -}}
{{- $_ := set $ours "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- toYaml (merge $ours .Values.commonLabels) -}}
{{- end -}}

{{/* metadata of an object in the namespace of the release. */}}
{{- define "sallyport.metadata" -}}
name: {{ include "sallyport.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "sallyport.labels" . | nindent 2 }}
{{- end -}}

{{- define "sallyport.image" -}}
{{- with .Values.image -}}
{{- printf "%s/%s" .registry .repository -}}
{{- if .digest }}{{ printf "@%s" .digest }}{{ else }}{{ printf ":%s" (default $.Chart.AppVersion .tag) }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* What is done with what could not be judged. */}}
{{- define "sallyport.failurePolicy" -}}
{{- .Values.webhook.failurePolicy | default (ternary "Ignore" "Fail" (eq .Values.mode "observe")) -}}
{{- end -}}

{{/* Whether Sallyport makes its certificate itself. */}}
{{- define "sallyport.ownCertificate" -}}
{{- if not (or .Values.tls.existingSecret.name .Values.tls.certManager.enabled) }}true{{ end -}}
{{- end -}}

{{/* The file with what webhooks trust; empty where Sallyport or cert-manager sees to it. */}}
{{- define "sallyport.caFile" -}}
{{- if and (include "sallyport.follows" .) .Values.tls.existingSecret.name -}}
{{- ternary "/etc/sallyport/ca/ca.crt" "/etc/sallyport/tls/ca.crt" (ne .Values.tls.existingSecret.caBundle "") -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the server's certificate. */}}
{{- define "sallyport.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled }}sallyport-tls{{ else }}{{ .Values.tls.existingSecret.name }}{{ end -}}
{{- end -}}

{{/* Nine tenths of the memory that the container may take, for Go; nothing where that is not in whole Mi or Gi. */}}
{{- define "sallyport.goMemory" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- if regexMatch "^[0-9]+Mi$" $limit -}}
{{- printf "%dMiB" (div (mul (trimSuffix "Mi" $limit | int64) 9) 10) -}}
{{- else if regexMatch "^[0-9]+Gi$" $limit -}}
{{- printf "%dMiB" (div (mul (trimSuffix "Gi" $limit | int64) 9216) 10) -}}
{{- end -}}
{{- end -}}
