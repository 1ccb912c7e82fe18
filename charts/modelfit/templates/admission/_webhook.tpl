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
        {{- concat (list "kube-system" .root.Release.Namespace) .root.Values.admission.excludedNamespaces | uniq | toYaml | nindent 8 }}
    - {key: llmfit.ai/inject, operator: NotIn, values: [disabled]}
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

{{/* CEL: of each workload in a list ("object, oldObject") what the annotations of its pod template ask of us, the fit
     first; nothing where the template is labelled to be left alone. In a CronJob it stands inside another template. */}}
{{- define "modelfit.admission.asked" -}}
[{{ . }}].map(each, has(each.spec) ? each.spec : {})
.map(spec, has(spec.jobTemplate) && has(spec.jobTemplate.spec) ? spec.jobTemplate.spec : spec)
.map(spec, has(spec.template) && has(spec.template.metadata) ? spec.template.metadata : {})
.map(metadata, !has(metadata.annotations) || (has(metadata.labels) && 'llmfit.ai/inject' in metadata.labels &&
metadata.labels['llmfit.ai/inject'] == 'disabled') ? {} : metadata.annotations)
.map(annotations, ['llmfit.ai/model-fit', 'llmfit.ai/containers', 'llmfit.ai/profile', 'llmfit.ai/device-count']
.map(key, key in annotations ? [annotations[key]] : []))
{{- end -}}

{{- define "modelfit.admission.metadata" -}}
metadata:
  name: {{ include "modelfit.admission.name" . }}
  labels:
    {{- include "modelfit.labels" (dict "root" . "component" "admission") | nindent 4 }}
  {{- $annotations := deepCopy .Values.admission.annotations }}
  {{- if eq .Values.certificates.mode "cert-manager" }}
  {{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "modelfit.secret.name" .)) }}
  {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
