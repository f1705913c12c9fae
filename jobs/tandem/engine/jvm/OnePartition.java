package tandem;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec;
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec;
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.SessionWindowStateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreReader;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import scala.Option;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/**
 * A shuffle from one partition into one moves nothing, yet costs a stage, its files and their fetching: it is left out.
 *
 * An epoch's records are one partition where a job computes on one core, and a scan in real-time mode always is one. Spark cannot know that when it plans, or it
 * would not ask for the shuffle. Where several partitions come together, or may, the shuffle stays, because the order in
 * which `coalesce` takes them depends on where they lie.
 *
 * A table may be larger than the room that there is to sort it: its equal rows are kept in order (`RowPlace`). An epoch's rows
 * are in order as long as there is room, and `Plans.spilled` tells if there is not.
 */
public final class OnePartition extends AbstractFunction1<SparkSession, ColumnarRule> {
  /** Spark asks for the rules of a session. */
  @Override
  public ColumnarRule apply(SparkSession session) {
    return new ColumnarRule() {
      @Override
      public Rule<SparkPlan> preColumnarTransitions() {
        return new Direct();
      }
    };
  }

  private static final class Direct extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      StaticFiles.check(plan);
      return direct(plan, false);
    }
  }

  /** `hasState`: whether an operator above opens a state store of its own. */
  private static SparkPlan direct(SparkPlan plan, boolean hasState) {
    boolean above = hasState || opensStore(plan);
    SparkPlan whole = Plans.withChildren(plan, child -> direct(child, above));
    if (opensStore(whole) && !(whole instanceof SessionWindowStateStoreSaveExec)) {
      whole = Plans.withChildren(whole, child -> aggregatesInTask(child) ? shuffled(child) : child);
    }
    if (isNeedless(whole, hasState)) return new CoalesceExec(1, ((ShuffleExchangeExec) whole).child());
    return whole instanceof SortExec && StaticFiles.isAllOf(whole) ? RowPlace.total(whole) : whole;
  }

  /**
   * An aggregation leaves the state store that it reads in the task's thread, for where it writes (StateStoreThreadLocalTracker), and nothing takes it away.
   * An operator further up in the same task may be given it when it opens its own: transformWithState and a limit fail then. An aggregation has read its own by
   * then, and a join opens stores otherwise.
   */
  private static boolean opensStore(SparkPlan plan) {
    return plan instanceof StateStoreWriter
        && !(plan instanceof StateStoreSaveExec)
        && !(plan instanceof StreamingSymmetricHashJoinExec);
  }

  private static boolean isNeedless(SparkPlan plan, boolean hasState) {
    return plan instanceof ShuffleExchangeExec shuffle
        && intoOne(plan)
        && isOne(shuffle.child())
        && !(hasState && aggregates(shuffle.child()));
  }

  /** Spark itself asks for no shuffle where the rows are as the operator needs them, as for a limit behind one partition. */
  private static SparkPlan shuffled(SparkPlan plan) {
    Partitioning now = plan.outputPartitioning();
    if (now.numPartitions() != 1 && !(now instanceof HashPartitioning)) return plan;
    Partitioning same = now.numPartitions() == 1 ? SinglePartition$.MODULE$ : now;
    return new ShuffleExchangeExec(same, plan, ENSURE_REQUIREMENTS$.MODULE$, Option.empty(), false);
  }

  private static boolean aggregatesInTask(SparkPlan plan) {
    if (plan instanceof ShuffleExchangeExec) return false;
    if (plan instanceof StateStoreReader && !(plan instanceof StateStoreWriter)) return true;
    Iterator<SparkPlan> each = plan.children().iterator();
    while (each.hasNext()) {
      if (aggregatesInTask(each.next())) return true;
    }
    return false;
  }

  private static boolean aggregates(SparkPlan plan) {
    if (plan instanceof StateStoreReader) return true;
    Iterator<SparkPlan> each = plan.children().iterator();
    while (each.hasNext()) {
      if (aggregates(each.next())) return true;
    }
    return false;
  }

  private static boolean intoOne(SparkPlan plan) {
    return plan.outputPartitioning().numPartitions() == 1;
  }

  /** Whether all rows are in one partition, whatever the epoch. `CoalesceExec` has one even where there are no rows. */
  private static boolean isOne(SparkPlan plan) {
    if (plan instanceof ShuffleExchangeExec || plan instanceof CoalesceExec) return intoOne(plan);
    if (plan instanceof UnionExec) return false;
    if (plan instanceof BroadcastExchangeExec) return true; // it is sent to wherever the other rows are
    Iterator<SparkPlan> each = plan.children().iterator();
    if (!each.hasNext()) return plan instanceof LocalTableScanExec || plan instanceof RealTimeStreamScanExec;
    while (each.hasNext()) {
      if (!isOne(each.next())) return false;
    }
    return true;
  }
}
