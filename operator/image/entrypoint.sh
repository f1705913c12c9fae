#!/bin/bash
# What the image starts is the command that it is given. Only Spark's executor pods are given the word `executor`, and find the
# rest in their environment (spark-kubernetes: BasicExecutorFeatureStep).
#
# A user that the platform has chosen, as OpenShift does, has no name in the image; no JVM starts Spark for somebody without. /etc
# cannot be written to, so a library answers who that is.
set -euo pipefail

if ! id -un >/dev/null 2>&1; then
  passwd=$(mktemp "${TMPDIR:-/tmp}/passwd.XXXXXX")
  cat /etc/passwd - >"$passwd" <<<"${USER_NAME:-tandem-$(id -u)}:x:$(id -u):$(id -g):Tandem:${HOME:-/tmp}:/usr/sbin/nologin"
  export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}libnss_wrapper.so" NSS_WRAPPER_PASSWD=$passwd NSS_WRAPPER_GROUP=/etc/group
fi

if [ "${1:-}" != executor ]; then
  exec "$@"
fi

options=()
for ((i = 0; ; i++)); do
  option=SPARK_JAVA_OPT_$i
  [ -n "${!option+is set}" ] || break
  options+=("${!option}")
done

exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" "${options[@]}" \
  "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
  -cp "${SPARK_CONF_DIR:-$SPARK_HOME/conf}:${SPARK_CLASSPATH:-}:$SPARK_HOME/jars/*:$TANDEM_SPARK_JARS/*" \
  org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
  --driver-url "$SPARK_DRIVER_URL" \
  --executor-id "$SPARK_EXECUTOR_ID" \
  --cores "$SPARK_EXECUTOR_CORES" \
  --app-id "$SPARK_APPLICATION_ID" \
  --hostname "$SPARK_EXECUTOR_POD_IP" \
  --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
  --podName "$SPARK_EXECUTOR_POD_NAME"
