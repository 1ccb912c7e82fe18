{{/* Labels. Each takes (dict "root" $ "component" "webhook"). */}}

{{/* Selector of a component's pods. Must not change, because a Deployment's selector is immutable. */}}
{{- define "modelfit.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Labels of every object. The chart's own labels take precedence over commonLabels, so that selectors match. */}}
{{- define "modelfit.labels" -}}
{{- $own := include "modelfit.selector" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- merge $own (.root.Values.commonLabels | default dict) | toYaml -}}
{{- end -}}

{{/* Labels of a pod, without the chart version, so that a new chart version alone does not restart pods. */}}
{{- define "modelfit.podLabels" -}}
{{- $own := include "modelfit.selector" . | fromYaml -}}
{{- merge $own (index .root.Values .component "podLabels" | default dict) (.root.Values.commonLabels | default dict) | toYaml -}}
{{- end -}}
