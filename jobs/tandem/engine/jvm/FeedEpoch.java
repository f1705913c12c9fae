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
  final FeedPosition position;
  final long timeMs;
  final boolean barrier;
  private final VectorSchemaRoot records;
  private final AtomicInteger users = new AtomicInteger(1);

  FeedEpoch(FeedPosition position, long timeMs, boolean barrier, VectorSchemaRoot records) {
    this.position = position;
    this.timeMs = timeMs;
    this.barrier = barrier;
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
