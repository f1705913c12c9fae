package tandem;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import scala.collection.Iterator;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What our rules of planning share: Scala's sequences, and changing a plan from its leaves up. */
final class Plans {
  private Plans() {}

  /** The plan with each of its children changed by `change`; the plan itself if none is another one then. */
  static SparkPlan withChildren(SparkPlan plan, UnaryOperator<SparkPlan> change) {
    List<SparkPlan> children = new ArrayList<>();
    boolean changed = false;
    for (Iterator<SparkPlan> each = plan.children().iterator(); each.hasNext();) {
      SparkPlan child = each.next();
      SparkPlan now = change.apply(child);
      changed = changed || now != child;
      children.add(now);
    }
    return changed ? plan.withNewChildren(seq(children)) : plan;
  }

  /** How many rows the plan's operators with a state have dropped, since they came behind the watermark. */
  static long lateRows(SparkPlan plan) {
    long count = plan instanceof StateStoreWriter ? plan.longMetric("numRowsDroppedByWatermark").value() : 0L;
    for (Iterator<SparkPlan> each = plan.children().iterator(); each.hasNext();) count += lateRows(each.next());
    return count;
  }

  /** Whether it has metrics of `Dataset.observe`, which reach the driver through Spark's scheduler only. */
  static boolean observes(SparkPlan plan) {
    if (plan instanceof CollectMetricsExec) return true;
    for (Iterator<SparkPlan> each = plan.children().iterator(); each.hasNext();) {
      if (observes(each.next())) return true;
    }
    return false;
  }

  static <T> Seq<T> seq(List<T> list) {
    return List$.MODULE$.from(CollectionConverters.asScala(list));
  }
}
