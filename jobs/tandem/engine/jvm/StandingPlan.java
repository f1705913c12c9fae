package tandem;

import java.lang.reflect.Field;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ResolvedHint;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingExecutionRelation;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSourceV1;
import scala.Option;
import scala.PartialFunction$;
import scala.math.BigInt;

/**
 * A query's plan that is analysed and optimised once, and not for every epoch: a fifth of a small epoch's processor time.
 *
 * Spark puts an epoch's rows into the analysed plan, and analyses and optimises the result. Here the rows are no part of the
 * plan: where it reads the stream it has a leaf that stands for them, and Spark is given a plan of one leaf, that stands for
 * the whole. `EpochStrategy` finds both again when Spark makes the physical plan, which it does for every epoch, because the
 * versions of state and the watermarks are in that.
 */
final class StandingPlan {
  private final LogicalPlan analysed;
  private LogicalPlan optimised;

  private StandingPlan(LogicalPlan analysed) {
    this.analysed = analysed;
  }

  /**
   * In the query's own thread, before its first epoch: from now on it has a standing plan. False if it cannot: its plan asks
   * for the time, which Spark puts in before it optimises.
   *
   * `records`: those of the epoch that is planned, in the columns of `source`.
   */
  static boolean install(MicroBatchExecution query, SparkDataStream source, Supplier<InternalRow[]> records) {
    WriteToMicroBatchDataSourceV1 write = (WriteToMicroBatchDataSourceV1) query.logicalPlan();
    LogicalPlan plan = write.query();
    if (plan.containsPattern(TreePattern$.MODULE$.CURRENT_LIKE())) return false;
    if (plan.containsPattern(TreePattern$.MODULE$.EXPRESSION_WITH_RANDOM_SEED())) return false;
    SparkSession session = query.sparkSession();
    StandingPlan standing = new StandingPlan(
        plan.transformUp(PartialFunction$.MODULE$.fromFunction(node -> without(node, source, records, session))));
    LogicalPlan whole = new StandIn(session.sparkContext(), standing, null).leaf(plan.output(), true, session);
    replace(query, write.withNewChildren(Plans.seq(List.of(whole))));
    return true;
  }

  /** What has to be planned for an epoch. */
  LogicalPlan optimised() {
    if (optimised == null) {
      SparkSession session = SparkSession.active();
      optimised = session.sessionState().optimizer().execute(analysed.clone());
    }
    return optimised.clone();
  }

  private static LogicalPlan without(
      LogicalPlan node, SparkDataStream source, Supplier<InternalRow[]> records, SparkSession session) {
    if (node instanceof LogicalRDD table && isSent(table)) {
      return new ResolvedHint(table, new HintInfo(Option.apply(BROADCAST$.MODULE$)));
    }
    if (!(node instanceof StreamingExecutionRelation read) || !read.source().equals(source)) return node;
    return new StandIn(session.sparkContext(), null, records).leaf(read.output(), true, session);
  }

  /** A table of a size that Spark does not know, as `createDataFrame` makes them, is sent to where the stream's rows are. */
  static boolean isSent(LogicalRDD table) {
    BigInt unknown = BigInt.apply(table.conf().defaultSizeInBytes());
    return !table.isStreaming() && table.computeStats().sizeInBytes().equals(unknown);
  }

  private static void replace(MicroBatchExecution query, LogicalPlan plan) {
    try {
      Field field = MicroBatchExecution.class.getDeclaredField("logicalPlan");
      field.setAccessible(true);
      field.set(query, plan);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Spark keeps a query's plan elsewhere", e);
    }
  }
}
