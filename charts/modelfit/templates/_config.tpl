{{/* The settings file of both programs: .Values.config and the settings that follow from other values. */}}
{{- define "modelfit.config" -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- $_ := set $config "excludedNamespaces" (prepend (.Values.admission.excludedNamespaces | default list) "kube-system" | uniq) -}}
{{- with .Values.admission.includedNamespaces -}}
{{- $_ := set $config "includedNamespaces" . -}}
{{- end -}}
{{- if eq .Values.certificates.mode "controller" -}}
{{- $own := dict
      "secret" (include "modelfit.secret.name" .)
      "namespace" .Release.Namespace
      "service" (include "modelfit.service.name" .)
      "mutatingWebhookConfiguration" (include "modelfit.admission.name" .)
      "validatingWebhookConfiguration" (include "modelfit.admission.name" .)
      "caLifetimeDays" .Values.certificates.controller.caLifetimeDays
      "leafLifetimeDays" .Values.certificates.controller.leafLifetimeDays
      "propagationMinutes" .Values.certificates.controller.propagationMinutes -}}
{{- $_ := set $config "certificates" $own -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
