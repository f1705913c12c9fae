package tandem;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A feed as Spark's real-time mode asks for it: its source, one scan of it, and its sink. */
final class FeedTable implements SupportsRead, SupportsWrite {
  private final Feed feed;

  FeedTable(Feed feed) {
    this.feed = feed;
  }

  @Override
  public String name() {
    return "tandem";
  }

  @Override
  @SuppressWarnings("deprecation") // there is no other way to say it that does not build on it
  public StructType schema() {
    return feed.schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(
        TableCapability.MICRO_BATCH_READ, TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    throw new UnsupportedOperationException("scans are put into the plan: see FeedPlan");
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new Writing(feed, info.schema());
  }

  /** The scan of that number. */
  static final class EpochScan implements Scan {
    private final Feed feed;
    private final MicroBatchStream stream;

    EpochScan(Feed feed, int number) {
      this.feed = feed;
      this.stream = new EpochStream(feed, number);
    }

    @Override
    public StructType readSchema() {
      return feed.schema;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return stream;
    }
  }

  private record EpochStream(Feed feed, int scan) implements MicroBatchStream, SupportsRealTimeMode {
    @Override
    public Offset initialOffset() {
      return feed.start;
    }

    /** Spark asks before each batch. It is not known before that ends: any will do. */
    @Override
    public Offset latestOffset() {
      feed.beginBatch();
      return feed.start;
    }

    @Override
    public Offset deserializeOffset(String json) {
      return FeedPosition.of(json);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start) {
      feed.plan(scan);
      return new InputPartition[] {(FeedPosition) start};
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      throw new UnsupportedOperationException("only in real-time mode");
    }

    @Override
    public Offset mergeOffsets(PartitionOffset[] offsets) {
      return (FeedPosition) offsets[0];
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Readers(feed.number, scan);
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
  }

  private record Readers(long feed, int scan) implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new FeedReader(Feed.of(feed), scan, (FeedPosition) partition);
    }
  }

  /** Spark asks for this interface, an internal one, before it lets a sink take updates. */
  private record Writing(Feed feed, StructType schema) implements WriteBuilder, SupportsStreamingUpdateAsAppend {
    @Override
    public Write build() {
      return new Write() {
        @Override
        public StreamingWrite toStreaming() {
          return new Sink(feed, schema);
        }
      };
    }
  }

  private record Sink(Feed feed, StructType schema) implements StreamingWrite {
    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
      feed.begin();
      return new Writers(feed.number, schema);
    }

    @Override
    public boolean useCommitCoordinator() {
      return false;
    }

    @Override
    public void commit(long batch, WriterCommitMessage[] messages) {
      feed.endBatch(batch);
    }

    @Override
    public void abort(long batch, WriterCommitMessage[] messages) {}
  }

  private record Writers(long feed, StructType schema) implements StreamingDataWriterFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task, long batch) {
      return new FeedWriter(Feed.of(feed), schema, partition, TaskContext.get().taskAttemptId());
    }
  }
}
