package tandem;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.python.PythonAccumulatorV2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.streaming.Offset;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.execution.streaming.runtime.SerializedOffset;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.Clock;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Seq;

/**
 * The JVM's end of the bridge between Tandem and a streaming query: source, sink and clock in one.
 *
 * Python offers an epoch's records as an Arrow file, Spark runs them as one micro-batch, Python takes the rows as an
 * Arrow file and acknowledges; only then does Spark commit the batch. All waits are bounded, so that a query can always be
 * stopped.
 */
public final class EpochBridge implements Source, Sink, Clock {
  private static final long WAIT_MS = 200L;

  private final StructType schema;
  private final org.apache.spark.sql.classic.SparkSession session;
  private final Seq<Attribute> attributes;
  private final Path results;
  private final Dataset<Row> nothing;
  private final OwnThread ownThread; // null where executors compute
  private final Tables tables;
  private final BlockingQueue<Offer> offers = new ArrayBlockingQueue<>(1);
  private final BlockingQueue<String> computed = new ArrayBlockingQueue<>(1);
  private final BlockingQueue<Boolean> acknowledged = new ArrayBlockingQueue<>(1);
  private StructType resultSchema;
  private WatermarkLog watermarks;
  private InternalRow[] records;
  private boolean isStanding;
  private boolean isOffered;
  private volatile boolean stopped;
  private volatile String position;
  private volatile Path input;
  private volatile long timeMs;

  /** An epoch on its way to Spark. */
  private record Offer(String offset, Path records, long timeMs) {}

  public EpochBridge(StructType schema, org.apache.spark.sql.classic.SparkSession session,
      Seq<Attribute> attributes, String results) {
    this.schema = schema;
    this.session = session;
    this.attributes = attributes;
    this.results = Path.of(results);
    nothing = dataset(new InternalRow[0]);
    tables = new Tables(session);
    ownThread = session.sparkContext().isLocal() ? new OwnThread(session.sparkContext()) : null;
  }

  // Called by Python --------------------------------------------------------------------------------------------------

  /** Before a query starts: nothing is left of an earlier one. */
  public void begin() {
    offers.clear();
    computed.clear();
    acknowledged.clear();
    input = null;
    position = null;
    stopped = false;
    isOffered = false;
    if (ownThread != null) ownThread.begin();
  }

  /** What Python's functions add to; see `OwnThread`. */
  public void accumulates(PythonAccumulatorV2 added, boolean counts) {
    if (ownThread != null) ownThread.accumulates(added, counts);
  }

  /** What the query's tables hold. */
  public Tables tables() {
    return tables;
  }

  /** Where the watermarks of the query that starts next are written. */
  public void keepWatermarks(WatermarkLog log) {
    watermarks = log;
  }

  /** The next epoch: its offset, the file with its records, its time; false if the last one is still under way. */
  public boolean offer(String offset, String path, long epochTimeMs) throws InterruptedException {
    return offers.offer(new Offer(offset, Path.of(path), epochTimeMs), WAIT_MS, TimeUnit.MILLISECONDS);
  }

  /** The epoch whose rows are in the result file, and how many rows came too late in it; "" after a short wait. */
  public String take() throws InterruptedException {
    String epoch = computed.poll(WAIT_MS, TimeUnit.MILLISECONDS);
    return epoch == null ? "" : epoch;
  }

  /** The rows of the epoch were taken over: Spark may commit it. */
  public void acknowledge() throws InterruptedException {
    acknowledged.put(true);
  }

  // Source ------------------------------------------------------------------------------------------------------------

  @Override
  @SuppressWarnings("deprecation") // a sink's, which nobody asks for; a source has the same method
  public StructType schema() {
    return schema;
  }

  /**
   * Spark asks first when it has read the checkpoint. Only an offered epoch is an offset: Spark runs a batch for each one that
   * is not, byte for byte, what the checkpoint says, though that may be the same position.
   */
  @Override
  public Option<Offset> getOffset() {
    if (watermarks.begin()) isStanding = StandingPlan.install(watermarks.query(), this, () -> records);
    try {
      Offer offer = stopped ? null : offers.poll(WAIT_MS, TimeUnit.MILLISECONDS);
      if (offer == null) return Option.empty();
      timeMs = offer.timeMs();
      input = offer.records();
      position = offer.offset();
      isOffered = true;
      return Option.apply(new SerializedOffset(position));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Option.empty();
    }
  }

