package tandem;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.TakeOrderedAndProjectExec;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The number of a row's partition and its place in it, as a column: the last thing to sort by, in which no two rows are equal.
 *
 * Rows that are equal in all else keep their order then. Spark's sort does that by itself only as long as it has room: what it
 * has put on disk comes back in any order among equals. And the first rows of several partitions are any of those that are equal.
 */
final class RowPlace {
  private static final String NAME = "_tandem_place";

  private RowPlace() {}

  static Alias column() {
    return new Alias(new MonotonicallyIncreasingID(), NAME, NamedExpression$.MODULE$.newExprId(),
        Plans.seq(List.of()), Option.empty(), Plans.seq(List.of()));
  }

  /** The rows of `plan` with the column `place`. */
  static SparkPlan numbered(SparkPlan plan, Alias place) {
    List<NamedExpression> columns = columns(plan);
    columns.add(place);
    return new ProjectExec(Plans.seq(columns), plan);
  }

  static SortOrder order(Alias place) {
    return new SortOrder(place.toAttribute(), Ascending$.MODULE$, NullsFirst$.MODULE$, Plans.seq(List.of()));
  }

  /** A plan that sorts does it by the place, too; any other is as it is. */
  static SparkPlan total(SparkPlan plan) {
    Alias place = column();
    if (plan instanceof SortExec sort && !isTotal(sort)) {
      SparkPlan rows = numbered(sort.child(), place);
      SparkPlan sorted =
          new SortExec(with(sort.sortOrder(), place), sort.global(), rows, sort.testSpillFrequency());
      return new ProjectExec(Plans.seq(columns(plan)), sorted);
    }
    if (plan instanceof TakeOrderedAndProjectExec take) {
      SparkPlan rows = numbered(take.child(), place);
      return take.copy(take.limit(), with(take.sortOrder(), place), take.projectList(), rows, take.offset());
    }
    return plan;
  }

  /** Whether the last thing that it sorts by is the place. */
  static boolean isTotal(SortExec sort) {
    List<SortOrder> orders = CollectionConverters.asJava(sort.sortOrder());
    return !orders.isEmpty()
        && orders.get(orders.size() - 1).child() instanceof AttributeReference last
        && NAME.equals(last.name());
  }

  static List<NamedExpression> columns(SparkPlan plan) {
    return new ArrayList<>(CollectionConverters.asJava(plan.output()));
  }

  private static Seq<SortOrder> with(Seq<SortOrder> orders, Alias place) {
    List<SortOrder> all = new ArrayList<>(CollectionConverters.asJava(orders));
    all.add(order(place));
    return Plans.seq(all);
  }
}
