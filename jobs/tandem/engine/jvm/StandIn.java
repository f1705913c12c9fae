package tandem;

import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;

/** In a leaf of a `StandingPlan`, by which `EpochStrategy` knows it: for the whole `plan`, or for an epoch's `records`. */
final class StandIn extends RDD<InternalRow> {
  private static final long serialVersionUID = 1L;

  final transient StandingPlan plan;
  final transient Supplier<InternalRow[]> records;

  StandIn(SparkContext spark, StandingPlan plan, Supplier<InternalRow[]> records) {
    super(spark, Plans.seq(List.of()), ClassTag$.MODULE$.apply(InternalRow.class));
    this.plan = plan;
    this.records = records;
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
