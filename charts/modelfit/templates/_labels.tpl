{{/* Labels. Each takes (dict "root" $ "component" "webhook"). */}}

{{/* What selects a component's pods. Never changes: a Deployment's selector can't. */}}
{{- define "modelfit.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Of every object. The chart's own win over commonLabels, or a selector would miss its pods. */}}
{{- define "modelfit.labels" -}}
{{- $own := include "modelfit.selector" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- merge $own (.root.Values.commonLabels | default dict) | toYaml -}}
{{- end -}}

{{/* Of a pod: not the chart's version, so that a new chart alone restarts nothing. */}}
{{- define "modelfit.podLabels" -}}
{{- $own := include "modelfit.selector" . | fromYaml -}}
{{- merge $own (index .root.Values .component "podLabels" | default dict) (.root.Values.commonLabels | default dict) | toYaml -}}
{{- end -}}
