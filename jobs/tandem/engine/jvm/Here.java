package tandem;

import java.io.Serializable;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.broadcast.Broadcast;
import scala.reflect.ClassTag$;

/**
 * A broadcast where driver and executor are one process: the value itself, which is not serialised, nor stored in blocks.
 *
 * A task that Spark's scheduler does serialise finds it again by its number.
 */
public final class Here<T> extends Broadcast<T> {
  private static final long serialVersionUID = 1L;
  private static final int MOST_CLEARED = 1_000;
  private static final AtomicLong LAST = new AtomicLong(); // downwards: Spark's own numbers go up
  private static final Map<Long, WeakReference<Here<?>>> SENT = new ConcurrentHashMap<>();

  private final transient T value;

  /** What is written into a task. */
  private record Number(long id) implements Serializable {
    private Object readResolve() {
      Here<?> sent = SENT.get(id).get();
      if (sent == null) throw new IllegalStateException("nobody holds the broadcast " + id + " any more");
      return sent;
    }
  }

  public Here(T value, Class<T> type) {
    super(LAST.decrementAndGet(), ClassTag$.MODULE$.apply(type));
    this.value = value;
  }

  private Object writeReplace() {
    if (SENT.size() > MOST_CLEARED) SENT.values().removeIf(sent -> sent.get() == null);
    SENT.put(id(), new WeakReference<>(this));
    return new Number(id());
  }

  @Override
  public T getValue() {
    return value;
  }

  @Override
  public void doUnpersist(boolean blocking) {}

  @Override
  public void doDestroy(boolean blocking) {}
}
