package tandem;

import java.util.Iterator;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.util.TaskCompletionListener;

/**
 * One scan of a feed, in its task: epoch after epoch.
 *
 * It ends behind a barrier only, never by time: a batch costs tens of milliseconds to end and to begin.
 */
final class FeedReader implements SupportsRealTimeRead<InternalRow> {
  private static final long WAIT_MS = 100L;
  private static final RecordStatus RECORD = RecordStatus.newStatusWithoutArrivalTime(true);
  private static final RecordStatus NONE = RecordStatus.newStatusWithoutArrivalTime(false);

  private final Feed feed;
  private final TaskContext task = TaskContext.get();
  private final BlockingQueue<FeedEpoch> epochs;
  private FeedPosition passed;
  private FeedEpoch current;
  private Iterator<InternalRow> rows;
  private InternalRow row;

  FeedReader(Feed feed, int scan, FeedPosition start) {
    this.feed = feed;
    this.passed = start;
    this.epochs = feed.register(this, scan, task.taskAttemptId());
    task.addTaskCompletionListener((TaskCompletionListener) context -> letGo());
  }

  @Override
  public RecordStatus nextWithTimeout(Long timeoutMs) {
    while (true) {
      if (current != null) {
        if (rows.hasNext()) {
          row = rows.next();
          return RECORD;
        }
        if (pass()) return NONE;
      }
      take();
    }
  }

  @Override
  public RecordStatus nextWithTimeout(Long startMs, Long timeoutMs) {
    return nextWithTimeout(timeoutMs);
  }

  /** All rows of the epoch have been written; whether it was a barrier. */
  private boolean pass() {
    FeedEpoch epoch = current;
    if (!epoch.alone) feed.writer(task.taskAttemptId()).passed(epoch.position.epoch);
    if (epoch.barrier) feed.passedBarrier(epoch);
    passed = epoch.position;
    current = null;
    epoch.release();
    return epoch.barrier;
  }

  private void take() {
    try {
      while ((current = epochs.poll(WAIT_MS, TimeUnit.MILLISECONDS)) == null) {
        task.killTaskIfInterrupted();
        feed.check();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      task.killTaskIfInterrupted();
      throw new IllegalStateException("interrupted behind epoch " + passed.epoch, e);
    }
    if (current.position.epoch != passed.epoch + (current.alone ? 0 : 1)) {
      throw new IllegalStateException("epoch " + current.position.epoch + " was offered behind " + passed.epoch);
    }
    rows = current.rows();
  }

  private void letGo() {
    feed.ended(task.taskAttemptId());
    if (current != null) current.release();
    current = null;
  }

  @Override
  public PartitionOffset getOffset() {
    return passed;
  }

  @Override
  public boolean next() {
    throw new UnsupportedOperationException("only in real-time mode");
  }

  @Override
  public InternalRow get() {
    return row;
  }

  @Override
  public void close() {}
}
