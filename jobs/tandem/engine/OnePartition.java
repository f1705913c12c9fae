package tandem;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;

/**
 * A shuffle from one partition into one moves nothing, yet costs a stage, its files and their fetching: it is left out.
 *
 * An epoch's records are one partition where a job computes on one core. Spark cannot know that when it plans, or it
 * would not ask for the shuffle. Where several partitions come together, or may, the shuffle stays, because the order in
 * which `coalesce` takes them depends on where they lie.
 */
public final class OnePartition extends scala.runtime.AbstractFunction1 {
  /** Spark asks for the rules of a session. */
  public Object apply(Object session) { return new Rules(); }

  public static final class Rules extends ColumnarRule {
    public Rule preColumnarTransitions() { return new Direct(); }
  }

  public static final class Direct extends Rule {
    public TreeNode apply(TreeNode plan) { return OnePartition.direct((SparkPlan) plan); }
  }

  static SparkPlan direct(SparkPlan plan) {
    ArrayList children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) {
      SparkPlan child = (SparkPlan) each.next();
      SparkPlan now = direct(child);
      changed = changed || now != child;
      children.add(now);
    }
    SparkPlan whole = changed ? (SparkPlan) plan.withNewChildren(seq(children.toArray())) : plan;
    return isNeedless(whole) ? new CoalesceExec(1, ((ShuffleExchangeExec) whole).child()) : whole;
  }

  private static boolean isNeedless(SparkPlan plan) {
    return plan instanceof ShuffleExchangeExec && intoOne(plan) && isOne(((ShuffleExchangeExec) plan).child());
  }

  private static boolean intoOne(SparkPlan plan) { return plan.outputPartitioning().numPartitions() == 1; }

  /** Whether all rows are in one partition, whatever the epoch. `CoalesceExec` has one even where there are no rows. */
  private static boolean isOne(SparkPlan plan) {
    if (plan instanceof ShuffleExchangeExec || plan instanceof CoalesceExec) return intoOne(plan);
    if (plan instanceof UnionExec) return false;
    scala.collection.Iterator each = plan.children().iterator();
    if (!each.hasNext()) return plan instanceof LocalTableScanExec;
    while (each.hasNext()) {
      if (!isOne((SparkPlan) each.next())) return false;
    }
    return true;
  }

  private static scala.collection.immutable.Seq seq(Object[] array) {
    return scala.collection.immutable.ArraySeq$.MODULE$.unsafeWrapArray(array);
  }
}
