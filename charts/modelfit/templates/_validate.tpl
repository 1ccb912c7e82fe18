{{/* Fails on values that are missing or contradict each other, with all errors at once. values.schema.json checks single
     values. */}}
{{- define "modelfit.validate" -}}
{{- $errors := list -}}
{{- if not .Values.image.repository -}}
{{- $errors = append $errors "image.repository is empty; build the image from the Dockerfile, push it to your registry and set its name, such as registry.example/modelfit" -}}
{{- end -}}
{{- $c := .Values.certificates -}}
{{- if eq $c.mode "secret" -}}
  {{- if not $c.secret.name -}}
  {{- $errors = append $errors "certificates.mode is secret, so certificates.secret.name must name the Secret that holds tls.crt and tls.key" -}}
  {{- end -}}
  {{- if not $c.secret.caBundle -}}
  {{- $errors = append $errors "certificates.mode is secret, so certificates.secret.caBundle must hold the CA that the API server verifies the certificate with (--set-file certificates.secret.caBundle=ca.crt)" -}}
  {{- end -}}
{{- else if or $c.secret.name $c.secret.caBundle -}}
  {{- $errors = append $errors (printf "certificates.secret is set but certificates.mode is %s; set certificates.mode to secret or leave certificates.secret empty" $c.mode) -}}
{{- end -}}
{{- if and $c.certManager.issuerRef (ne $c.mode "cert-manager") -}}
  {{- $errors = append $errors (printf "certificates.certManager.issuerRef is set but certificates.mode is %s; set certificates.mode to cert-manager or leave the issuerRef empty" $c.mode) -}}
{{- end -}}
{{- if and $c.certManager.issuerRef (not $c.certManager.issuerRef.name) -}}
  {{- $errors = append $errors "certificates.certManager.issuerRef has no name; name an Issuer or ClusterIssuer, or leave the issuerRef empty" -}}
{{- end -}}
{{- if and (eq $c.mode "controller") (lt (int $c.controller.caLifetimeDays) (mul 3 (int $c.controller.leafLifetimeDays) | int)) -}}
  {{- $errors = append $errors (printf "certificates.controller.caLifetimeDays is %d, less than three times leafLifetimeDays (%d), so the CAs could not overlap during a rotation" (int $c.controller.caLifetimeDays) (int $c.controller.leafLifetimeDays)) -}}
{{- end -}}
{{- if and .Values.monitoring.alerts.enabled (not .Values.monitoring.enabled) -}}
  {{- $errors = append $errors "monitoring.alerts.enabled is true but monitoring.enabled is not, so nothing is scraped and ModelfitWebhookDown always fires; if you scrape by other means, apply files/alerts yourself" -}}
{{- end -}}
{{- if and .Values.webhook.clientCA.names (not .Values.webhook.clientCA.configMap) -}}
{{- $errors = append $errors "webhook.clientCA.names is set but webhook.clientCA.configMap is not, so no client certificate is verified; name the ConfigMap with the CA" -}}
{{- end -}}
{{- with .Values.networkPolicy -}}
{{- if and (not .enabled) (or .apiServerCIDRs .webhookSourceCIDRs .metricsFrom) -}}
  {{- $errors = append $errors "networkPolicy.enabled is false, so nothing limits traffic to networkPolicy.apiServerCIDRs, webhookSourceCIDRs or metricsFrom; enable it or leave them empty" -}}
{{- end -}}
{{- if and .webhookSourceCIDRs (not .metricsFrom) $.Values.monitoring.enabled -}}
  {{- $errors = append $errors "networkPolicy.webhookSourceCIDRs closes the webhook's port, which also has its metrics, to Prometheus; name Prometheus in networkPolicy.metricsFrom" -}}
{{- end -}}
{{- if and .webhookSourceCIDRs $.Values.webhook.hostNetwork -}}
  {{- $errors = append $errors "networkPolicy.webhookSourceCIDRs has no effect with webhook.hostNetwork: a NetworkPolicy does not apply to pods in the nodes' network; use the nodes' firewall" -}}
{{- end -}}
{{- end -}}
{{- $config := .Values.config | default dict -}}
{{- $own := $config.profiles | default dict -}}
{{- range $name, $profile := $own -}}
  {{- range $profile.partitionClasses -}}
  {{- if not (has . $profile.deviceClasses) -}}
  {{- $errors = append $errors (printf "config.profiles.%s.partitionClasses has %s, which is not in its deviceClasses" $name .) -}}
  {{- end -}}
  {{- end -}}
  {{- if hasKey ($profile.shares | default dict) ($profile.capacity | default "memory") -}}
  {{- $errors = append $errors (printf "config.profiles.%s.shares names the capacity that holds GPU memory; name only other capacities" $name) -}}
  {{- end -}}
{{- end -}}
{{- with .Values.webhook -}}
{{- if .autoscaling.enabled -}}
  {{- if gt (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas) -}}
  {{- $errors = append $errors (printf "webhook.autoscaling.minReplicas (%d) is more than maxReplicas (%d)" (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas)) -}}
  {{- end -}}
  {{- if not (dig "requests" "cpu" "" (.resources | default dict)) -}}
  {{- $errors = append $errors "webhook.autoscaling targets a percentage of the CPU request, so webhook.resources.requests.cpu must be set" -}}
  {{- end -}}
{{- end -}}
{{- end -}}
{{- if $errors -}}
{{- fail (printf "\n\nmodelfit: these values cannot be installed:\n- %s\n" (join "\n- " $errors)) -}}
{{- end -}}
{{- end -}}
