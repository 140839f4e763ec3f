{{/*
Sallyport's own namespace is not guarded, as it has to start while it is away. So it has to
be one that nobody else works in.
*/}}
{{- define "sallyport.checkNamespace" -}}
{{- $namespace := .Release.Namespace -}}
{{- if or (eq $namespace "default") (hasPrefix "kube-" $namespace) -}}
{{- fail (printf "the namespace of the release is %s, whose pods would not be guarded, as Sallyport's own are not: give it a namespace of its own, with --namespace sallyport-system --create-namespace" $namespace) -}}
{{- end -}}
{{- if has $namespace .Values.webhook.excludeNamespaces -}}
{{- fail (printf "webhook.excludeNamespaces names %s, the namespace of the release, which is left out anyway; take it out of the list" $namespace) -}}
{{- end -}}
{{- range .Values.webhook.startNamespaces -}}
{{- if has . $.Values.webhook.excludeNamespaces -}}
{{- fail (printf "%s is in webhook.startNamespaces and in webhook.excludeNamespaces, by which nothing in it is asked about at all; leave it out of the first" .) -}}
{{- end -}}
{{- end -}}
{{- if has $namespace .Values.webhook.startNamespaces -}}
{{- fail (printf "webhook.startNamespaces names %s, the namespace of the release, which is not asked about at all; leave it out, and run nothing else in it" $namespace) -}}
{{- end -}}
{{- end -}}
