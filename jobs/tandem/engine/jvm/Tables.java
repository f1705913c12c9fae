package tandem;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Seq;

/** Tables whose rows Python sets before an epoch, and which `EpochStrategy` puts into the epoch's plan. */
public final class Tables {
  private final SparkSession session;
  private final Map<String, InternalRow[]> rows = new ConcurrentHashMap<>();

  Tables(SparkSession session) {
    this.session = session;
  }

  /** The table of that name, which has rows when a query runs. */
  public Dataset<Row> table(String name, Seq<Attribute> columns) {
    StandIn standIn = new StandIn(session.sparkContext(), null, () -> rowsOf(name));
    return org.apache.spark.sql.classic.Dataset.ofRows(session, standIn.leaf(columns, false, session));
  }

  /** From now on the table has the rows of that file. */
  public void set(String name, String path) throws IOException {
    rows.put(name, ArrowRows.read(Path.of(path)));
  }

  private InternalRow[] rowsOf(String name) {
    InternalRow[] found = rows.get(name);
    if (found == null) throw new IllegalArgumentException( // which PySpark raises as an error of its own
        "the table " + name + " has no rows while the job's function runs: join it to a stream, and return that");
    return found;
  }
}
