{{- define "gateway.name" -}}
{{- printf "%s" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "gateway.selector" -}}
app.kubernetes.io/name: gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
{{- define "gateway.secret" -}}
{{- .Values.secrets.existing | default (include "gateway.name" .) -}}
{{- end -}}
{{- define "gateway.check" -}}
{{- if and (not .Values.database.url) (or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled) -}}
{{- fail "Cannot run several replicas on one database file: set database.url" -}}
{{- end -}}
{{- if and .Values.secrets.external.enabled (not .Values.secrets.external.store.name) -}}
{{- fail "Cannot read external secrets: set secrets.external.store.name" -}}
{{- end -}}
{{- if and .Values.database.url (not .Values.secrets.existing) (not .Values.secrets.external.enabled) (not .Values.secrets.values.GATEWAY_MASTER_KEYS) -}}
{{- fail "Cannot use a database server without master keys: put GATEWAY_MASTER_KEYS into a Secret and name it in secrets.existing" -}}
{{- end -}}
{{- end -}}
