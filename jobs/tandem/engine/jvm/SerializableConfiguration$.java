package org.apache.spark.util;

import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.broadcast.Broadcast;
import scala.reflect.ClassTag$;
import scala.runtime.ModuleSerializationProxy;
import tandem.Here;

/**
 * Stands before Spark's own object of this name on the class path: without executors, nothing is serialised.
 *
 * Every operator with a state sends Hadoop's settings to its tasks, in every epoch, and one that joins streams does so each
 * time when it is copied while Spark plans: up to a third of what was left of an epoch's processor time.
 */
public final class SerializableConfiguration$ implements Serializable {
  public static final SerializableConfiguration$ MODULE$ = new SerializableConfiguration$();
  private static final long serialVersionUID = 1L;

  private SerializableConfiguration$() {}

  public Broadcast<SerializableConfiguration> broadcast(SparkContext spark, Configuration settings) {
    Class<SerializableConfiguration> type = SerializableConfiguration.class;
    SerializableConfiguration sent = new SerializableConfiguration(settings);
    return spark.isLocal() ? new Here<>(sent, type) : spark.broadcast(sent, ClassTag$.MODULE$.apply(type));
  }

  /** With all settings as they are now. */
  public Broadcast<SerializableConfiguration> broadcast(SparkContext spark) {
    return broadcast(spark, new Configuration(spark.hadoopConfiguration()));
  }

  private Object writeReplace() {
    return new ModuleSerializationProxy(SerializableConfiguration$.class);
  }
}
