package tandem;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MaterializedLeafMetadata;
import org.apache.spark.sql.catalyst.plans.logical.ResolvedHint;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.CachedRDDBuilder;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import scala.Option;
import scala.PartialFunction$;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What the job has cached (`table.cache()`), of which Spark's planner does not learn how large it is in memory.
 *
 * Spark plans by the size of a table's files as long as the cache is empty, and by what it holds from then on. So a query
 * would begin with one way to join and go on with another, and rows come in another order, each replica in an epoch of its
 * own. With this, a cached table is joined as it would be without the cache.
 */
public final class UnmeasuredCache extends CachedRDDBuilder {
  private static final long serialVersionUID = 1L;

  private final transient CachedRDDBuilder cache;

  private UnmeasuredCache(CachedRDDBuilder cache) {
    super(cache.serializer(), cache.storageLevel(), cache.cachedPlan(), cache.tableName(), cache.logicalPlan(),
        cache.isCachedLogicalPlanRepeatable(), cache.hasSelectivePredicate(), cache.fileSourceOptions());
    this.cache = cache;
  }

  /** A plan into which Spark has put what is cached, with this in each such place. */
  public static LogicalPlan within(LogicalPlan plan) {
    return plan.transformUpWithSubqueries(PartialFunction$.MODULE$.fromFunction(
        node -> node instanceof InMemoryRelation table && !(table.cacheBuilder() instanceof UnmeasuredCache)
            ? hinted(table)
            : node));
  }

  private static LogicalPlan hinted(InMemoryRelation table) {
    InMemoryRelation unmeasured =
        new InMemoryRelation(table.output(), new UnmeasuredCache(table.cacheBuilder()), table.outputOrdering());
    unmeasured.statsOfPlanToCache_$eq(table.statsOfPlanToCache());
    return leaf(table.cacheBuilder().logicalPlan()) instanceof LogicalRDD rows && StandingPlan.isSent(rows)
        ? new ResolvedHint(unmeasured, new HintInfo(Option.apply(BROADCAST$.MODULE$)))
        : unmeasured;
  }

  private static LogicalPlan leaf(LogicalPlan plan) {
    List<LogicalPlan> children = CollectionConverters.asJava(plan.children());
    return children.size() == 1 ? leaf(children.get(0)) : plan;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof UnmeasuredCache;
  }

  /** Not to what it stands for: Spark drops a change of a plan that leaves it equal. */
  @Override
  public boolean equals(Object other) {
    return other instanceof UnmeasuredCache && super.equals(other);
  }

  @Override
  public int hashCode() {
    return super.hashCode();
  }

  @Override
  public Option<Tuple2<Object, Object>> loadedMaterializedStats() {
    return Option.empty();
  }

  @Override
  public Option<MaterializedLeafMetadata> materializedMetadata() {
    return Option.empty();
  }

  @Override
  public RDD<CachedBatch> cachedColumnBuffers() {
    return cache.cachedColumnBuffers();
  }

  @Override
  public boolean isCachedColumnBuffersLoaded() {
    return cache.isCachedColumnBuffersLoaded();
  }

  @Override
  public boolean isCachedPlanRepeatable() {
    return cache.isCachedPlanRepeatable();
  }

  @Override
  public void clearCache(boolean blocking) {
    cache.clearCache(blocking);
  }
}
