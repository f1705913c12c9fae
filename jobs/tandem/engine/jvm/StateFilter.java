package tandem;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.streaming.state.StateRewriter;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/**
 * Writes into one checkpoint those rows of the state of others that a condition chooses, by Spark's own rewriting of state.
 *
 * Spark gives the state of each store of the first checkpoint; the same of the others is added to it here.
 */
public final class StateFilter extends AbstractFunction1<Dataset<Row>, Dataset<Row>> {
  private static final String KEY = "partition_key";

  private final SparkSession session;
  private final List<String> others = new ArrayList<>();
  private final List<Long> batches = new ArrayList<>();
  private final Map<Long, String> conditions = new HashMap<>();
  private final int partitions;

  /** Of stores with so many partitions. */
  public StateFilter(SparkSession session, int partitions) {
    this.session = session;
    this.partitions = partitions;
  }

  /** The function `tandem_murmur2` of bytes, by which Kafka's producers choose a partition: never negative. */
  public static void register(SparkSession session) {
    session.udf().register("tandem_murmur2", (UDF1<byte[], Integer>) StateFilter::murmur2, DataTypes.IntegerType);
  }

  /** Also the state in that checkpoint, after that batch. */
  public void add(String checkpoint, long batch) {
    others.add(checkpoint);
    batches.add(batch);
  }

  /** Only the rows of an operator that fulfil the condition, in SQL over `partition_key`. */
  public void where(long operator, String condition) {
    conditions.put(operator, condition);
  }

  /** What is in the checkpoint `from` after the batch `read`, and in the others, becomes the state of `to` after `batch`. */
  public void rewrite(String from, long read, String to, long batch) {
    new StateRewriter(
            session, read, batch, to, session.sessionState().newHadoopConf(), Option.apply(from), Option.apply(this), Option.empty())
        .run();
  }

  @Override
  public Dataset<Row> apply(Dataset<Row> state) {
    CaseInsensitiveStringMap options = optionsOf(((org.apache.spark.sql.classic.Dataset<Row>) state).queryExecution().analyzed());
    Dataset<Row> all = state;
    for (int other = 0; other < others.size(); other++) {
      Map<String, String> own = new HashMap<>(options.asCaseSensitiveMap());
      own.keySet().removeIf(name -> name.equalsIgnoreCase("path") || name.equalsIgnoreCase("batchId"));
      own.put("path", others.get(other));
      own.put("batchId", Long.toString(batches.get(other)));
      all = all.union(session.read().format("statestore").options(own).load());
    }
    String condition = conditions.get(options.getLong("operatorId", 0L));
    return (condition == null ? all : all.where(condition)).repartition(partitions, functions.col(KEY));
  }

  /** With what Spark reads this state. */
  private static CaseInsensitiveStringMap optionsOf(LogicalPlan plan) {
    if (plan instanceof DataSourceV2Relation read) return read.options();
    Iterator<LogicalPlan> each = plan.children().iterator();
    if (each.hasNext()) return optionsOf(each.next());
    throw new IllegalStateException("Spark reads the state in another way than is known: " + plan);
  }

  /** As `org.apache.kafka.common.utils.Utils.murmur2`, without its sign. */
  static int murmur2(byte[] data) {
    if (data == null) return 0;
    final int m = 0x5bd1e995;
    int h = 0x9747b28c ^ data.length;
    int whole = data.length / 4 * 4;
    for (int i = 0; i < whole; i += 4) {
      int k = (data[i] & 0xff) | (data[i + 1] & 0xff) << 8 | (data[i + 2] & 0xff) << 16 | (data[i + 3] & 0xff) << 24;
      k *= m;
      k ^= k >>> 24;
      k *= m;
      h *= m;
      h ^= k;
    }
    int left = data.length - whole;
    if (left >= 3) h ^= (data[whole + 2] & 0xff) << 16;
    if (left >= 2) h ^= (data[whole + 1] & 0xff) << 8;
    if (left >= 1) {
      h ^= data[whole] & 0xff;
      h *= m;
    }
    h ^= h >>> 13;
    h *= m;
    h ^= h >>> 15;
    return h & 0x7fffffff;
  }
}
