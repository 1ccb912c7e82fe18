{{/* Fields of every webhook in both configurations:
     (dict "root" $ "path" "/mutate" "failurePolicy" "Fail"). */}}
{{- define "modelfit.admission.common" -}}
clientConfig:
  service:
    name: {{ include "modelfit.service.name" .root | quote }}
    namespace: {{ .root.Release.Namespace | quote }}
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
# The control plane and the webhook itself must start without the webhook.
namespaceSelector:
  matchExpressions:
    {{- with .root.Values.admission.includedNamespaces }}
    - key: kubernetes.io/metadata.name
      operator: In
      values:
        {{- toYaml . | nindent 8 }}
    {{- end }}
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
        {{- include "modelfit.admission.excluded" .root | nindent 8 }}
    - {key: llmfit.ai/inject, operator: NotIn, values: [disabled]}
{{- end -}}

{{/* Namespaces in which the webhook is not called, as a YAML list. */}}
{{- define "modelfit.admission.excluded" -}}
{{- concat (list "kube-system" .Release.Namespace) (.Values.admission.excludedNamespaces | default list) | uniq | toYaml -}}
{{- end -}}

{{/* Fields of a webhook for pods: (dict "root" $ "path" "/mutate"). Ends with the first match condition, so that the
     caller can append others. With "entries" true, pods that name a claim under the alias match too; else all
     updates do. */}}
{{- define "modelfit.admission.pods" -}}
{{ include "modelfit.admission.common" (merge (dict "failurePolicy" .root.Values.admission.failurePolicy) .) }}
objectSelector:
  matchExpressions:
    - {key: llmfit.ai/inject, operator: NotIn, values: [disabled]}
matchConditions:
  {{- if .entries }}
  # Pods without the annotation do not depend on the webhook, except copies of injected pods that have lost the annotation
  # and kept the entry in spec.resourceClaims: they draw a warning.
  - name: annotated
    expression: >-
      object != null && ((has(object.metadata.annotations) && 'llmfit.ai/model-fit' in object.metadata.annotations) ||
      (has(object.spec) && has(object.spec.resourceClaims) &&
      object.spec.resourceClaims.exists(claim, claim.name == 'modelfit')))
  {{- else }}
  # Pods without the annotation do not depend on the webhook, except for updates of what the webhook has set; see below.
  - name: annotated
    expression: >-
      object != null && (request.operation == 'UPDATE' ||
      (has(object.metadata.annotations) && 'llmfit.ai/model-fit' in object.metadata.annotations))
  {{- end }}
{{- end -}}

{{/* CEL: for each workload in the list ("object, oldObject"), a list with the annotations of the workload, of the job
     template (CronJob) and of the pod template. Metadata labelled `llmfit.ai/inject: disabled` counts as `{}`. */}}
{{- define "modelfit.admission.annotations" -}}
[{{ . }}].map(each, [each] + (has(each.spec) && has(each.spec.jobTemplate) ? [each.spec.jobTemplate] : []))
.map(owners, owners + owners.filter(owner, has(owner.spec) && has(owner.spec.template)).map(owner, owner.spec.template))
.map(all, all.filter(each, has(each.metadata)).map(each, each.metadata))
.map(all, all.map(metadata, !has(metadata.annotations) || (has(metadata.labels) &&
'llmfit.ai/inject' in metadata.labels && metadata.labels['llmfit.ai/inject'] == 'disabled') ? {} : metadata.annotations))
{{- end -}}

{{- define "modelfit.admission.metadata" -}}
metadata:
  name: {{ include "modelfit.admission.name" . | quote }}
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
