package tandem;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.WritableByteChannel;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.VectorUnloader;
import org.apache.arrow.vector.ipc.WriteChannel;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.util.TaskCompletionListener;

/** The rows of one task, sent by the epoch. */
final class FeedWriter implements DataWriter<InternalRow> {
  /** Frames to Python: bytes that follow, epoch (-1: it is the schema), part, parts of the epoch, rows. */
  private static final int HEADER = 4 + 8 + 4 + 4 + 4;
  private static final long LATE = -2L;
  /** More memory than this is given back behind so many epochs that need little of it: else each would clear all of it. */
  private static final int MOST_KEPT = 1 << 20;
  private static final int SMALL_EPOCHS = 32;

  private final Feed feed;
  private final int part;
  private final Schema columns;
  private VectorSchemaRoot root;
  private VectorUnloader unloader;
  private ArrowWriter arrow;
  private Frame frame;
  private int rows;
  private int small;

  FeedWriter(Feed feed, StructType schema, int part, long task) {
    this.feed = feed;
    this.part = part;
    columns = ArrowUtils.toArrowSchema(schema, "UTC", true, false, false);
    takeMemory();
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> root.close());
    feed.register(this, task);
    sendSchema();
  }

  private void takeMemory() {
    root = VectorSchemaRoot.create(columns, ArrowUtils.rootAllocator());
    unloader = new VectorUnloader(root);
    arrow = ArrowWriter.create(root);
    frame = new Frame();
    small = 0;
  }

  @Override
  public void write(InternalRow row) {
    arrow.write(row);
    rows++;
  }

  /** The task has gone through `epoch`, whose rows are those written since the epoch before. */
  void passed(long epoch) {
    try {
      frame.begin();
      if (rows > 0) {
        arrow.finish();
        try (ArrowRecordBatch batch = unloader.getRecordBatch()) {
          MessageSerializer.serialize(new WriteChannel(frame), batch);
        }
      }
      feed.send(frame.ended(epoch, part, feed.parts(), rows));
      small = frame.isMuchTooLarge() ? small + 1 : 0;
      if (small == SMALL_EPOCHS) {
        root.close();
        takeMemory();
      } else if (rows > 0) {
        arrow.reset();
      }
      rows = 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A frame that says how many rows of a batch came too late for a watermark. */
  static ByteBuffer lateRows(long count) {
    ByteBuffer frame = ByteBuffer.allocate(HEADER).order(ByteOrder.LITTLE_ENDIAN);
    return frame.putLong(4, LATE).putInt(20, (int) Math.min(Integer.MAX_VALUE, count));
  }

  private void sendSchema() {
    try {
      frame.begin();
      MessageSerializer.serialize(new WriteChannel(frame), columns);
      feed.send(frame.ended(-1L, part, feed.parts(), 0));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public WriterCommitMessage commit() {
    if (rows > 0) {
      throw new IllegalStateException(rows + " rows came behind the end of their epoch: the plan holds rows back");
    }
    return Done.NOTHING;
  }

  @Override
  public void abort() {}

  @Override
  public void close() {}

  private enum Done implements WriterCommitMessage {
    NOTHING
  }

  /** A frame under way: memory that grows, and is used again. */
  private static final class Frame implements WritableByteChannel {
    private ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 16).order(ByteOrder.LITTLE_ENDIAN);

    void begin() {
      buffer.clear();
      buffer.position(HEADER);
    }

    /** Whether the frame that was ended last needed little of the memory, and that is much. */
    boolean isMuchTooLarge() {
      return buffer.capacity() > MOST_KEPT && buffer.limit() < buffer.capacity() / 8;
    }

    ByteBuffer ended(long epoch, int part, int parts, int rows) {
      buffer.flip();
      buffer.putInt(0, buffer.limit() - HEADER).putLong(4, epoch).putInt(12, part).putInt(16, parts).putInt(20, rows);
      return buffer;
    }

    @Override
    public int write(ByteBuffer source) {
      int count = source.remaining();
      if (count > buffer.remaining()) {
        int needed = Math.addExact(buffer.position(), count);
        int size = (int) Math.min(Integer.MAX_VALUE - 8, Math.max(needed, 2L * buffer.capacity()));
        ByteBuffer larger = ByteBuffer.allocateDirect(size).order(ByteOrder.LITTLE_ENDIAN);
        larger.put(buffer.flip());
        buffer = larger;
      }
      buffer.put(source);
      return count;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }
}
