{{/* What all entries of both webhook configurations have in common:
     (dict "root" $ "path" "/mutate" "failurePolicy" "Fail"). */}}
{{- define "modelfit.admission.common" -}}
clientConfig:
  service:
    name: {{ include "modelfit.service.name" .root }}
    namespace: {{ .root.Release.Namespace }}
    port: {{ .root.Values.service.port }}
    path: {{ .path }}
  {{- if eq .root.Values.certificates.mode "secret" }}
  caBundle: {{ .root.Values.certificates.secret.caBundle | b64enc }}
  {{- end }}
admissionReviewVersions: [v1]
sideEffects: None
failurePolicy: {{ .failurePolicy }}
timeoutSeconds: {{ .root.Values.admission.timeoutSeconds }}
matchPolicy: Equivalent
# A cluster starts without its webhooks, and so do the webhooks themselves.
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
        {{- include "modelfit.admission.excluded" .root | nindent 8 }}
    - {key: llmfit.ai/inject, operator: NotIn, values: [disabled]}
{{- end -}}

{{/* The namespaces that the webhook leaves alone, a YAML list. */}}
{{- define "modelfit.admission.excluded" -}}
{{- concat (list "kube-system" .Release.Namespace) (.Values.admission.excludedNamespaces | default list) | uniq | toYaml -}}
{{- end -}}

{{/* The same for those that are asked about pods: (dict "root" $ "path" "/mutate"). Ends with the first match
     condition. */}}
{{- define "modelfit.admission.pods" -}}
{{ include "modelfit.admission.common" (merge (dict "failurePolicy" .root.Values.admission.failurePolicy) .) }}
objectSelector:
  matchExpressions:
    - {key: llmfit.ai/inject, operator: NotIn, values: [disabled]}
matchConditions:
  # Without the annotation nobody is called, so nobody has to be there to be called.
  - name: annotated
    expression: >-
      object != null && has(object.metadata.annotations) && 'llmfit.ai/model-fit' in object.metadata.annotations
{{- end -}}

{{/* CEL: of each workload in a list ("object, oldObject") the annotations of all in it that has any: of itself, in a
     CronJob of the template of its Jobs, and of the pod template. None of what is labelled to be left alone. */}}
{{- define "modelfit.admission.annotations" -}}
[{{ . }}].map(each, [each] + (has(each.spec) && has(each.spec.jobTemplate) ? [each.spec.jobTemplate] : []))
.map(makers, makers + makers.filter(maker, has(maker.spec) && has(maker.spec.template)).map(maker, maker.spec.template))
.map(all, all.filter(each, has(each.metadata)).map(each, each.metadata))
.map(all, all.map(metadata, !has(metadata.annotations) || (has(metadata.labels) &&
'llmfit.ai/inject' in metadata.labels && metadata.labels['llmfit.ai/inject'] == 'disabled') ? {} : metadata.annotations))
{{- end -}}

{{- define "modelfit.admission.metadata" -}}
metadata:
  name: {{ include "modelfit.admission.name" . }}
  labels:
    {{- include "modelfit.labels" (dict "root" . "component" "admission") | nindent 4 }}
  {{- $annotations := deepCopy (.Values.admission.annotations | default dict) }}
  {{- if eq .Values.certificates.mode "cert-manager" }}
  {{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "modelfit.secret.name" .)) }}
  {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
