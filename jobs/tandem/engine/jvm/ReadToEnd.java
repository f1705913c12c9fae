package tandem;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec;
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec;
import org.apache.spark.sql.execution.joins.HashedRelation;
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * A join with a table that has no rows reads its stream all the same, in real-time mode.
 *
 * To Spark the empty table is a relation of its own, and an inner join with that ends at once. Then nobody would pass the
 * epochs of the batch. Here such a table is a relation like others, in which no key is found.
 */
public final class ReadToEnd extends AbstractFunction1<SparkSession, ColumnarRule> {
  /** Spark asks for the rules of a session. */
  @Override
  public ColumnarRule apply(SparkSession session) {
    return new ColumnarRule() {
      @Override
      public Rule<SparkPlan> preColumnarTransitions() {
        return new Joins();
      }
    };
  }

  private static final class Joins extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      return isLasting(plan) ? changed(plan) : plan;
    }
  }

  private static boolean isLasting(SparkPlan plan) {
    if (plan instanceof RealTimeStreamScanExec) return true;
    for (Iterator<SparkPlan> each = plan.children().iterator(); each.hasNext();) {
      if (isLasting(each.next())) return true;
    }
    return false;
  }

  private static SparkPlan changed(SparkPlan plan) {
    SparkPlan whole = Plans.withChildren(plan, ReadToEnd::changed);
    if (!(whole instanceof BroadcastExchangeExec sent)) return whole;
    if (!(sent.mode() instanceof HashedRelationBroadcastMode mode) || mode.isNullAware()) return whole;
    return sent.makeCopy(new Object[] {new LikeOthers(mode.key()), sent.child()}); // of the same session
  }

  private static final class LikeOthers extends HashedRelationBroadcastMode {
    private static final long serialVersionUID = 1L;

    LikeOthers(Seq<Expression> key) {
      super(key, false);
    }

    /** Spark keeps the node of a plan that equals the new one. */
    @Override
    public boolean equals(Object other) {
      return other instanceof LikeOthers && super.equals(other);
    }

    @Override
    public boolean canEqual(Object other) {
      return other instanceof LikeOthers;
    }

    @Override
    public int hashCode() {
      return super.hashCode();
    }

    @Override
    public HashedRelation transform(Iterator<InternalRow> rows, Option<Object> count) {
      return rows.hasNext() ? super.transform(rows, count) : withoutRows();
    }

    /** Of one row without a key, which a relation leaves out. */
    private HashedRelation withoutRows() {
      List<Expression> none = new ArrayList<>();
      for (Expression one : CollectionConverters.asJava(key())) none.add(new Literal(null, one.dataType()));
      InternalRow row = new UnsafeRow(0);
      return new HashedRelationBroadcastMode(Plans.seq(none), false).transform(new InternalRow[] {row});
    }
  }
}
