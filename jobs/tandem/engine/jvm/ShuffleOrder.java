package tandem;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.runtime.AbstractFunction1;

/**
 * Behind every shuffle, rows come in the order of the partitions before it, as they do where one process has all of them.
 *
 * A task fetches what other executors have for it in an order drawn at random, so what depends on the order of rows (sums
 * of floats, first, collect_list, limits, the rows of a group) would differ between replicas. Each row gets the number of
 * its partition and its place in it before the shuffle, and is sorted by them behind it. So is what sorts by something else,
 * among equal rows. The rule is used for planning only: what it puts into a plan are Spark's own operators.
 */
public final class ShuffleOrder extends AbstractFunction1<SparkSession, ColumnarRule> {
  /** Spark asks for the rules of a session. */
  @Override
  public ColumnarRule apply(SparkSession session) {
    return new ColumnarRule() {
      @Override
      public Rule<SparkPlan> preColumnarTransitions() {
        return new InOrder();
      }
    };
  }

  private static final class InOrder extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      StaticFiles.check(plan);
      return ordered(plan);
    }
  }

  private static SparkPlan ordered(SparkPlan plan) {
    SparkPlan whole = Plans.withChildren(plan, ShuffleOrder::ordered);
    return whole instanceof ShuffleExchangeExec shuffle ? sorted(shuffle) : RowPlace.total(whole);
  }

  private static SparkPlan sorted(ShuffleExchangeExec shuffle) {
    Alias place = RowPlace.column();
    SparkPlan shuffled = shuffle.withNewChildren(Plans.seq(List.of(RowPlace.numbered(shuffle.child(), place))));
    SparkPlan sorted = new SortExec(Plans.seq(List.of(RowPlace.order(place))), false, shuffled, 0);
    return new ProjectExec(Plans.seq(RowPlace.columns(shuffle)), sorted);
  }
}
