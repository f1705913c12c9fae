{{/* A label has 63 characters at most, also with "-operator" behind it. */}}
{{- define "tandem.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 54 | trimSuffix "-" -}}
{{- end -}}

{{/* The operator's objects are called so: the release's name, which says "tandem" already or gets it. */}}
{{- define "tandem.fullname" -}}
{{- $name := include "tandem.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* A Service's name begins with a letter (DNS-1035), a release's may begin with a digit. */}}
{{- define "tandem.serviceName" -}}
{{- $name := include "tandem.fullname" . -}}
{{- if regexMatch "^[0-9]" $name }}metrics-{{ $name }}{{ else }}{{ $name }}-metrics{{ end -}}
{{- end -}}

{{- define "tandem.selectorLabels" -}}
app.kubernetes.io/name: {{ printf "%s-operator" (include "tandem.name" .) }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "tandem.labels" -}}
{{ include "tandem.selectorLabels" . }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: tandem
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tandem.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tandem.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "tandem.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{/* The watched namespaces, comma-separated; empty: all. */}}
{{- define "tandem.namespaces" -}}
{{- if .Values.watchNamespaces -}}
{{- join "," .Values.watchNamespaces -}}
{{- else if .Values.rbac.namespaced -}}
{{- .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{- define "tandem.args" -}}
{{- with include "tandem.namespaces" . }}
- --namespaces={{ . }}
{{- end }}
{{- end -}}

{{/* What every container of this chart may do: nothing. */}}
{{- define "tandem.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* A user or group as digits (a large number would be written as 1e+09); "" if the platform is to choose. */}}
{{- define "tandem.id" -}}
{{- /* Values of a release from before there was this section (helm upgrade --reuse-values) have none. */ -}}
{{- $ids := default (dict "runAsUser" 65532 "runAsGroup" 65532 "fsGroup" 65532) .context.Values.securityContext -}}
{{- if kindIs "map" .context.Values.securityContext }}{{ $ids = .context.Values.securityContext }}{{ end -}}
{{- $id := get $ids .name -}}{{- /* "" if it is not there */ -}}
{{- if not (or (kindIs "invalid" $id) (kindIs "string" $id)) }}{{ $id | int64 }}{{ end -}}
{{- end -}}

{{- define "tandem.podSecurityContext" -}}
runAsNonRoot: true
{{- range $name := list "runAsUser" "runAsGroup" "fsGroup" }}
{{- $id := include "tandem.id" (dict "context" $ "name" $name) }}
{{- with $id }}
{{ $name }}: {{ . }}
{{- end }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Those asked for, and of a lost node the same as jobs' pods have: 5 s, unless one asked for speaks of that taint. */}}
{{- define "tandem.tolerations" -}}
{{- $all := .Values.operator.tolerations -}}
{{- range $taint := list "node.kubernetes.io/not-ready" "node.kubernetes.io/unreachable" -}}
{{- $given := false -}}
{{- range $.Values.operator.tolerations -}}
{{- if and (has .key (list nil "" $taint)) (has .effect (list nil "" "NoExecute")) -}}
{{- $given = true -}}
{{- end -}}
{{- end -}}
{{- if not $given -}}
{{- $all = append $all (dict "key" $taint "operator" "Exists" "effect" "NoExecute" "tolerationSeconds" 5) -}}
{{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}

{{/* Fails with a remedy, instead of leaving out silently what was asked for. */}}
{{- define "tandem.needsPrometheusOperator" -}}
{{- if not (.context.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") -}}
{{- fail (printf "%s needs the CRDs of the Prometheus operator (monitoring.coreos.com/v1), which this cluster does not have: install them, or set it to false (for helm template: --api-versions monitoring.coreos.com/v1)" .value) -}}
{{- end -}}
{{- end -}}

{{/* Whether the alerts come as a PrometheusRule: "true" or nothing. Where nobody scrapes, all that it could say is OperatorDown. */}}
{{- define "tandem.hasPrometheusRule" -}}
{{- $asked := toString .Values.alerts.prometheusRule.enabled -}}
{{- if or (eq $asked "true") (and (eq $asked "auto") .Values.metrics.serviceMonitor.enabled) -}}true{{- end -}}
{{- end -}}

{{/* Whether they come as a file in a ConfigMap. */}}
{{- define "tandem.hasAlertsFile" -}}
{{- $asked := toString .Values.alerts.configMap.enabled -}}
{{- if or (eq $asked "true") (and (eq $asked "auto") (not (include "tandem.hasPrometheusRule" .))) -}}true{{- end -}}
{{- end -}}

{{- define "tandem.alertGroups" -}}
groups:
  - name: tandem
    rules:
{{- range $path, $_ := .Files.Glob "alerts/*.yaml" }}
{{- $rule := $.Files.Get $path | fromYaml }}
{{- with $.Values.alerts.runbookBaseUrl }}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s/%s" (trimSuffix "/" .) $rule.annotations.runbook_url) }}
{{- end }}
      - {{ toYaml $rule | nindent 8 | trim }}
{{- end }}
  - name: tandem-jobs
    rules:
{{- range $path, $_ := .Files.Glob "recording/*.yaml" }}
      - {{ $.Files.Get $path | fromYaml | toYaml | nindent 8 | trim }}
{{- end }}
{{- end -}}