  /**
   * The rows of the offered epoch; none for a query with a standing plan, which has them. Spark also asks for the last epoch
   * before a restart, only for its reports of progress.
   */
  @Override
  public Dataset<Row> getBatch(Option<Offset> start, Offset end) {
    boolean offered = input != null && end.json().equals(position);
    try {
      records = offered ? ArrowRows.read(input) : new InternalRow[0];
      return isStanding ? nothing : dataset(records);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Dataset<Row> dataset(InternalRow[] rows) {
    return org.apache.spark.sql.classic.Dataset.ofRows(
        session, new LocalRelation(attributes, ArraySeq$.MODULE$.unsafeWrapArray(rows), true, Option.empty()));
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void commit(org.apache.spark.sql.connector.read.streaming.Offset end) {}

  @Override
  public org.apache.spark.sql.connector.read.streaming.Offset initialOffset() {
    return new SerializedOffset("{\"epoch\":-1,\"log\":0}");
  }

  @Override
  public org.apache.spark.sql.connector.read.streaming.Offset deserializeOffset(String json) {
    return new SerializedOffset(json);
  }

  @Override
  public void stop() {
    stopped = true;
  }

  // Clock -------------------------------------------------------------------------------------------------------------

  /** The time of the epoch offered last, which Spark takes as the time of its batch: the same in every replica. */
  @Override
  public long getTimeMillis() {
    return timeMs;
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  /** Nothing waits: the query is triggered by offers, not by time. */
  @Override
  public long waitTillTime(long targetTime) {
    return timeMs;
  }

  // Sink --------------------------------------------------------------------------------------------------------------

  @Override
  public String name() {
    return "tandem";
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of();
  }

  @Override
  public String toString() {
    return name();
  }

  @Override
  public void addBatch(long epoch, Dataset<Row> batch) {
    if (!isOffered) throw new IllegalStateException("Spark runs batch " + epoch + ", but no epoch was offered");
    isOffered = false;
    try {
      QueryExecution execution = ((org.apache.spark.sql.classic.Dataset<Row>) batch).queryExecution();
      if (resultSchema == null) resultSchema = execution.analyzed().schema();
      InternalRow[] rows = collect(execution.executedPlan());
      checkRows(execution.executedPlan());
      Files.write(results, toArrow(rows));
      watermarks.advance(epoch, execution.executedPlan(), timeMs);
      computed.put(epoch + " " + Plans.lateRows(execution.executedPlan()));
      while (acknowledged.poll(WAIT_MS, TimeUnit.MILLISECONDS) == null) {
        if (stopped) throw new InterruptedException();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // what Spark takes for a stop, not for a failure:
      throw new UncheckedIOException(new InterruptedIOException("stopped in epoch " + epoch));
    }
  }

  /** Raises where the rows may be others in another replica; Python knows the errors by their names. */
  private static void checkRows(SparkPlan plan) {
    String spilled = Plans.spilled(plan);
    if (!spilled.isEmpty()) {
      throw new IllegalStateException("OutOfMemoryException: " + spilled
          + " had no room for all of its rows or groups, which come in another order from disk");
    }
    StaticFiles.check(plan);
  }

  private InternalRow[] collect(SparkPlan plan) throws InterruptedException {
    return ownThread == null ? plan.executeCollect() : ownThread.collect(plan);
  }

  // Arrow -------------------------------------------------------------------------------------------------------------

  private byte[] toArrow(InternalRow[] rows) {
    if (rows.length == 0) return new byte[0];
    Seq<InternalRow> all = ArraySeq$.MODULE$.unsafeWrapArray(rows);
    Iterator<byte[]> batches = ArrowConverters$.MODULE$.toBatchWithSchemaIterator(
        all.iterator(), resultSchema, 1 << 30, 1L << 40, "UTC", true, false);
    byte[] bytes = batches.next();
    batches.hasNext(); // releases the iterator's memory
    return bytes;
  }
}
