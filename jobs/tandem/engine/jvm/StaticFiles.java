package tandem;

import java.io.File;
import java.net.URI;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import scala.collection.Iterator;

/**
 * The files of static tables. Spark lists them once, and reads what they hold whenever a plan is executed: each epoch, or in
 * real-time mode each batch.
 *
 * A table that is too large to be copied is read where it is. So a file that is written again while the job runs is noticed
 * before and behind each reading, by its size and time. What a store keeps (S3) is not asked about each time.
 */
final class StaticFiles {
  private StaticFiles() {}

  /** Raises if a file is not what it was when the plan was made. */
  static void check(SparkPlan plan) {
    if (plan instanceof FileSourceScanExec scan && scan.relation().location() instanceof PartitioningAwareFileIndex index) {
      for (Iterator<FileStatus> each = index.allFiles().iterator(); each.hasNext();) check(each.next());
    }
    if (plan instanceof InMemoryTableScanExec cached) check(cached.relation().cachedPlan());
    for (Iterator<SparkPlan> each = plan.children().iterator(); each.hasNext();) check(each.next());
    for (Iterator<SparkPlan> each = plan.subqueries().iterator(); each.hasNext();) check(each.next());
  }

  private static void check(FileStatus listed) {
    URI uri = listed.getPath().toUri();
    if (uri.getScheme() != null && !"file".equals(uri.getScheme())) return;
    File now = new File(uri.getPath());
    if (now.length() != listed.getLen() || now.lastModified() != listed.getModificationTime()) {
      throw new IllegalStateException("ChangedTableException: the file " + now + " of a static table was written or removed"
          + " while the job runs, and is read where it is: rows would be others in each replica");
    }
  }

  /** Whether a plan reads static tables only. */
  static boolean isAllOf(SparkPlan plan) {
    Iterator<SparkPlan> each = plan.children().iterator();
    if (!each.hasNext()) {
      return plan instanceof FileSourceScanExec
          || plan instanceof InMemoryTableScanExec cached && isAllOf(cached.relation().cachedPlan());
    }
    while (each.hasNext()) {
      if (!isAllOf(each.next())) return false;
    }
    return true;
  }
}
