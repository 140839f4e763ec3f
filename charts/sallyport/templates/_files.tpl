{{/*
What config/ ships is copied into files/ as it stands, and is what is rendered: this gives
it the labels and the namespace of the release. Rights that belong to what is not switched
on are left out.
*/}}
{{- define "sallyport.file" -}}
{{- $root := .root -}}
{{- range $document := splitList "\n---\n" ($root.Files.Get .path) -}}
{{- $object := fromYaml $document -}}
{{- if not $object.kind -}}
{{- fail (printf "%s of the chart cannot be read: %s" $.path ($object.Error | default "it has no kind")) -}}
{{- end -}}
{{- $_ := set $object.metadata "labels" (merge (include "sallyport.labels" $root | fromYaml) ($object.metadata.labels | default dict)) -}}
{{- if $object.metadata.namespace -}}
{{- $_ := set $object.metadata "namespace" $root.Release.Namespace -}}
{{- end -}}
{{- range $subject := $object.subjects -}}
{{- $_ := set $subject "namespace" $root.Release.Namespace -}}
{{- end -}}
{{- with $.annotations -}}
{{- $_ := set $object.metadata "annotations" . -}}
{{- end -}}
{{- if $object.rules -}}
{{- $rules := list -}}
{{- range $rule := $object.rules -}}
{{- $follows := has "sallyport-rules" ($rule.resourceNames | default list) -}}
{{- $reports := has "openreports.io" $rule.apiGroups -}}
{{- if and (or (not $follows) (include "sallyport.follows" $root)) (or (not $reports) $root.Values.features.backgroundScan.reports) -}}
{{- with $.resourceNames -}}
{{- $_ := set $rule "resourceNames" . -}}
{{- end -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- if eq $.path "files/rbac/clusterrole.yaml" -}}
{{- range $root.Values.webhook.podKinds -}}
{{- $rules = append $rules (dict "apiGroups" (list .group) "resources" .resources "verbs" (list "get")) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $object "rules" $rules -}}
{{- end -}}
{{- if $object.aggregationRule -}}
{{- /* These rules are written by a controller, and would differ from the release's. */ -}}
{{- $_ := unset $object "rules" -}}
{{- end }}
---
{{ toYaml $object }}
{{- end -}}
{{- end -}}

{{/* Whether the leader keeps webhooks. */}}
{{- define "sallyport.follows" -}}
{{- if and .Values.webhook.enabled .Values.webhook.follow }}true{{ end -}}
{{- end -}}

{{/*
Webhook configurations: where they lead, what they trust, and which namespaces they leave
out. Those about Sallyport's own kinds, and the one about marks that are written by themselves,
go on refusing what could not be judged: what is written unjudged while Sallyport is away would
count afterwards.
*/}}
{{- define "sallyport.webhooks" -}}
{{- $root := .root -}}
{{- $values := $root.Values.webhook -}}
{{- $failurePolicy := include "sallyport.failurePolicy" $root -}}
{{- $namespace := $root.Release.Namespace -}}
{{- $own := list "policies.sallyport.io" "exceptions.sallyport.io" "sessions.sallyport.io" "definitions.sallyport.io" -}}
{{- $start := printf "['%s']" (join "', '" (sortAlpha $values.startNamespaces)) -}}
{{- $text := $root.Files.Get .path | replace "'sallyport-system'" (printf "'%s'" $namespace) | replace "['kube-system']" $start -}}
{{- range $document := splitList "\n---\n" $text -}}
{{- $object := fromYaml $document -}}
{{- if not $object.kind -}}
{{- fail (printf "%s of the chart cannot be read: %s" $.path ($object.Error | default "it has no kind")) -}}
{{- end -}}
{{- $_ := set $object.metadata "labels" (include "sallyport.labels" $root | fromYaml) -}}
{{- $annotations := deepCopy $values.annotations -}}
{{- if and (eq $object.metadata.name "sallyport") $root.Values.tls.certManager.enabled -}}
{{- $annotations = merge (dict "cert-manager.io/inject-ca-from" (printf "%s/sallyport" $namespace)) $annotations -}}
{{- end -}}
{{- with $annotations -}}
{{- $_ := set $object.metadata "annotations" . -}}
{{- end -}}
{{- if include "sallyport.follows" $root -}}
{{- $_ := unset $object "webhooks" -}}
{{- end -}}
{{- range $hook := $object.webhooks -}}
{{- range $kinds := $values.podKinds -}}
{{- $rule := dict "apiGroups" (list $kinds.group) "apiVersions" (list "*") "resources" $kinds.resources "operations" (list "CREATE" "UPDATE") "scope" "*" -}}
{{- $judges := eq $object.kind "ValidatingWebhookConfiguration" -}}
{{- if and $judges (eq $hook.name "templates.sallyport.io") -}}
{{- $statuses := list -}}
{{- range $kinds.resources }}{{ $statuses = append $statuses (printf "%s/status" .) }}{{ end -}}
{{- $rule = merge (dict "resources" $statuses "operations" (list "UPDATE")) $rule -}}
{{- end -}}
{{- if or (eq $hook.name "templates.sallyport.io") (and $judges (eq $hook.name "pods.sallyport.io")) -}}
{{- $_ := set $hook "rules" (append $hook.rules $rule) -}}
{{- end -}}
{{- end -}}
{{- $path := $hook.clientConfig.service.path -}}
{{- if not (or (has $hook.name $own) (and (eq $hook.name "templates.sallyport.io") (eq $object.kind "ValidatingWebhookConfiguration"))) -}}
{{- $_ := set $hook "failurePolicy" $failurePolicy -}}
{{- $_ := set $hook "timeoutSeconds" $values.timeoutSeconds -}}
{{- if eq $failurePolicy "Ignore" -}}
{{- $path = printf "/ignore%s" $path -}}
{{- end -}}
{{- end -}}
{{- $client := dict "service" (dict "namespace" $namespace "name" (include "sallyport.name" $root) "port" $root.Values.service.port "path" $path) -}}
{{- with $root.Values.tls.existingSecret.caBundle -}}
{{- $_ := set $client "caBundle" (b64enc .) -}}
{{- end -}}
{{- $_ := set $hook "clientConfig" $client -}}
{{- if $hook.namespaceSelector -}}
{{- $names := concat (list $namespace) $values.excludeNamespaces | uniq | sortAlpha -}}
{{- $_ := set $hook "namespaceSelector" (dict "matchExpressions" (list (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" $names))) -}}
{{- end -}}
{{- end }}
---
{{ toYaml $object }}
{{- end -}}
{{- end -}}
