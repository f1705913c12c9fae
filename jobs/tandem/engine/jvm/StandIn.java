package tandem;

import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.math.BigInt;
import scala.reflect.ClassTag$;

/** In a leaf by which `EpochStrategy` knows it: for the whole `plan`, for an epoch's `records`, or for the rows of a table. */
final class StandIn extends RDD<InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final long BYTES = 1L << 16; // a table is sent to where the stream's rows are

  final transient StandingPlan plan;
  final transient Supplier<InternalRow[]> records;

  StandIn(SparkContext spark, StandingPlan plan, Supplier<InternalRow[]> records) {
    super(spark, Plans.seq(List.of()), ClassTag$.MODULE$.apply(InternalRow.class));
    this.plan = plan;
    this.records = records;
  }

  /**
   * A leaf that the optimiser does not look into. To it every epoch, and every table, is as large, so that joins are made the
   * same way, and give their rows in the same order, however many rows come. A stream is too large to be sent to a table, as
   * Spark's own streams are: a hash table of its rows would give those of a key in reverse order.
   */
  LogicalPlan leaf(Seq<Attribute> output, boolean isStreaming, SparkSession session) {
    long bytes = isStreaming ? session.sessionState().conf().defaultSizeInBytes() : BYTES;
    Statistics size = new Statistics(BigInt.apply(bytes), Option.empty(), AttributeMap$.MODULE$.empty(), false);
    return new LogicalRDD(output, this, LogicalRDD.apply$default$3(), LogicalRDD.apply$default$4(), isStreaming,
        Option.empty(), session, Option.apply(size), Option.empty(), false);
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    throw new IllegalStateException("it is not read, but planned");
  }

  @Override
  public Partition[] getPartitions() {
    throw new IllegalStateException("it is not read, but planned");
  }
}
