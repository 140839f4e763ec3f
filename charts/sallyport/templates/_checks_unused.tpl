{{/* Values that are given and would do nothing, as another is not. */}}
{{- define "sallyport.checkUnused" -}}
{{- if and .Values.service.nodePort (eq .Values.service.type "ClusterIP") -}}
{{- fail "service.nodePort is given, and service.type is ClusterIP, which has none: give service.type=NodePort or LoadBalancer" -}}
{{- end -}}
{{- with .Values.features -}}
{{- if and .backgroundScan.reports (not .backgroundScan.enabled) -}}
{{- fail "features.backgroundScan.reports is given, and nothing is scanned: give features.backgroundScan.enabled=true" -}}
{{- end -}}
{{- if and .clusters.secretNames (not .clusters.enabled) -}}
{{- fail "features.clusters.secretNames is given, and Secrets are not read: give features.clusters.enabled=true" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.callers.network.from (not .Values.callers.network.enabled) -}}
{{- fail "callers.network.from is given, and callers without credentials get no answer: give callers.network.enabled=true" -}}
{{- end -}}
{{- if and .Values.networkPolicy.from (not .Values.networkPolicy.enabled) -}}
{{- fail "networkPolicy.from is given, and no NetworkPolicy is made: give networkPolicy.enabled=true" -}}
{{- end -}}
{{- if and .Values.tls.serverNames (not (include "sallyport.ownCertificate" .)) -}}
{{- fail "tls.serverNames is given, and the certificate is another's: they are for the one that Sallyport makes itself; have them in the Secret, or give tls.certManager.dnsNames and ipAddresses" -}}
{{- end -}}
{{- range .Values.extraObjects -}}
{{- if hasPrefix "sallyport.io/" .apiVersion -}}
{{- fail (printf "extraObjects has the %s %s, which Sallyport has to judge, and it is not there yet: apply it once the release is installed" .kind (dig "name" "" .metadata)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
