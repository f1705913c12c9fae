package tandem;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ReadChannel;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.util.Clock;

/**
 * What one query in Spark's real-time mode and Python share: a Unix socket, by which whole epochs come and their rows go.
 *
 * An epoch's end is no record: Spark pulls one row at a time through the whole plan of a task, so when it asks for the
 * first row behind an epoch (`FeedReader`), all rows of the epoch have been written (`FeedWriter`), and are sent.
 *
 * A plan may read the feed several times (a union). Each scan is a task of its own and gets every epoch. Tasks are run in
 * this JVM, and find their feed by its number.
 */
public final class Feed implements Clock {
  /** Frames from Python: bytes of the batch, epoch, its offset in the log, its time (Unix, ms), and whether a barrier is behind it. */
  private static final int HEADER = 4 + 8 + 8 + 8 + 4;
  private static final long WAIT_MS = 200L;

  private static final Map<Long, Feed> FEEDS = new ConcurrentHashMap<>();
  private static final AtomicLong NUMBERS = new AtomicLong();

  final long number = NUMBERS.incrementAndGet();
  final StructType schema;
  final FeedPosition start;
  private final Schema arrow;
  private final SocketChannel channel;
  private final Map<Integer, BlockingQueue<FeedEpoch>> scans = new TreeMap<>();
  private final List<FeedEpoch> early = new ArrayList<>();
  private final Map<Long, FeedWriter> writers = new ConcurrentHashMap<>();
  private final Map<Long, FeedReader> readers = new ConcurrentHashMap<>();
  private boolean begun;
  private WatermarkLog watermarks;
  private volatile String closed;
  private volatile long timeMs;
  private volatile long barrierMs;
  private volatile long barrierNumber;
  private long received;
  private boolean waits;

  /**
   * Connects to `socket`, where Python listens.
   *
   * `schema`: of an epoch's records. `after`: the position of the epoch before the first one; null if there is none.
   */
  public Feed(StructType schema, String after, String socket) throws IOException {
    this.schema = schema;
    this.start = after == null ? FeedPosition.BEGINNING : FeedPosition.of(after);
    this.arrow = ArrowUtils.toArrowSchema(schema, "UTC", true, false, false);
    this.channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    channel.connect(UnixDomainSocketAddress.of(socket));
  }

  /** Where the watermarks of the query that starts next are written; null: it keeps no state. */
  public void keepWatermarks(WatermarkLog log) {
    watermarks = log;
  }

  /** A batch is planned when its first epoch is there: what that epoch has changed is in the plan. Before the query starts. */
  public void planAtFirstEpoch() {
    waits = true;
  }

  /** To be called before the query starts. */
  public void open() {
    FEEDS.put(number, this);
    Thread thread = new Thread(this::receive, "feed-" + number);
    thread.setDaemon(true);
    thread.start();
  }

  /** Nothing will come or go any more; a task that still runs fails. */
  public void close() {
    close("the query was stopped");
  }

  synchronized void close(String why) {
    if (closed != null) return;
    closed = why;
    notifyAll();
    FEEDS.remove(number);
    try {
      channel.close();
    } catch (IOException e) {
      // It is of no use any more, either way.
    }
    early.forEach(FeedEpoch::release);
    early.clear();
    // What a reader has taken it lets go of itself.
    for (BlockingQueue<FeedEpoch> queue : scans.values()) {
      for (FeedEpoch epoch = queue.poll(); epoch != null; epoch = queue.poll()) epoch.release();
    }
  }

  static Feed of(long number) {
    Feed feed = FEEDS.get(number);
    if (feed == null) throw new IllegalStateException("the query was stopped");
    return feed;
  }

  // Tasks -------------------------------------------------------------------------------------------------------------

  /** Spark has planned this scan of the plan: what the optimiser leaves out gets no epochs. */
  synchronized void plan(int scan) {
    scans.computeIfAbsent(scan, number -> new LinkedBlockingQueue<>());
  }

  /** All scans are planned, and the tasks are about to start. */
  synchronized void begin() {
    if (scans.isEmpty()) throw new IllegalStateException("the plan reads no record of any input");
    if (begun) return;
    begun = true;
    early.forEach(this::hand);
    early.clear();
  }

