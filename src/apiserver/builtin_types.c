#include "apiserver/builtin_types.h"

#include <stddef.h>

/* clang-format off: one type a row */
const struct builtin_type builtin_types[] = {
    {"ObjectMeta", true, false,
     "name:s generateName:s namespace:s selfLink:s uid:s resourceVersion:s generation:l "
     "creationTimestamp:t deletionTimestamp:t deletionGracePeriodSeconds:l labels:m annotations:m "
     "ownerReferences:[OwnerReference/uid] finalizers:u managedFields:[Any]"},
    {"OwnerReference", true, true,
     "apiVersion:s! kind:s! name:s! uid:s! controller:b blockOwnerDeletion:b"},
    {"Any", false, false, ""},
    {"Named", false, false, "name:s!"},
    {"Condition", false, false,
     "type:s! status:s! reason:s message:s observedGeneration:l lastTransitionTime:t "
     "lastUpdateTime:t lastProbeTime:t lastHeartbeatTime:t"},
    {"LabelSelector", true, true, "matchLabels:m matchExpressions:[LabelRequirement]"},
    {"LabelRequirement", true, false, "key:s! operator:s(In|NotIn|Exists|DoesNotExist)! values:a"},
    {"LocalReference", true, true, "name:s="},
    {"TypedReference", true, true, "apiGroup:s kind:s! name:s! namespace:s"},
    {"SecretReference", true, true,
     "apiVersion:s kind:s name:s! namespace:s uid:s resourceVersion:s fieldPath:s"},
    {"ObjectReference", true, true,
     "apiVersion:s kind:s name:s namespace:s uid:s resourceVersion:s fieldPath:s"},

    /* pods */
    {"PodTemplateSpec", true, false, "metadata:ObjectMeta spec:PodSpec"},
    {"PodSpec", false, false,
     "volumes:[Volume/name]~ initContainers:[Container/name] containers:[Container/name]! "
     "ephemeralContainers:[Named/name] restartPolicy:s(Always|OnFailure|Never)=Always "
     "terminationGracePeriodSeconds:l=30 activeDeadlineSeconds:l "
     "dnsPolicy:s(ClusterFirst|ClusterFirstWithHostNet|Default|None)=ClusterFirst nodeSelector:m "
     "serviceAccountName:s serviceAccount:s automountServiceAccountToken:b nodeName:s "
     "hostNetwork:b hostPID:b hostIPC:b shareProcessNamespace:b securityContext:PodSecurity={} "
     "imagePullSecrets:[LocalReference/name] hostname:s subdomain:s affinity:Affinity "
     "schedulerName:s=default-scheduler tolerations:[Toleration] hostAliases:[HostAlias/ip] "
     "priorityClassName:s priority:i dnsConfig:Any readinessGates:[ReadinessGate] "
     "runtimeClassName:s enableServiceLinks:b preemptionPolicy:s overhead:M "
     "topologySpreadConstraints:[SpreadConstraint/topologyKey,whenUnsatisfiable] "
     "setHostnameAsFQDN:b os:Any hostUsers:b schedulingGates:[Named/name] "
     "resourceClaims:[Named/name]~ resources:Resources"},
    {"PodSecurity", false, false,
     "runAsUser:l runAsGroup:l runAsNonRoot:b fsGroup:l fsGroupChangePolicy:s "
     "supplementalGroups:n seccompProfile:Any seLinuxOptions:Any sysctls:[Any]"},
    {"HostAlias", true, false, "ip:s! hostnames:a"},
    {"ReadinessGate", true, false, "conditionType:s!"},
    {"Toleration", true, false,
     "key:s operator:s value:s effect:s(NoSchedule|PreferNoSchedule|NoExecute) "
     "tolerationSeconds:l"},
    {"SpreadConstraint", true, false,
     "maxSkew:i! topologyKey:s! whenUnsatisfiable:s(DoNotSchedule|ScheduleAnyway)! "
     "labelSelector:LabelSelector minDomains:i nodeAffinityPolicy:s nodeTaintsPolicy:s "
     "matchLabelKeys:a"},
    {"Affinity", true, false,
     "nodeAffinity:NodeAffinity podAffinity:PodAffinity "
     "podAntiAffinity:PodAffinity"},
    {"NodeAffinity", true, false,
     "requiredDuringSchedulingIgnoredDuringExecution:NodeSelector "
     "preferredDuringSchedulingIgnoredDuringExecution:[PreferredNode]"},
    {"NodeSelector", true, true, "nodeSelectorTerms:[NodeSelectorTerm]!"},
    {"NodeSelectorTerm", true, true,
     "matchExpressions:[NodeRequirement] matchFields:[NodeRequirement]"},
    {"NodeRequirement", true, false,
     "key:s! operator:s(In|NotIn|Exists|DoesNotExist|Gt|Lt)! values:a"},
    {"PreferredNode", true, false, "weight:i! preference:NodeSelectorTerm!"},
    {"PodAffinity", true, false,
     "requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm] "
     "preferredDuringSchedulingIgnoredDuringExecution:[PreferredPod]"},
    {"PodAffinityTerm", true, false,
     "labelSelector:LabelSelector namespaces:a topologyKey:s! namespaceSelector:LabelSelector "
     "matchLabelKeys:a mismatchLabelKeys:a"},
    {"PreferredPod", true, false, "weight:i! podAffinityTerm:PodAffinityTerm!"},
    {"Container", true, false,
     "name:s! image:s command:a args:a workingDir:s "
     "ports:[ContainerPort/containerPort,protocol] envFrom:[EnvFrom] env:[EnvVar/name] "
     "resources:Resources={} resizePolicy:[Any] restartPolicy:s restartPolicyRules:[Any] "
     "volumeMounts:[VolumeMount/mountPath] volumeDevices:[VolumeDevice/devicePath] "
     "livenessProbe:Probe readinessProbe:Probe startupProbe:Probe lifecycle:Lifecycle "
     "terminationMessagePath:s=/dev/termination-log "
     "terminationMessagePolicy:s(File|FallbackToLogsOnError)=File "
     "imagePullPolicy:s(Always|IfNotPresent|Never) securityContext:Any stdin:b stdinOnce:b tty:b"},
    {"ContainerPort", true, false,
     "containerPort:i! name:s hostPort:i protocol:s(TCP|UDP|SCTP)=TCP hostIP:s"},
    {"EnvVar", true, false, "name:s! value:s valueFrom:EnvSource"},
    {"EnvSource", false, false,
     "fieldRef:FieldRef resourceFieldRef:ResourceFieldRef configMapKeyRef:KeyRef "
     "secretKeyRef:KeyRef fileKeyRef:Any"},
    {"FieldRef", true, true, "apiVersion:s=v1 fieldPath:s!"},
    {"ResourceFieldRef", true, true, "containerName:s resource:s! divisor:q"},
    {"KeyRef", true, true, "name:s key:s! optional:b"},
    {"EnvFrom", true, false, "prefix:s configMapRef:OptionalRef secretRef:OptionalRef"},
    {"OptionalRef", true, false, "name:s optional:b"},
    {"Resources", true, false, "limits:M requests:M claims:[ResourceClaim/name]"},
    {"ResourceClaim", true, false, "name:s! request:s"},
    {"VolumeMount", true, false,
     "name:s! mountPath:s! readOnly:b recursiveReadOnly:s subPath:s subPathExpr:s "
     "mountPropagation:s"},
    {"VolumeDevice", true, false, "name:s! devicePath:s!"},
    {"Probe", true, false,
     "exec:Exec httpGet:HttpGet tcpSocket:TcpSocket grpc:Grpc initialDelaySeconds:i "
     "timeoutSeconds:i=1 periodSeconds:i=10 successThreshold:i=1 failureThreshold:i=3 "
     "terminationGracePeriodSeconds:l"},
    {"Exec", true, false, "command:a"},
    {"HttpGet", true, false, "path:s=/ port:x! host:s scheme:s=HTTP httpHeaders:[Any]"},
    {"TcpSocket", true, false, "port:x! host:s"},
    {"Grpc", true, false, "port:i! service:s="},
    {"Lifecycle", false, false, "postStart:Handler preStop:Handler"},
    {"Handler", true, false, "exec:Exec httpGet:HttpGet tcpSocket:TcpSocket sleep:Any"},
    {"Volume", false, false,
     "name:s! emptyDir:Any hostPath:Any secret:SecretVolume configMap:ConfigMapVolume "
     "persistentVolumeClaim:ClaimVolume projected:ProjectedVolume downwardAPI:DownwardVolume"},
    {"SecretVolume", true, false, "secretName:s items:[KeyToPath] defaultMode:i=420 optional:b"},
    {"ConfigMapVolume", true, false, "name:s items:[KeyToPath] defaultMode:i=420 optional:b"},
    {"KeyToPath", true, false, "key:s! path:s! mode:i"},
    {"ClaimVolume", true, false, "claimName:s! readOnly:b"},
    {"ProjectedVolume", true, false, "sources:[Any] defaultMode:i=420"},
    {"DownwardVolume", true, false, "items:[Any] defaultMode:i=420"},
    {"PodStatus", false, false,
     "phase:s conditions:[Condition/type] message:s reason:s hostIP:s podIP:s startTime:t "
     "hostIPs:[PodIP] podIPs:[PodIP/ip] qosClass:s containerStatuses:[ContainerStatus] "
     "initContainerStatuses:[ContainerStatus] observedGeneration:l nominatedNodeName:s"},
    {"PodIP", true, false, "ip:s!"},
    {"ContainerStatus", false, false,
     "name:s! ready:b restartCount:i image:s imageID:s containerID:s started:b state:Any "
     "lastState:Any"},

    /* workloads */
    {"DeploymentSpec", true, false,
     "replicas:i=1 selector:LabelSelector! template:PodTemplateSpec! strategy:Strategy~ "
     "minReadySeconds:i revisionHistoryLimit:i=10 paused:b progressDeadlineSeconds:i=600"},
    {"Strategy", true, false, "type:s(Recreate|RollingUpdate) rollingUpdate:RollingUpdate"},
    {"RollingUpdate", true, false, "maxUnavailable:x maxSurge:x partition:i"},
    {"WorkloadStatus", false, false,
     "observedGeneration:l replicas:i updatedReplicas:i readyReplicas:i availableReplicas:i "
     "unavailableReplicas:i currentReplicas:i fullyLabeledReplicas:i terminatingReplicas:i "
     "currentRevision:s updateRevision:s collisionCount:i conditions:[Condition/type] "
     "currentNumberScheduled:i numberMisscheduled:i desiredNumberScheduled:i numberReady:i "
     "updatedNumberScheduled:i numberAvailable:i numberUnavailable:i"},
    {"StatefulSetSpec", true, false,
     "replicas:i=1 selector:LabelSelector! template:PodTemplateSpec! "
     "volumeClaimTemplates:[Claim] serviceName:s "
     "podManagementPolicy:s(OrderedReady|Parallel)=OrderedReady "
     "updateStrategy:StatefulStrategy revisionHistoryLimit:i=10 minReadySeconds:i "
     "persistentVolumeClaimRetentionPolicy:Retention={} ordinals:Ordinals"},
    {"StatefulStrategy", true, false, "type:s(RollingUpdate|OnDelete) rollingUpdate:RollingUpdate"},
    {"Retention", true, false,
     "whenDeleted:s(Retain|Delete)=Retain whenScaled:s(Retain|Delete)=Retain"},
    {"Ordinals", true, false, "start:i"},
    {"Claim", false, false,
     "apiVersion:s=v1 kind:s=PersistentVolumeClaim metadata:ObjectMeta spec:ClaimSpec "
     "status:Any={\"phase\":\"Pending\"}"},
    {"ClaimSpec", false, false,
     "accessModes:a selector:LabelSelector resources:Resources volumeName:s storageClassName:s "
     "volumeMode:s=Filesystem"},
    {"ReplicaSetSpec", true, false,
     "replicas:i=1 minReadySeconds:i selector:LabelSelector! template:PodTemplateSpec"},
    {"DaemonSetSpec", true, false,
     "selector:LabelSelector! template:PodTemplateSpec! updateStrategy:StatefulStrategy "
     "minReadySeconds:i revisionHistoryLimit:i=10"},
    {"JobSpec", false, false,
     "parallelism:i completions:i activeDeadlineSeconds:l backoffLimit:i=6 selector:LabelSelector "
     "manualSelector:b=false template:JobTemplate! ttlSecondsAfterFinished:i "
     "completionMode:s(NonIndexed|Indexed)=NonIndexed suspend:b=false "
     "podReplacementPolicy:s=TerminatingOrFailed"},
    {"JobTemplate", true, false, "metadata:ObjectMeta spec:JobPodSpec"},
    {"JobPodSpec", false, false,
     "containers:[Container/name]! initContainers:[Container/name] volumes:[Volume/name]~ "
     "restartPolicy:s(OnFailure|Never) terminationGracePeriodSeconds:l=30 "
     "dnsPolicy:s=ClusterFirst securityContext:PodSecurity={} schedulerName:s=default-scheduler "
     "tolerations:[Toleration] imagePullSecrets:[LocalReference/name] nodeSelector:m"},
    {"JobStatus", false, false,
     "active:i succeeded:i failed:i ready:i startTime:t completionTime:t "
     "conditions:[Condition/type]"},
    {"PdbSpec", true, false,
     "minAvailable:x maxUnavailable:x selector:LabelSelector "
     "unhealthyPodEvictionPolicy:s(IfHealthyBudget|AlwaysAllow)"},
    {"PdbStatus", false, false,
     "observedGeneration:l disruptionsAllowed:i currentHealthy:i desiredHealthy:i expectedPods:i "
     "conditions:[Condition/type]"},
    {"HpaSpec", true, false,
     "scaleTargetRef:CrossRef! minReplicas:i=1 maxReplicas:i! metrics:[Metric] "
     "behavior:HpaBehavior"},
    {"Metric", false, false, "type:s! resource:Any pods:Any object:Any external:Any"},
    {"HpaBehavior", true, false, "scaleUp:HpaRules scaleDown:HpaRules"},
    {"HpaRules", true, false,
     "stabilizationWindowSeconds:i selectPolicy:s(Max|Min|Disabled) policies:[Any] tolerance:q"},
    {"HpaV1Spec", true, false,
     "scaleTargetRef:CrossRef! minReplicas:i=1 maxReplicas:i! targetCPUUtilizationPercentage:i"},
    {"CrossRef", true, true, "apiVersion:s kind:s! name:s!"},
    {"HpaStatus", false, false,
     "observedGeneration:l lastScaleTime:t currentReplicas:i desiredReplicas:i "
     "currentMetrics:[Any] conditions:[Condition/type] currentCPUUtilizationPercentage:i"},

    /* services and their kin */
    {"ServiceSpec", true, false,
     "ports:[ServicePort/port,protocol] selector:m clusterIP:s clusterIPs:a "
     "type:s(ClusterIP|ExternalName|LoadBalancer|NodePort)=ClusterIP externalIPs:a "
     "sessionAffinity:s(ClientIP|None)=None loadBalancerIP:s loadBalancerSourceRanges:a "
     "externalName:s externalTrafficPolicy:s healthCheckNodePort:i publishNotReadyAddresses:b "
     "sessionAffinityConfig:Any ipFamilies:a ipFamilyPolicy:s allocateLoadBalancerNodePorts:b "
     "loadBalancerClass:s internalTrafficPolicy:s=Cluster trafficDistribution:s"},
    {"ServicePort", true, false,
     "name:s protocol:s(TCP|UDP|SCTP)=TCP appProtocol:s port:i! targetPort:x nodePort:i"},
    {"ServiceStatus", false, false, "loadBalancer:LoadBalancer={} conditions:[Condition/type]"},
    {"LoadBalancer", false, false, "ingress:[Any]"},
    {"EndpointSubset", false, false,
     "addresses:[EndpointAddress] notReadyAddresses:[EndpointAddress] ports:[EndpointPort]"},
    {"EndpointAddress", false, true, "ip:s! hostname:s nodeName:s targetRef:ObjectReference"},
    {"EndpointPort", true, true, "name:s port:i protocol:s(TCP|UDP|SCTP)=TCP appProtocol:s"},
    {"Endpoint", false, false,
     "addresses:u! conditions:Any={} hostname:s targetRef:ObjectReference nodeName:s zone:s "
     "deprecatedTopology:m hints:Any"},
    {"IngressSpec", true, false, "ingressClassName:s defaultBackend:Any tls:[Any] rules:[Any]"},
    {"PolicySpec", true, false,
     "podSelector:LabelSelector ingress:[Any] egress:[Any] policyTypes:a"},

    /* the cluster itself */
    {"NamespaceSpec", true, false, "finalizers:a"},
    {"NamespaceStatus", false, false, "phase:s conditions:[Condition/type]"},
    {"NodeSpec", false, false, "podCIDR:s podCIDRs:u providerID:s unschedulable:b taints:[Taint]"},
    {"Taint", true, false,
     "key:s! value:s effect:s(NoSchedule|PreferNoSchedule|NoExecute)! timeAdded:t"},
    {"NodeStatus", false, false,
     "capacity:M allocatable:M phase:s conditions:[Condition/type] addresses:[NodeAddress/type] "
     "nodeInfo:Any images:[Any] volumesInUse:a daemonEndpoints:Any"},
    {"NodeAddress", true, false, "type:s! address:s!"},
    {"VolumeSpec", false, false,
     "capacity:M accessModes:a claimRef:ObjectReference persistentVolumeReclaimPolicy:s=Retain "
     "storageClassName:s volumeMode:s=Filesystem"},
    {"VolumeStatus", false, false, "phase:s message:s reason:s"},
    {"ClaimStatus", false, false, "phase:s accessModes:a capacity:M conditions:[Condition/type]"},
    {"LimitRangeSpec", true, false, "limits:[Any]!"},
    {"QuotaSpec", true, false, "hard:M scopeSelector:Any scopes:a"},
    {"QuotaStatus", true, false, "hard:M used:M"},
    {"LeaseSpec", true, false,
     "holderIdentity:s leaseDurationSeconds:i acquireTime:t renewTime:t leaseTransitions:i "
     "strategy:s preferredHolder:s"},
    {"EventSource", true, false, "component:s host:s"},
    {"EventSeries", true, false, "count:i lastObservedTime:t"},
    {"PolicyRule", true, false,
     "apiGroups:a resources:a verbs:a! resourceNames:a nonResourceURLs:a"},
    {"RoleRef", true, true, "apiGroup:s! kind:s! name:s!"},
    {"Subject", true, true, "kind:s! name:s! namespace:s apiGroup:s"},
    {"AggregationRule", true, false, "clusterRoleSelectors:[LabelSelector]"},
    {"AccessSpec", true, false, "resourceAttributes:Any nonResourceAttributes:Any"},
    {"Webhook", false, false,
     "name:s! clientConfig:Any! rules:[Any] failurePolicy:s=Fail matchPolicy:s=Equivalent "
     "namespaceSelector:LabelSelector={} objectSelector:LabelSelector={} sideEffects:s! "
     "timeoutSeconds:i=10 admissionReviewVersions:a! matchConditions:[Named/name]"},
    {"CrdSpec", false, false,
     "group:s! names:CrdNames! scope:s(Cluster|Namespaced)! versions:[CrdVersion]! "
     "conversion:Any={\"strategy\":\"None\"} preserveUnknownFields:b"},
    {"CrdNames", true, false, "plural:s! singular:s shortNames:a kind:s! listKind:s categories:a"},
    {"CrdVersion", false, false,
     "name:s! served:b! storage:b! deprecated:b deprecationWarning:s schema:Any subresources:Any "
     "additionalPrinterColumns:[CrdColumn] selectableFields:[Any]"},
    {"CrdColumn", true, false, "name:s! type:s! format:s description:s priority:i jsonPath:s!"},
    {"CrdStatus", false, false,
     "conditions:[Condition/type] acceptedNames:CrdNames storedVersions:a observedGeneration:l"},
    {NULL, false, false, NULL},
};
/* clang-format on */
