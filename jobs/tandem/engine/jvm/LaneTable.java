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

/** A lane as Spark's real-time mode asks for it: its source, one scan of it, and its sink. */
final class LaneTable implements SupportsRead, SupportsWrite {
  private final Lane lane;

  LaneTable(Lane lane) {
    this.lane = lane;
  }

  @Override
  public String name() {
    return "tandem";
  }

  @Override
  @SuppressWarnings("deprecation") // there is no other way to say it that does not build on it
  public StructType schema() {
    return lane.schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(
        TableCapability.MICRO_BATCH_READ, TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    throw new UnsupportedOperationException("scans are put into the plan: see LanePlan");
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new Writing(lane, info.schema());
  }

  /** The scan of that number. */
  static final class EpochScan implements Scan {
    private final Lane lane;
    private final MicroBatchStream stream;

    EpochScan(Lane lane, int number) {
      this.lane = lane;
      this.stream = new EpochStream(lane, number);
    }

    @Override
    public StructType readSchema() {
      return lane.schema;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return stream;
    }
  }

  private record EpochStream(Lane lane, int scan) implements MicroBatchStream, SupportsRealTimeMode {
    @Override
    public Offset initialOffset() {
      return lane.start;
    }

    /** Not known before the batch ends: any will do. */
    @Override
    public Offset latestOffset() {
      return lane.start;
    }

    @Override
    public Offset deserializeOffset(String json) {
      return LanePosition.of(json);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start) {
      lane.plan(scan);
      return new InputPartition[] {(LanePosition) start};
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      throw new UnsupportedOperationException("only in real-time mode");
    }

    @Override
    public Offset mergeOffsets(PartitionOffset[] offsets) {
      return (LanePosition) offsets[0];
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Readers(lane.number, scan);
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
  }

  private record Readers(long lane, int scan) implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new LaneReader(Lane.of(lane), scan, (LanePosition) partition);
    }
  }

  /** Spark asks for this interface, an internal one, before it lets a sink take updates. */
  private record Writing(Lane lane, StructType schema) implements WriteBuilder, SupportsStreamingUpdateAsAppend {
    @Override
    public Write build() {
      return new Write() {
        @Override
        public StreamingWrite toStreaming() {
          return new Sink(lane, schema);
        }
      };
    }
  }

  private record Sink(Lane lane, StructType schema) implements StreamingWrite {
    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
      lane.begin();
      return new Writers(lane.number, schema);
    }

    @Override
    public boolean useCommitCoordinator() {
      return false;
    }

    @Override
    public void commit(long batch, WriterCommitMessage[] messages) {}

    @Override
    public void abort(long batch, WriterCommitMessage[] messages) {}
  }

  private record Writers(long lane, StructType schema) implements StreamingDataWriterFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task, long batch) {
      return new LaneWriter(Lane.of(lane), schema, partition, TaskContext.get().taskAttemptId());
    }
  }
}
