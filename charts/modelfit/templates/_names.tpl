{{/* Object names. Each name is defined once, here. */}}

{{/* Base name of the release's objects: a DNS label that begins with a letter, at most 50 characters, so that a suffix of
     up to 11 characters fits the limit of 63 for Services and labels. A release may be named `7b` or `a.b`. */}}
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
{{- define "modelfit.ca.name" -}}{{ include "modelfit.fullname" . }}-ca{{- end -}}
{{- define "modelfit.test.name" -}}{{ include "modelfit.fullname" . }}-helm-test{{- end -}}

{{/* The certificate is issued for the Service name. */}}
{{- define "modelfit.service.name" -}}{{ include "modelfit.fullname" . }}{{- end -}}
{{- define "modelfit.service.host" -}}{{ include "modelfit.service.name" . }}.{{ .Release.Namespace }}.svc{{- end -}}
{{- define "modelfit.admission.name" -}}{{ include "modelfit.fullname" . }}{{- end -}}

{{/* The Secret with the webhook's certificate. */}}
{{- define "modelfit.secret.name" -}}
{{- if eq .Values.certificates.mode "secret" -}}{{ .Values.certificates.secret.name }}
{{- else -}}{{ include "modelfit.fullname" . }}-tls{{- end -}}
{{- end -}}

{{/* The pod annotation that holds the settings. */}}
{{- define "modelfit.config.annotation" -}}modelfit.llmfit.ai/config{{- end -}}

{{/* The Lease for the controller's leader election. */}}
{{- define "modelfit.lease.name" -}}{{ include "modelfit.controller.name" . }}{{- end -}}

{{- define "modelfit.image" -}}
{{- if .Values.image.digest -}}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{- end -}}
{{- end -}}

