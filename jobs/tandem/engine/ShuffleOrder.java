package tandem;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;

/**
 * Behind every shuffle, rows come in the order of the partitions before it, as they do where one process has all of them.
 *
 * A task fetches what other executors have for it in an order drawn at random, so what depends on the order of rows (sums
 * of floats, first, collect_list, limits, the rows of a group) would differ between replicas. Each row gets the number of
 * its partition and its place in it before the shuffle, and is sorted by them behind it. The rule is used for planning
 * only: what it puts into a plan are Spark's own operators.
 */
public final class ShuffleOrder extends scala.runtime.AbstractFunction1 {
  /** Spark asks for the rules of a session. */
  public Object apply(Object session) { return new Rules(); }

  public static final class Rules extends ColumnarRule {
    public Rule preColumnarTransitions() { return new InOrder(); }
  }

  public static final class InOrder extends Rule {
    public TreeNode apply(TreeNode plan) { return ShuffleOrder.ordered((SparkPlan) plan); }
  }

  static SparkPlan ordered(SparkPlan plan) {
    ArrayList children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) {
      SparkPlan child = (SparkPlan) each.next();
      SparkPlan inOrder = ordered(child);
      changed = changed || inOrder != child;
      children.add(inOrder);
    }
    SparkPlan whole = changed ? (SparkPlan) plan.withNewChildren(seq(children.toArray())) : plan;
    return whole instanceof ShuffleExchangeExec ? sorted((ShuffleExchangeExec) whole) : whole;
  }

  private static SparkPlan sorted(ShuffleExchangeExec shuffle) {
    scala.collection.immutable.Seq columns = shuffle.output();
    Alias place = new Alias(new MonotonicallyIncreasingID(), "place", NamedExpression$.MODULE$.newExprId(), none(),
        scala.Option.empty(), none());
    SparkPlan numbered = new ProjectExec(and(columns, place), shuffle.child());
    SparkPlan shuffled = (SparkPlan) shuffle.withNewChildren(seq(new Object[] {numbered}));
    Object order = new SortOrder(place.toAttribute(), Ascending$.MODULE$, NullsFirst$.MODULE$, none());
    return new ProjectExec(columns, new SortExec(seq(new Object[] {order}), false, shuffled, 0));
  }

  private static scala.collection.immutable.Seq and(scala.collection.immutable.Seq columns, Object more) {
    ArrayList all = new ArrayList();
    scala.collection.Iterator each = columns.iterator();
    while (each.hasNext()) all.add(each.next());
    all.add(more);
    return seq(all.toArray());
  }

  private static scala.collection.immutable.Seq none() { return seq(new Object[0]); }

  private static scala.collection.immutable.Seq seq(Object[] array) {
    return scala.collection.immutable.ArraySeq$.MODULE$.unsafeWrapArray(array);
  }
}
