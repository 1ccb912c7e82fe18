{{/* Parts of the pod templates of both Deployments. Each takes (dict "root" $ "component" "webhook"). */}}

{{- define "modelfit.podMetadata" -}}
{{- $own := dict (include "modelfit.config.annotation" .) (include "modelfit.config" .root) -}}
annotations:
  {{- merge $own (index .root.Values .component "podAnnotations" | default dict) | toYaml | nindent 2 }}
labels:
  {{- include "modelfit.podLabels" . | nindent 2 }}
{{- end -}}

{{/* The settings as a file. They are stored in the pod template, not in a ConfigMap: after a failed upgrade, recreated
     pods of the previous ReplicaSet keep their settings. */}}
{{- define "modelfit.configVolume" -}}
- name: config
  downwardAPI:
    items:
      - path: config.yaml
        fieldRef: {fieldPath: "metadata.annotations['{{ include "modelfit.config.annotation" . }}']"}
{{- end -}}

{{- define "modelfit.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  {{- with .root.Values.runAsUser }}
  runAsUser: {{ int64 . }}
  runAsGroup: {{ int64 . }}
  fsGroup: {{ int64 . }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "modelfit.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- define "modelfit.scheduling" -}}
{{- $values := index .root.Values .component -}}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range $values.topologySpreadConstraints }}
  {{- $selector := dict "matchLabels" (include "modelfit.selector" $ | fromYaml) }}
  - {{- merge (deepCopy .) (dict "labelSelector" $selector "matchLabelKeys" (list "pod-template-hash")) | toYaml | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "modelfit.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "modelfit.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "modelfit.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ index .root.Values .component "maxUnavailable" }}
  # Unready pods can be evicted, so that a broken rollout does not block a node drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "modelfit.selector" . | nindent 6 }}
{{- end -}}
