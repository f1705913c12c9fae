package tandem;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.api.python.PythonAccumulatorV2;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.util.SparkClosureCleaner$;
import org.apache.spark.util.SparkUncaughtExceptionHandler;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.collection.Iterator;

/**
 * Computes an epoch's plan in a thread of its own, one partition after the other, where it needs no shuffle.
 *
 * For a plan of one stage, Spark's scheduler cleans closures, serialises the task, sends it to another thread of this process
 * and sends the rows back: more than a quarter of a small epoch's processor time, and nothing that a job on one core needs. A
 * task's context, memory, listeners and ends are as the scheduler makes them (`Executor.TaskRunner`, `Task.run`). A stop
 * leaves behind what does not end, as it does there.
 */
final class OwnThread {
  private final SparkContext spark;
  private final AtomicLong nextTask = new AtomicLong(1L << 40); // never a number of the scheduler's
  private boolean hasShuffles;
  private ExecutorService thread = newThread();
  private volatile TaskContextImpl running;
  private volatile PythonAccumulatorV2 added;
  private volatile boolean counts;

  OwnThread(SparkContext spark) {
    this.spark = spark;
  }

  /**
   * What Python's functions add to is the driver's own here, which keeps it; a task of the scheduler's has a copy. What is
   * added while a query is only tried out (`counts` is false) is dropped.
   */
  void accumulates(PythonAccumulatorV2 added, boolean counts) {
    this.added = added;
    this.counts = counts;
  }

  /** A new query computes from now on. */
  void begin() {
    hasShuffles = false;
  }

  /**
   * The plan's rows, in the order of its partitions. Raises what an operator raises; `InterruptedException`: the query is
   * stopped.
   */
  InternalRow[] collect(SparkPlan plan) throws InterruptedException {
    if (hasShuffles || collectsItsOwnWay(plan) || Plans.observes(plan)) return plan.executeCollect();
    RDD<InternalRow> rdd = executed(plan);
    if (needsShuffle(rdd)) {
      hasShuffles = true; // so has the query's next epoch: the plan is not built twice for it
      return plan.executeCollect();
    }
    Properties properties = (Properties) spark.getLocalProperties().clone();
    Future<List<InternalRow>> rows = thread.submit(() -> computed(rdd, properties));
    try {
      InternalRow[] found = rows.get().toArray(new InternalRow[0]);
      handOver();
      return found;
    } catch (InterruptedException stop) {
      abandon();
      throw stop;
    } catch (ExecutionException raised) {
      throw unchecked(raised.getCause());
    }
  }

  /** Accumulators of Python get what was added to them, as at the end of a task. */
  private void handOver() {
    if (added == null || added.isZero()) return;
    PythonAccumulatorV2 epoch = added.copyAndReset();
    added.value().forEach(epoch::add);
    added.reset();
    if (!counts) return;
    try {
      added.merge(epoch);
    } catch (Throwable raised) { // by the job's own way of adding: the rows are right, and Spark's scheduler goes on, too
      if (isFatal(raised) || raised instanceof InterruptedException) throw raised;
      LoggerFactory.getLogger(OwnThread.class).error("accumulators were not updated", raised);
    }
  }

  private static RDD<InternalRow> executed(SparkPlan plan) {
    SparkClosureCleaner$.MODULE$.needless(true);
    try {
      return plan.execute();
    } finally {
      SparkClosureCleaner$.MODULE$.needless(false);
    }
  }

  private List<InternalRow> computed(RDD<InternalRow> rdd, Properties properties) {
    List<InternalRow> rows = new ArrayList<>();
    for (Partition partition : rdd.partitions()) compute(rdd, partition, properties, rows);
    return rows;
  }

  private void compute(RDD<InternalRow> rdd, Partition partition, Properties properties, List<InternalRow> rows) {
    SparkEnv env = SparkEnv.get();
    long task = nextTask.getAndIncrement();
    env.blockManager().registerTask(task); // locks on blocks, of broadcasts for example, belong to a task
    TaskMemoryManager memory = new TaskMemoryManager(env.memoryManager(), task);
    TaskContextImpl context = new TaskContextImpl(0, 0, partition.index(), task, 0, rdd.partitions().length, memory,
        properties, env.metricsSystem(), TaskContextImpl.$lessinit$greater$default$10(),
        TaskContextImpl.$lessinit$greater$default$11(), TaskContextImpl.$lessinit$greater$default$12());
    TaskContext$.MODULE$.setTaskContext(context);
    running = context;
    Throwable failure = null;
    try {
      Iterator<InternalRow> each = rdd.iterator(partition, context);
      while (each.hasNext()) {
        context.killTaskIfInterrupted();
        rows.add(each.next().copy());
      }
    } catch (Throwable raised) {
      failure = raised;
      if (added != null) added.reset();
      if (isFatal(raised)) new SparkUncaughtExceptionHandler(false).uncaughtException(raised); // ends the JVM
      context.markTaskFailed(raised);
      throw raised;
    } finally {
      running = null;
      end(context, memory, failure, env, task);
    }
  }

  /** Listeners first, which commit the state: what one raises has failed the task. */
  private static void end(
      TaskContextImpl context, TaskMemoryManager memory, Throwable failure, SparkEnv env, long task) {
    try {
      context.markTaskCompleted(Option.apply(failure));
    } finally {
      TaskContext$.MODULE$.unset();
      memory.cleanUpAllAllocatedMemory();
      env.blockManager().releaseAllLocksForTask(task);
      env.memoryManager().releaseAllExecutionMemoryForTask(task);
    }
  }

  private void abandon() {
    TaskContextImpl task = running;
    if (task != null) task.markInterrupted("the query is stopped"); // for Python workers, which end then
    thread.shutdownNow();
    thread = newThread();
  }

  private static ExecutorService newThread() {
    return Executors.newSingleThreadExecutor(work -> {
      Thread made = new Thread(work, "epoch");
      made.setDaemon(true);
      return made;
    });
  }

  private static boolean isFatal(Throwable raised) {
    return raised instanceof VirtualMachineError && !(raised instanceof SparkOutOfMemoryError);
  }

  /** What Scala raises is not declared. */
  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException unchecked(Throwable raised) throws T {
    throw (T) raised;
  }

  /** An operator that has its own way to be collected needs no job for it, or knows better which. */
  private static boolean collectsItsOwnWay(SparkPlan plan) {
    try {
      return plan.getClass().getMethod("executeCollect").getDeclaringClass() != SparkPlan.class;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean needsShuffle(RDD<?> rdd) {
    for (Iterator<Dependency<?>> each = rdd.dependencies().iterator(); each.hasNext();) {
      Dependency<?> dependency = each.next();
      if (dependency instanceof ShuffleDependency<?, ?, ?> || needsShuffle(dependency.rdd())) return true;
    }
    return false;
  }
}
