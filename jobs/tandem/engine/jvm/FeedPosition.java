package tandem;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/** Behind an epoch, whose cut is at offset `log` of the ordering log: where a scan of a feed stands, or begins. */
final class FeedPosition extends Offset implements PartitionOffset, InputPartition {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();
  static final FeedPosition BEGINNING = new FeedPosition(-1L, 0L);

  final long epoch;
  final long log;

  FeedPosition(long epoch, long log) {
    this.epoch = epoch;
    this.log = log;
  }

  static FeedPosition of(String json) {
    try {
      JsonNode read = JSON.readTree(json);
      return new FeedPosition(read.get("epoch").longValue(), read.get("log").longValue());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public String json() {
    return "{\"epoch\":" + epoch + ",\"log\":" + log + "}";
  }
}
