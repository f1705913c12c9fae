package tandem;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import scala.collection.Iterator;

/** Rows that Python has written as a stream of Arrow's. */
final class ArrowRows {
  private ArrowRows() {}

  /** All rows of a file. */
  static InternalRow[] read(Path path) throws IOException {
    List<InternalRow> rows = new ArrayList<>();
    Iterator<InternalRow> stream = ArrowConverters$.MODULE$.fromIPCStream(Files.readAllBytes(path))._1();
    try {
      while (stream.hasNext()) rows.add(stream.next().copy());
    } finally {
      try {
        ((AutoCloseable) stream).close();
      } catch (Exception e) {
        throw new IOException(e);
      }
    }
    return rows.toArray(new InternalRow[0]);
  }
}
