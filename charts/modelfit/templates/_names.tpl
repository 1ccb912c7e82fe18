{{/* The one place for every name. A name that is used in two objects is spelled here, and nowhere else. */}}

{{/* Name of the release's objects: a DNS label that begins with a letter, at most 50 characters, so that what is put
     after it (11 characters at most) fits the 63 of a Service or a label. A release may be named `7b` or `a.b`. */}}
{{- define "modelfit.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $name = ternary .Release.Name (printf "%s-%s" .Release.Name $chart) (contains $chart .Release.Name) -}}
{{- $name = replace "." "-" $name -}}
{{- if not (regexMatch "^[a-z]" $name) -}}{{- $name = printf "modelfit-%s" $name -}}{{- end -}}
{{- end -}}
{{- if gt (len $name) 50 -}}
{{- $name = printf "%s-%s" (trunc 41 $name | trimSuffix "-") (sha256sum $name | trunc 8) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "modelfit.webhook.name" -}}{{ include "modelfit.fullname" . }}-webhook{{- end -}}
{{- define "modelfit.controller.name" -}}{{ include "modelfit.fullname" . }}-controller{{- end -}}
{{- define "modelfit.authority.name" -}}{{ include "modelfit.fullname" . }}-ca{{- end -}}
{{- define "modelfit.test.name" -}}{{ include "modelfit.fullname" . }}-helm-test{{- end -}}

{{/* The Service is what the certificate is made for, so it has the plain name. */}}
{{- define "modelfit.service.name" -}}{{ include "modelfit.fullname" . }}{{- end -}}
{{- define "modelfit.service.host" -}}{{ include "modelfit.service.name" . }}.{{ .Release.Namespace }}.svc{{- end -}}
{{- define "modelfit.admission.name" -}}{{ include "modelfit.fullname" . }}{{- end -}}

{{/* The Secret that the webhook serves from. */}}
{{- define "modelfit.secret.name" -}}
{{- if eq .Values.certificates.mode "secret" -}}{{ .Values.certificates.secret.name }}
{{- else -}}{{ include "modelfit.fullname" . }}-tls{{- end -}}
{{- end -}}

{{/* Where the settings are in a pod's metadata. */}}
{{- define "modelfit.config.annotation" -}}modelfit.llmfit.ai/config{{- end -}}

{{/* The lock of the controllers' leader election. */}}
{{- define "modelfit.lease.name" -}}{{ include "modelfit.controller.name" . }}{{- end -}}

{{- define "modelfit.image" -}}
{{- if .Values.image.digest -}}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{- end -}}
{{- end -}}

