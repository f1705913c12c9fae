package tandem;

import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.NO_BROADCAST_HASH$;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import scala.Option;
import scala.PartialFunction$;
import scala.collection.Iterator;
import scala.math.BigInt;

/**
 * A table that the job has cached (`table.cache()`) is joined as it would be without that.
 *
 * Spark chooses by the size of its files as long as the cache is empty, and by what it takes in memory from then on. So a
 * query would begin with one way to join and go on with another, and rows come in another order, each replica in an epoch of
 * its own.
 */
public final class CachedTables extends Rule<LogicalPlan> {
  /** From now on the plans of `session`, and of those that are made from it. */
  public static void join(SparkSession session) {
    session.experimental().extraOptimizations_$eq(Plans.seq(java.util.List.of(new CachedTables())));
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(PartialFunction$.MODULE$.fromFunction(node -> node instanceof Join join ? hinted(join) : node));
  }

  private LogicalPlan hinted(Join join) {
    if (!isCached(join.left()) && !isCached(join.right())) return join;
    BigInt left = size(join.left());
    BigInt right = size(join.right());
    boolean isRightSent = isSmall(right) && (!isSmall(left) || right.compare(left) <= 0);
    boolean isLeftSent = isSmall(left) && !isRightSent;
    JoinHint given = join.hint();
    JoinHint hint = new JoinHint(or(given.leftHint(), isLeftSent), or(given.rightHint(), isRightSent));
    if (hint.equals(given)) return join;
    return new Join(join.left(), join.right(), join.joinType(), join.condition(), hint);
  }

  /** What the job's own code asks for counts more. */
  private static Option<HintInfo> or(Option<HintInfo> given, boolean isSent) {
    if (given.nonEmpty()) return given;
    JoinStrategyHint way = isSent ? BROADCAST$.MODULE$ : NO_BROADCAST_HASH$.MODULE$;
    return Option.apply(new HintInfo(Option.apply(way)));
  }

  private static boolean isCached(LogicalPlan plan) {
    if (plan instanceof InMemoryRelation) return true;
    for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext();) {
      if (isCached(each.next())) return true;
    }
    return false;
  }

  private boolean isSmall(BigInt size) {
    return size.compare(BigInt.apply(conf().autoBroadcastJoinThreshold())) <= 0;
  }

  /** In bytes, by what was cached and not by what the cache holds. */
  private static BigInt size(LogicalPlan plan) {
    return uncached(plan).stats().sizeInBytes();
  }

  private static LogicalPlan uncached(LogicalPlan plan) {
    return plan.transformUp(PartialFunction$.MODULE$.fromFunction(
        node -> node instanceof InMemoryRelation table ? uncached(table.cacheBuilder().logicalPlan()) : node));
  }
}
