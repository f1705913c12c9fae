package tandem;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Behind every shuffle, rows come in the order of the partitions before it, as they do where one process has all of them.
 *
 * A task fetches what other executors have for it in an order drawn at random, so what depends on the order of rows (sums
 * of floats, first, collect_list, limits, the rows of a group) would differ between replicas. Each row gets the number of
 * its partition and its place in it before the shuffle, and is sorted by them behind it. The rule is used for planning
 * only: what it puts into a plan are Spark's own operators.
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
      SparkPlan whole = Plans.withChildren(plan, this::apply);
      return whole instanceof ShuffleExchangeExec shuffle ? sorted(shuffle) : whole;
    }
  }

  private static SparkPlan sorted(ShuffleExchangeExec shuffle) {
    List<NamedExpression> columns = new ArrayList<>(CollectionConverters.asJava(shuffle.output()));
    Alias place = new Alias(new MonotonicallyIncreasingID(), "place", NamedExpression$.MODULE$.newExprId(),
        Plans.seq(List.of()), Option.empty(), Plans.seq(List.of()));
    List<NamedExpression> more = new ArrayList<>(columns);
    more.add(place);
    SparkPlan numbered = new ProjectExec(Plans.seq(more), shuffle.child());
    SparkPlan shuffled = shuffle.withNewChildren(Plans.seq(List.of(numbered)));
    SortOrder order =
        new SortOrder(place.toAttribute(), Ascending$.MODULE$, NullsFirst$.MODULE$, Plans.seq(List.of()));
    return new ProjectExec(Plans.seq(columns), new SortExec(Plans.seq(List.of(order)), false, shuffled, 0));
  }
}
