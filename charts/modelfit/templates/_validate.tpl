{{/* Values that contradict each other. What one value alone may be is values.schema.json's part. All faults at once. */}}
{{- define "modelfit.validate" -}}
{{- $faults := list -}}
{{- $c := .Values.certificates -}}
{{- if eq $c.mode "secret" -}}
  {{- if not $c.secret.name -}}
  {{- $faults = append $faults "certificates.mode is secret, so certificates.secret.name must name the Secret that holds tls.crt and tls.key" -}}
  {{- end -}}
  {{- if not $c.secret.caBundle -}}
  {{- $faults = append $faults "certificates.mode is secret, so certificates.secret.caBundle must hold the authority that the API server checks the certificate against (--set-file certificates.secret.caBundle=ca.crt)" -}}
  {{- end -}}
{{- else if or $c.secret.name $c.secret.caBundle -}}
  {{- $faults = append $faults (printf "certificates.secret is set but certificates.mode is %s; set certificates.mode to secret or leave certificates.secret empty" $c.mode) -}}
{{- end -}}
{{- if and $c.certManager.issuerRef (ne $c.mode "cert-manager") -}}
  {{- $faults = append $faults (printf "certificates.certManager.issuerRef is set but certificates.mode is %s; set certificates.mode to cert-manager or leave the issuerRef empty" $c.mode) -}}
{{- end -}}
{{- if and $c.certManager.issuerRef (not $c.certManager.issuerRef.name) -}}
  {{- $faults = append $faults "certificates.certManager.issuerRef has no name; name an Issuer or ClusterIssuer, or leave the issuerRef empty" -}}
{{- end -}}
{{- if and (eq $c.mode "controller") (lt (int $c.controller.caLifetimeDays) (mul 3 (int $c.controller.leafLifetimeDays) | int)) -}}
  {{- $faults = append $faults (printf "certificates.controller.caLifetimeDays is %d, less than three times leafLifetimeDays (%d), so a rotation would have no room for its overlap" (int $c.controller.caLifetimeDays) (int $c.controller.leafLifetimeDays)) -}}
{{- end -}}
{{- if and .Values.monitoring.alerts.enabled (not .Values.monitoring.enabled) -}}
  {{- $faults = append $faults "monitoring.alerts.enabled is true but monitoring.enabled is not, so nothing would be scraped and ModelfitWebhookDown would fire for ever; where you scrape by other means, apply files/alerts yourself" -}}
{{- end -}}
{{- $config := .Values.config | default dict -}}
{{- $own := $config.profiles | default dict -}}
{{- $known := concat (include "modelfit.profiles" . | splitList " ") (keys $own) | uniq | sortAlpha -}}
{{- if and $config.profile (not (has $config.profile $known)) -}}
  {{- $faults = append $faults (printf "config.profile is %s, which is neither a built-in profile nor in config.profiles; one of %s" $config.profile (join ", " $known)) -}}
{{- end -}}
{{- range $name, $profile := $own -}}
  {{- range $profile.partitionClasses -}}
  {{- if not (has . $profile.deviceClasses) -}}
  {{- $faults = append $faults (printf "config.profiles.%s.partitionClasses has %s, which is not in its deviceClasses" $name .) -}}
  {{- end -}}
  {{- end -}}
  {{- if hasKey ($profile.shares | default dict) ($profile.capacity | default "memory") -}}
  {{- $faults = append $faults (printf "config.profiles.%s.shares has the capacity that holds GPU memory; name other ones" $name) -}}
  {{- end -}}
{{- end -}}
{{- with .Values.webhook -}}
{{- if .autoscaling.enabled -}}
  {{- if gt (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas) -}}
  {{- $faults = append $faults (printf "webhook.autoscaling.minReplicas (%d) is more than maxReplicas (%d)" (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas)) -}}
  {{- end -}}
  {{- if not (dig "requests" "cpu" "" (.resources | default dict)) -}}
  {{- $faults = append $faults "webhook.autoscaling aims at a share of the CPU request, so webhook.resources.requests.cpu must be set" -}}
  {{- end -}}
{{- end -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "\n\nmodelfit: these values contradict each other:\n- %s\n" (join "\n- " $faults)) -}}
{{- end -}}
{{- end -}}

{{/* The built-in device profiles. */}}
{{- define "modelfit.profiles" -}}
nvidia nvidia-mig amd intel llmfit hami example
{{- end -}}
