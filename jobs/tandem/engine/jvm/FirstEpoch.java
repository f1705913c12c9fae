package tandem;

import java.util.UUID;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata$;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution$;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator$;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;

/** Spark checks much of a streaming plan only when it plans a batch of it: here before there is one. */
public final class FirstEpoch {
  private FirstEpoch() {}

  /** Raises what Spark raises when it optimises and plans a batch of `plan`. Nothing is executed, and nothing is written. */
  public static void plan(SparkSession session, LogicalPlan plan, OutputMode mode) {
    OffsetSeqMetadata$ metadata = OffsetSeqMetadata$.MODULE$;
    IncrementalExecution$ defaults = IncrementalExecution$.MODULE$;
    new IncrementalExecution(session, plan, mode, "", UUID.randomUUID(), UUID.randomUUID(), 0, Option.empty(),
        metadata.apply(0L, 0L, metadata.apply$default$3()), WatermarkPropagator$.MODULE$.noop(), false,
        defaults.$lessinit$greater$default$12(), defaults.$lessinit$greater$default$13(),
        defaults.$lessinit$greater$default$14(), defaults.$lessinit$greater$default$15(),
        defaults.$lessinit$greater$default$16()).sparkPlan();
  }
}
