package tandem;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingSourceIdentifyingName;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.execution.streaming.RealTimeTrigger;
import org.apache.spark.sql.execution.streaming.runtime.StreamingExecutionRelation;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.PartialFunction$;
import scala.collection.immutable.Seq;

/** A plan over the stream of a bridge becomes one over a feed. */
public final class FeedPlan {
  /** How long a batch may last, ms: it ends behind barriers only. */
  private static final long LASTING_MS = TimeUnit.DAYS.toMillis(3_650);

  private final Feed feed;
  private final Table table;

  public FeedPlan(Feed feed) {
    this.feed = feed;
    this.table = new FeedTable(feed);
  }

  /** What takes the rows. */
  public Table sink() {
    return table;
  }

  public Trigger trigger() {
    return RealTimeTrigger.apply(LASTING_MS);
  }

  /** The analysed plan with a scan of the feed, each with its own number, wherever it reads `source`. */
  public LogicalPlan over(LogicalPlan plan, SparkDataStream source) {
    AtomicInteger scans = new AtomicInteger();
    return plan.transform(PartialFunction$.MODULE$.fromFunction(node -> scan(node, source, scans)));
  }

  @SuppressWarnings("unchecked") // a relation's columns are references
  private LogicalPlan scan(LogicalPlan node, SparkDataStream source, AtomicInteger scans) {
    if (!(node instanceof StreamingExecutionRelation read) || !read.source().equals(source)) return node;
    Seq<AttributeReference> columns = (Seq<AttributeReference>) (Seq<?>) read.output();
    int number = scans.getAndIncrement();
    Scan scan = new FeedTable.EpochScan(feed, number);
    StreamingSourceIdentifyingName name = read.sourceIdentifyingName();
    StreamingDataSourceV2Relation relation = new StreamingDataSourceV2Relation(table, columns, Option.empty(),
        Option.empty(), CaseInsensitiveStringMap.empty(), "", Option.apply(LASTING_MS), name);
    return new StreamingDataSourceV2ScanRelation(
        relation, scan, columns, scan.toMicroBatchStream(""), Option.empty(), Option.empty());
  }
}
