package tandem;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.UUID;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;

/** Where the watermarks of one query are written, if it has several: a file for each batch, beside Spark's own logs. */
public final class WatermarkLog {
  private final SparkSession session;
  private final Path folder;
  private final long kept;
  private final long startsAfter;
  private final String saved;
  private final String idle;
  private MicroBatchExecution query;
  private Watermarks watermarks;

  /**
   * `folder` has files for the newest `batches`. `batch`: at which the checkpoint stands; `content`: what is in its file; null
   * if it has none. `idleAfter`: see `Watermarks.install`.
   */
  public WatermarkLog(
      SparkSession session, String folder, long batches, long batch, String content, String idleAfter) {
    this.session = session;
    this.folder = Path.of(folder);
    kept = batches;
    startsAfter = batch;
    saved = content;
    idle = idleAfter;
  }

  /**
   * Called in the query's own thread, as often as one likes, when it has read its checkpoint and begun no batch. Whether it
   * was called for the first time.
   */
  boolean begin() {
    if (query != null) return false;
    String id = session.sparkContext().getLocalProperty(StreamExecution.QUERY_ID_KEY());
    StreamingQueryWrapper started = (StreamingQueryWrapper) session.streams().get(UUID.fromString(id));
    query = (MicroBatchExecution) started.streamingQuery();
    try {
      watermarks = Watermarks.install(query, startsAfter, saved, idle);
    } catch (Exception e) {
      throw new IllegalStateException("the watermarks after batch " + startsAfter + ": " + saved, e);
    }
    return true;
  }

  /** Whose watermarks these are; null before `begin`. */
  MicroBatchExecution query() {
    return query;
  }

  /** The plan of the batch that the query runs. */
  SparkPlan plan() {
    return query.lastExecution().executedPlan();
  }

  /**
   * Takes in what the plan of `batch`, which ends at `timeMs`, has seen, before Spark commits it.
   *
   * It is written whole or not at all, and never into a file that another checkpoint may share.
   */
  void advance(long batch, SparkPlan plan, long timeMs) throws IOException {
    if (watermarks == null) return;
    String state = watermarks.advance(batch, plan, timeMs);
    Files.createDirectories(folder);
    Path file = folder.resolve("." + batch);
    Files.write(file, state.getBytes(StandardCharsets.UTF_8));
    Files.move(file, folder.resolve(Long.toString(batch)), StandardCopyOption.ATOMIC_MOVE);
    Files.deleteIfExists(folder.resolve(Long.toString(batch - kept)));
  }
}
