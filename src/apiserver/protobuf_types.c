#include "apiserver/protobuf_types.h"

#include <string.h>

/* clang-format off */
static const struct protobuf_type types[] = {
    {"ObjectMeta", "1:name:s 2:generateName:s 3:namespace:s 5:uid:s 6:resourceVersion:s "
                   "7:generation:i 8:creationTimestamp:t 9:deletionTimestamp:t 11:labels:%s "
                   "12:annotations:%s 13:ownerReferences:*OwnerReference 14:finalizers:*s"},
    {"OwnerReference", "1:kind:s 3:name:s 4:uid:s 5:apiVersion:s 6:controller:!b "
                       "7:blockOwnerDeletion:!b"},
    {"LabelSelector", "1:matchLabels:%s 2:matchExpressions:*LabelRequirement"},
    {"LabelRequirement", "1:key:s 2:operator:s 3:values:*s"},
    {"LocalReference", "1:name:s"},
    {"Namespace", "1:metadata:ObjectMeta"},
    {"ConfigMap", "1:metadata:ObjectMeta 2:data:%s 3:binaryData:%y 4:immutable:!b"},
    {"Secret", "1:metadata:ObjectMeta 2:data:%y 3:type:s 4:stringData:%s 5:immutable:!b"},
    {"ServiceAccount", "1:metadata:ObjectMeta 3:imagePullSecrets:*LocalReference "
                       "4:automountServiceAccountToken:!b"},
    {"Service", "1:metadata:ObjectMeta 2:spec:ServiceSpec"},
    {"ServiceSpec", "1:ports:*ServicePort 2:selector:%s 3:clusterIP:s 4:type:s 5:externalIPs:*s "
                    "7:sessionAffinity:s 8:loadBalancerIP:s 10:externalName:s "
                    "11:externalTrafficPolicy:s 13:publishNotReadyAddresses:b "
                    "17:ipFamilyPolicy:s 18:clusterIPs:*s 19:ipFamilies:*s"},
    {"ServicePort", "1:name:s 2:protocol:s 3:port:i 4:targetPort:o 5:nodePort:i 6:appProtocol:s"},
    {"Deployment", "1:metadata:ObjectMeta 2:spec:DeploymentSpec"},
    {"DeploymentSpec", "1:replicas:!i 2:selector:LabelSelector 3:template:PodTemplateSpec "
                       "4:strategy:DeploymentStrategy 5:minReadySeconds:i "
                       "6:revisionHistoryLimit:!i 7:paused:b 9:progressDeadlineSeconds:!i"},
    {"DeploymentStrategy", "1:type:s 2:rollingUpdate:RollingUpdate"},
    {"RollingUpdate", "1:maxUnavailable:o 2:maxSurge:o"},
    {"PodTemplateSpec", "1:metadata:ObjectMeta 2:spec:PodSpec"},
    {"Pod", "1:metadata:ObjectMeta 2:spec:PodSpec"},
    {"PodSpec", "2:containers:*Container 3:restartPolicy:s 4:terminationGracePeriodSeconds:!i "
                "5:activeDeadlineSeconds:!i 6:dnsPolicy:s 7:nodeSelector:%s "
                "8:serviceAccountName:s 10:nodeName:s 11:hostNetwork:b "
                "15:imagePullSecrets:*LocalReference 16:hostname:s 17:subdomain:s "
                "19:schedulerName:s 20:initContainers:*Container 22:tolerations:*Toleration "
                "24:priorityClassName:s"},
    {"Toleration", "1:key:s 2:operator:s 3:value:s 4:effect:s 5:tolerationSeconds:!i"},
    {"Container", "1:name:s 2:image:s 3:command:*s 4:args:*s 5:workingDir:s 6:ports:*ContainerPort "
                  "7:env:*EnvVar 8:resources:Resources 13:terminationMessagePath:s "
                  "14:imagePullPolicy:s 16:stdin:b 17:stdinOnce:b 18:tty:b "
                  "20:terminationMessagePolicy:s"},
    {"ContainerPort", "1:name:s 2:hostPort:i 3:containerPort:i 4:protocol:s 5:hostIP:s"},
    {"EnvVar", "1:name:s 2:value:s"},
    {"Resources", "1:limits:%q 2:requests:%q"},
    {"Job", "1:metadata:ObjectMeta 2:spec:JobSpec"},
    {"JobSpec", "1:parallelism:!i 2:completions:!i 3:activeDeadlineSeconds:!i "
                "4:selector:LabelSelector 5:manualSelector:!b 6:template:PodTemplateSpec "
                "7:backoffLimit:!i 8:ttlSecondsAfterFinished:!i 9:completionMode:s 10:suspend:!b"},
    {"Role", "1:metadata:ObjectMeta 2:rules:*PolicyRule"},
    {"ClusterRole", "1:metadata:ObjectMeta 2:rules:*PolicyRule 3:aggregationRule:AggregationRule"},
    {"AggregationRule", "1:clusterRoleSelectors:*LabelSelector"},
    {"PolicyRule", "1:verbs:*s 2:apiGroups:*!s 3:resources:*s 4:resourceNames:*s "
                   "5:nonResourceURLs:*s"},
    {"RoleBinding", "1:metadata:ObjectMeta 2:subjects:*Subject 3:roleRef:RoleRef"},
    {"ClusterRoleBinding", "1:metadata:ObjectMeta 2:subjects:*Subject 3:roleRef:RoleRef"},
    {"Subject", "1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s"},
    {"RoleRef", "1:apiGroup:s 2:kind:s 3:name:s"},
    {"ResourceQuota", "1:metadata:ObjectMeta 2:spec:ResourceQuotaSpec"},
    {"ResourceQuotaSpec", "1:hard:%q 2:scopes:*s"},
    {"PodDisruptionBudget", "1:metadata:ObjectMeta 2:spec:BudgetSpec"},
    {"BudgetSpec", "1:minAvailable:o 2:selector:LabelSelector 3:maxUnavailable:o "
                   "4:unhealthyPodEvictionPolicy:s"},
    {"PriorityClass", "1:metadata:ObjectMeta 2:value:!i 3:globalDefault:b 4:description:s "
                      "5:preemptionPolicy:s"},
    {"Ingress", "1:metadata:ObjectMeta 2:spec:IngressSpec"},
    {"IngressSpec", "1:defaultBackend:IngressBackend 2:tls:*IngressTLS 3:rules:*IngressRule "
                    "4:ingressClassName:s"},
    {"IngressBackend", "4:service:IngressService"},
    {"IngressService", "1:name:s 2:port:IngressPort"},
    {"IngressPort", "1:name:s 2:number:i"},
    {"IngressTLS", "1:hosts:*s 2:secretName:s"},
    {"IngressRule", "1:host:s 2::^IngressRuleValue"},
    {"IngressRuleValue", "1:http:IngressPaths"},
    {"IngressPaths", "1:paths:*IngressPath"},
    {"IngressPath", "1:path:s 2:backend:IngressBackend 3:pathType:s"},
    {"HorizontalPodAutoscaler", "1:metadata:ObjectMeta 2:spec:AutoscalerSpec"}, /* v2 */
    {"AutoscalerSpec", "1:scaleTargetRef:ScaleTarget 2:minReplicas:!i 3:maxReplicas:i "
                       "4:metrics:*MetricSpec"},
    {"ScaleTarget", "1:kind:s 2:name:s 3:apiVersion:s"},
    {"MetricSpec", "1:type:s 4:resource:ResourceMetric"},
    {"ResourceMetric", "1:name:s 2:target:MetricTarget"},
    {"MetricTarget", "1:type:s 2:value:q 3:averageValue:q 4:averageUtilization:!i"},
    {"Scale", "1:metadata:ObjectMeta 2:spec:ScaleSpec"},
    {"ScaleSpec", "1:replicas:!i"},
    {"Eviction", "1:metadata:ObjectMeta 2:deleteOptions:DeleteOptions"},
    {"DeleteOptions", "1:gracePeriodSeconds:!i 2:preconditions:Preconditions "
                      "3:orphanDependents:!b 4:propagationPolicy:s 5:dryRun:*s"},
    {"Preconditions", "1:uid:s 2:resourceVersion:s"},
    {"SelfSubjectAccessReview", "1:metadata:ObjectMeta 2:spec:AccessSpec"},
    {"AccessSpec", "1:resourceAttributes:ResourceAccess 2:nonResourceAttributes:PathAccess"},
    {"ResourceAccess", "1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s "
                       "6:subresource:s 7:name:s"},
    {"PathAccess", "1:path:s 2:verb:s"},
};
/* clang-format on */

const char *protobuf_fields(const char *name, size_t len) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strlen(types[i].name) == len && memcmp(types[i].name, name, len) == 0)
            return types[i].fields;
    }
    return NULL;
}
