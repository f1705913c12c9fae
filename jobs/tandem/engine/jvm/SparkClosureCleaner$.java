package org.apache.spark.util;

import org.apache.spark.SparkEnv;
import org.apache.spark.SparkException;
import scala.Option;
import scala.collection.mutable.HashMap;
import scala.reflect.ClassTag$;

/**
 * Stands before Spark's own object of this name on the class path: a thread may do without it.
 *
 * Spark reads the byte code of each closure's class, and serialises the closure, whenever an operator makes an RDD: a third of what
 * a small epoch costs without the scheduler. Both are for closures that are sent to another process, and for those of Scala's shell. What
 * `OwnThread` computes is sent nowhere. In all other threads this does what Spark's does.
 */
public final class SparkClosureCleaner$ {
  public static final SparkClosureCleaner$ MODULE$ = new SparkClosureCleaner$();

  private final ThreadLocal<Boolean> needless = ThreadLocal.withInitial(() -> false);

  private SparkClosureCleaner$() {}

  /** Whether the closures that this thread makes from now on stay in this process. */
  public void needless(boolean stays) {
    needless.set(stays);
  }

  /** The closure without what it does not use. Raises `SparkException` if it cannot be sent to another process. */
  public <F> F clean(F closure, boolean checkSerializable, boolean cleanTransitively) throws SparkException {
    if (needless.get()) return closure;
    Option<F> cleaned = ClosureCleaner$.MODULE$.clean(closure, cleanTransitively, new HashMap<>());
    if (cleaned.isEmpty()) return closure;
    SparkEnv env = SparkEnv.get();
    if (checkSerializable && env != null) {
      try {
        env.closureSerializer().newInstance().serialize(cleaned.get(), ClassTag$.MODULE$.AnyRef());
      } catch (Exception e) {
        throw new SparkException("Task not serializable", e);
      }
    }
    return cleaned.get();
  }

  public <F> boolean clean$default$2() {
    return true;
  }

  public <F> boolean clean$default$3() {
    return true;
  }
}
