package tandem;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
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

  /**
   * An operator that had no room for its rows, or groups, and has put them on disk: they come back in another order then, and
   * when it does that follows from what else is in memory. "": none.
   */
  static String spilled(SparkPlan plan) {
    if (hasSpilled(plan)) return plan.nodeName();
    String found = plan instanceof InMemoryTableScanExec cached ? spilled(cached.relation().cachedPlan()) : "";
    for (Iterator<SparkPlan> each = plan.children().iterator(); found.isEmpty() && each.hasNext();) {
      found = spilled(each.next());
    }
    for (Iterator<SparkPlan> each = plan.subqueries().iterator(); found.isEmpty() && each.hasNext();) {
      found = spilled(each.next());
    }
    return found;
  }

  /** An aggregation of objects sorts from so many groups on, in memory as a rule: that follows from its rows alone. */
  private static boolean hasSpilled(SparkPlan plan) {
    if (plan instanceof HashAggregateExec) return isAboveZero(plan, "numTasksFallBacked");
    if (plan instanceof ObjectHashAggregateExec) {
      return isAboveZero(plan, "numTasksFallBacked") && isAboveZero(plan, "spillSize");
    }
    return plan instanceof SortExec sort && !RowPlace.isTotal(sort) && isAboveZero(plan, "spillSize");
  }

  private static boolean isAboveZero(SparkPlan plan, String metric) {
    return plan.longMetric(metric).value() > 0;
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