  BlockingQueue<FeedEpoch> register(FeedReader reader, int scan, long task) {
    if (readers.putIfAbsent(task, reader) != null) {
      throw new IllegalStateException("two scans of the input in one task: it is not known when an epoch has passed both");
    }
    return scans.get(scan);
  }

  void register(FeedWriter writer, long task) {
    writers.put(task, writer);
  }

  void ended(long task) {
    readers.remove(task);
    writers.remove(task);
  }

  FeedWriter writer(long task) {
    FeedWriter writer = writers.get(task);
    if (writer == null) {
      throw new IllegalStateException("a shuffle between the input and the sink: it is not known when an epoch has passed it");
    }
    return writer;
  }

  int parts() {
    return scans.size();
  }

  void check() {
    if (closed != null) throw new IllegalStateException(closed);
  }

  // Batches -----------------------------------------------------------------------------------------------------------

  /** Spark begins one, in the query's thread: it has asked for nothing yet that depends on a watermark. */
  void beginBatch() {
    if (watermarks != null) watermarks.begin();
    if (waits) awaitEpoch();
  }

  private synchronized void awaitEpoch() {
    try {
      while (received == barrierNumber) {
        check();
        wait(WAIT_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // what Spark takes for a stop
      throw new UncheckedIOException(new InterruptedIOException("stopped before a batch"));
    }
  }

  /** A task has passed the last epoch of a batch; the same for all tasks. */
  void passedBarrier(FeedEpoch epoch) {
    barrierMs = epoch.timeMs;
    barrierNumber = epoch.number;
  }

  /** All tasks have ended, and Spark is about to commit the batch. */
  void endBatch(long batch) {
    if (watermarks == null) return;
    try {
      SparkPlan plan = watermarks.plan();
      watermarks.advance(batch, plan, barrierMs);
      long late = Plans.lateRows(plan);
      if (late > 0) send(FeedWriter.lateRows(late));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  // Epochs ------------------------------------------------------------------------------------------------------------

  private void receive() {
    try {
      ReadChannel in = new ReadChannel(channel);
      ByteBuffer header = ByteBuffer.allocate(HEADER).order(ByteOrder.LITTLE_ENDIAN);
      while (closed == null) {
        header.clear();
        if (in.readFully(header) < HEADER) throw new EOFException("Python has closed the channel");
        header.flip();
        header.getInt();
        FeedPosition position = new FeedPosition(header.getLong(), header.getLong());
        long time = header.getLong();
        int ends = header.getInt();
        offer(new FeedEpoch(received + 1, position, time, ends, read(in)));
      }
    } catch (Throwable e) {
      close(e.toString());
    }
  }

  private VectorSchemaRoot read(ReadChannel in) throws IOException {
    VectorSchemaRoot root = VectorSchemaRoot.create(arrow, ArrowUtils.rootAllocator());
    try (ArrowRecordBatch batch = MessageSerializer.deserializeRecordBatch(in, ArrowUtils.rootAllocator())) {
      new VectorLoader(root).load(batch);
      return root;
    } catch (Throwable e) {
      root.close();
      throw e;
    }
  }

  private synchronized void offer(FeedEpoch epoch) {
    timeMs = epoch.timeMs;
    received = epoch.number;
    notifyAll();
    if (closed != null) {
      epoch.release();
    } else if (begun) {
      hand(epoch);
    } else {
      early.add(epoch);
    }
  }

  private void hand(FeedEpoch epoch) {
    epoch.share(scans.size());
    for (BlockingQueue<FeedEpoch> queue : scans.values()) queue.add(epoch);
  }

  /** Sends a frame of rows, whole. */
  synchronized void send(ByteBuffer frame) throws IOException {
    check();
    while (frame.hasRemaining()) channel.write(frame);
  }

  // Clock -------------------------------------------------------------------------------------------------------------

  /** The time of the epoch offered last. */
  @Override
  public long getTimeMillis() {
    return timeMs;
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public long waitTillTime(long targetTime) {
    return timeMs;
  }
}
