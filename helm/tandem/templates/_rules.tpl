{{/*
What the operator may do in a watched namespace. Of jobs it writes the status, and the finalizer of those that take their
topics with them: Kubernetes knows no smaller right for that. Of a job with lanes it makes a job for each lane. It watches jobs and pods; what else a job owns it lists now and
then (owned.py). Revisions and events are never changed. It reads no Secret: the kubelet gives them to the pods that name them.
*/}}
{{- define "tandem.namespacedRules" -}}
- apiGroups: [tandem.dev]
  resources: [replicatedstreamjobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [tandem.dev]
  resources: [replicatedstreamjobs/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete{{ if .Values.executors.enabled }}, deletecollection{{ end }}]
- apiGroups: [""]
  resources: [configmaps, services, serviceaccounts]
  verbs: [get, list, create, patch, delete]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, list, create, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, create, patch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- if .Values.executors.enabled }}
# A driver may manage its executors by a Role. Kubernetes lets nobody grant what he may not do himself: hence deletecollection.
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, list, create, patch, delete]
{{- end }}
{{- end -}}
