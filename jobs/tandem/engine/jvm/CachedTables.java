package tandem;

import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.NO_BROADCAST_HASH$;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
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
    LogicalPlan left = uncached(join.left());
    LogicalPlan right = uncached(join.right());
    boolean isRightSmaller = size(right).compare(size(left)) <= 0;
    boolean comparesAll = ExtractEquiJoinKeys$.MODULE$.unapply(join).isEmpty(); // there is no way without sending one side
    boolean isRightSent = comparesAll ? isRightSmaller : isSmall(right) && (isRightSmaller || !isSmall(left));
    boolean isLeftSent = comparesAll ? !isRightSmaller : isSmall(left) && !isRightSent;
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

  private boolean isSmall(LogicalPlan plan) {
    return size(plan).compare(BigInt.apply(conf().autoBroadcastJoinThreshold())) <= 0;
  }

  /** In bytes, as Spark estimates it. */
  private static BigInt size(LogicalPlan plan) {
    LogicalPlan leaf = plan;
    while (leaf.children().size() == 1) leaf = leaf.children().head();
    return leaf instanceof LogicalRDD table && StandingPlan.isSent(table) ? BigInt.apply(0) : plan.stats().sizeInBytes();
  }

  /** The plan of what was cached, as Spark has optimised it, instead of what the cache holds. */
  private static LogicalPlan uncached(LogicalPlan plan) {
    return plan.transformUp(PartialFunction$.MODULE$.fromFunction(
        node -> node instanceof InMemoryRelation table ? uncached(made(table)) : node));
  }

  private static LogicalPlan made(InMemoryRelation table) {
    Option<LogicalPlan> optimised = table.cacheBuilder().cachedPlan().logicalLink();
    return optimised.isEmpty() ? table.cacheBuilder().logicalPlan() : optimised.get();
  }
}
