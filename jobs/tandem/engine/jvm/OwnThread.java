package tandem;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.util.SparkClosureCleaner$;
import org.apache.spark.util.SparkUncaughtExceptionHandler;
import scala.Option;
import scala.collection.Iterator;

/**
 * Computes an epoch's plan in the caller's thread, one partition after the other, where it needs no shuffle.
 *
 * For a plan of one stage, Spark's scheduler cleans closures, serialises the task, sends it to another thread of this process
 * and sends the rows back: about a third of a small epoch's processor time, and nothing that a job on one core needs. A
 * task's context, memory, listeners and ends are as the scheduler makes them (`Executor.TaskRunner`, `Task.run`).
 */
final class OwnThread {
  private static final long FIRST_TASK = 1L << 40; // never a number of the scheduler's

  private final SparkContext spark;
  private long nextTask = FIRST_TASK;
  private boolean hasShuffles;
  private volatile TaskContextImpl running;
  private volatile String interrupted;

  OwnThread(SparkContext spark) {
    this.spark = spark;
  }

  /** The plan's rows, in the order of its partitions. Raises what an operator raises. */
  InternalRow[] collect(SparkPlan plan) {
    if (hasShuffles || collectsItsOwnWay(plan)) return plan.executeCollect();
    RDD<InternalRow> rdd = executed(plan);
    if (needsShuffle(rdd)) {
      hasShuffles = true; // so has the query's next epoch: the plan is not built twice for it
      return plan.executeCollect();
    }
    List<InternalRow> rows = new ArrayList<>();
    for (Partition partition : rdd.partitions()) compute(rdd, partition, rows);
    return rows.toArray(new InternalRow[0]);
  }

  /** From any thread: what is computed now ends, and whatever is begun after it, too. */
  void interrupt(String why) {
    interrupted = why;
    TaskContextImpl task = running;
    if (task != null) task.markInterrupted(why);
  }

  /** A new query may compute. */
  void begin() {
    interrupted = null;
    hasShuffles = false;
  }

  private static RDD<InternalRow> executed(SparkPlan plan) {
    SparkClosureCleaner$.MODULE$.needless(true);
    try {
      return plan.execute();
    } finally {
      SparkClosureCleaner$.MODULE$.needless(false);
    }
  }

  private void compute(RDD<InternalRow> rdd, Partition partition, List<InternalRow> rows) {
    SparkEnv env = SparkEnv.get();
    long task = nextTask++;
    env.blockManager().registerTask(task); // locks on blocks, of broadcasts for example, belong to a task
    TaskMemoryManager memory = new TaskMemoryManager(env.memoryManager(), task);
    TaskContextImpl context = new TaskContextImpl(0, 0, partition.index(), task, 0, rdd.partitions().length, memory,
        (Properties) spark.getLocalProperties().clone(), env.metricsSystem(),
        TaskContextImpl.$lessinit$greater$default$10(), TaskContextImpl.$lessinit$greater$default$11(),
        TaskContextImpl.$lessinit$greater$default$12());
    TaskContext$.MODULE$.setTaskContext(context);
    running = context;
    if (interrupted != null) context.markInterrupted(interrupted);
    Throwable failure = null;
    try {
      Iterator<InternalRow> each = rdd.iterator(partition, context);
      while (each.hasNext()) {
        context.killTaskIfInterrupted();
        rows.add(each.next().copy());
      }
    } catch (Throwable raised) {
      failure = raised;
      if (raised instanceof VirtualMachineError) new SparkUncaughtExceptionHandler(false).uncaughtException(raised);
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
