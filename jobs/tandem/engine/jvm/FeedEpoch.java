package tandem;

import java.util.Iterator;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** An epoch's records, as Arrow has laid them out; its memory is free when all scans that share it have let it go. */
final class FeedEpoch {
  private static final int GOES_ON = 0;
  private static final int BARRIER_ALONE = 2;

  /** Of what has come through the channel, from 1 on. */
  final long number;
  final FeedPosition position;
  final long timeMs;
  /** Whether Spark's batch ends behind it. */
  final boolean barrier;
  /** Whether it is no epoch: a barrier behind the last one, while no epoch comes. It has that one's position, no records. */
  final boolean alone;
  private final VectorSchemaRoot records;
  private final AtomicInteger users = new AtomicInteger(1);

  FeedEpoch(long number, FeedPosition position, long timeMs, int ends, VectorSchemaRoot records) {
    this.number = number;
    this.position = position;
    this.timeMs = timeMs;
    this.barrier = ends != GOES_ON;
    this.alone = ends == BARRIER_ALONE;
    this.records = records;
  }

  /** So many will let it go. */
  void share(int count) {
    users.set(count);
  }

  void release() {
    if (users.decrementAndGet() == 0) records.close();
  }

  /** Each scan has an iterator of its own, which gives the same object for each row. */
  @SuppressWarnings("resource") // the batch only shows what `release` frees
  Iterator<InternalRow> rows() {
    ColumnVector[] columns =
        records.getFieldVectors().stream().map(FeedEpoch::column).toArray(ColumnVector[]::new);
    return new ColumnarBatch(columns, records.getRowCount()).rowIterator();
  }

  private static ColumnVector column(FieldVector vector) {
    return new ArrowColumnVector(vector);
  }
}
