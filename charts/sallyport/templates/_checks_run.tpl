{{/* What the program or Kubernetes would refuse, or would do other than it is meant. */}}
{{- define "sallyport.checkRun" -}}
{{- range $at, $least := dict "decisionTimeout" 1 "maxStaleness" 5000 "features.backgroundScan.interval" 1000 -}}
{{- $value := get $.Values $at | default "" -}}
{{- if eq $at "features.backgroundScan.interval" }}{{ $value = $.Values.features.backgroundScan.interval }}{{ end -}}
{{- if and $value (lt (include "sallyport.milliseconds" $value | float64) (float64 $least)) -}}
{{- fail (printf "%s is %s; %s or more is expected" $at $value (ternary (printf "%dms" $least) (printf "%ds" (div $least 1000)) (lt $least 1000))) -}}
{{- end -}}
{{- end -}}
{{- $needed := add .Values.shutdownDelaySeconds 35 -}}
{{- if lt (int64 .Values.terminationGracePeriodSeconds) $needed -}}
{{- fail (printf "terminationGracePeriodSeconds is %d, and a replica that ends goes on answering for shutdownDelaySeconds (%d) and may take 35 seconds more: give %d or more" (int64 .Values.terminationGracePeriodSeconds) (int64 .Values.shutdownDelaySeconds) $needed) -}}
{{- end -}}
{{- with .Values.updateStrategy -}}
{{- if and (eq .type "Recreate") .rollingUpdate -}}
{{- fail "updateStrategy.type is Recreate, which ends all replicas before it starts others, and updateStrategy.rollingUpdate is given: set it to null, or leave the type out" -}}
{{- end -}}
{{- if and $.Values.hostNetwork (eq .type "RollingUpdate") (not (has (dig "maxSurge" 1 (.rollingUpdate | default dict) | toString) (list "0" "0%"))) -}}
{{- fail "hostNetwork takes ports.webhook of each node, so that a further replica finds no node where each has one: give updateStrategy.rollingUpdate.maxSurge=0 and updateStrategy.rollingUpdate.maxUnavailable=1" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.callers.proxy.enabled (eq (int .Values.callers.proxy.port) (int .Values.ports.webhook)) -}}
{{- fail (printf "callers.proxy.port and ports.webhook are both %d: the proxy listens on ports.webhook, and Sallyport on callers.proxy.port" (int .Values.ports.webhook)) -}}
{{- end -}}
{{- range $key, $_ := .Values.commonLabels -}}
{{- if contains "/aggregate-to-" $key -}}
{{- fail (printf "commonLabels has %s, which would add the rights of Sallyport's own account to another role; leave it out" $key) -}}
{{- end -}}
{{- end -}}
{{- range $key, $_ := .Values.webhook.annotations -}}
{{- if hasPrefix "cert-manager.io/inject-" $key -}}
{{- fail (printf "webhook.annotations has %s, by which cert-manager would write another CA than Sallyport's; give tls.certManager.enabled=true, or leave it out" $key) -}}
{{- end -}}
{{- end -}}
{{- if .Values.callers.proxy.enabled -}}
{{- range .Values.networkPolicy.from -}}
{{- if or (not .) (has (dig "ipBlock" "cidr" "" .) (list "0.0.0.0/0" "::/0")) -}}
{{- fail "callers.proxy.enabled believes whoever reaches the proxy, and networkPolicy.from lets everybody reach it: name the addresses of the control plane" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if hasKey .Values.podAnnotations "checksum/config" -}}
{{- fail "podAnnotations has checksum/config, by which the pods follow their configuration; leave it out" -}}
{{- end -}}
{{- $memory := include "sallyport.goMemory" . -}}
{{- range .Values.extraEnv -}}
{{- if and $memory (eq .name "GOMEMLIMIT") -}}
{{- fail "extraEnv has GOMEMLIMIT, which is worked out from resources.limits.memory; leave one of them out" -}}
{{- end -}}
{{- end -}}
{{- $taken := include "sallyport.valueFlags" . | fromYamlArray -}}
{{- range $arg := .Values.extraArgs -}}
{{- $flag := regexReplaceAll "=.*$" $arg "" -}}
{{- range $taken -}}
{{- if eq $flag . -}}
{{- fail (printf "extraArgs has %s, which a value of the chart says; use that" $flag) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Flags that values stand for, or that names of the chart depend on, whether or not they are rendered. */}}
{{- define "sallyport.valueFlags" -}}
[--config, --addr, --tls-server-name, --insecure-http, --tls-cert-file, --tls-private-key-file, --client-ca-file, --auth-token-file, --callers, --caller-networks,
--certificate-secret, --service, --webhooks-ca-file, --shutdown-delay, --mode, --doors, --cluster-name,
--webhooks, --webhook-failure-policy, --webhook-configuration, --webhook-timeout, --webhook-start-namespaces,
--webhook-exclude-namespaces, --webhook-pod-kinds,
--pod-source, --decision-timeout, --max-staleness, --trusted-exception-namespaces, --module-cache,
--audit-log, --log-level, --log-format, --background-scan, --background-scan-reports,
--template-key-file, --registry-config, --notify-config, --controller-account,
--policies, --from, --watch-policies, --kubeconfig, --context, --leader-election-namespace]
{{- end -}}

{{/* A length of time, such as 1m30s, in milliseconds. */}}
{{- define "sallyport.milliseconds" -}}
{{- $all := 0.0 -}}
{{- range $part := regexFindAll "[0-9.]+(ms|s|m|h)" . -1 -}}
{{- $unit := regexFind "[a-z]+$" $part -}}
{{- $all = addf $all (mulf (trimSuffix $unit $part | float64) (get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) $unit)) -}}
{{- end -}}
{{- $all -}}
{{- end -}}
