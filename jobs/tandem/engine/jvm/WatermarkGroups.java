package tandem;

import java.util.UUID;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.PartialFunction$;
import scala.collection.Iterator;

/** Reads and marks the watermarks of a plan: see `engine/watermarks.py`. */
public final class WatermarkGroups {
  /** The identities of a plan's watermarks, separated by spaces. */
  public String identities(LogicalPlan plan) {
    StringBuilder found = new StringBuilder(plan instanceof EventTimeWatermark mark ? mark.nodeId() + " " : "");
    for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext();) {
      found.append(identities(each.next()));
    }
    return found.toString();
  }

  /** The same plan; the second half of each watermark's identity is the number of its group. */
  public LogicalPlan marked(LogicalPlan plan, int group) {
    return plan.transform(PartialFunction$.MODULE$.fromFunction(node -> ofGroup(node, group)));
  }

  private static LogicalPlan ofGroup(LogicalPlan node, int group) {
    if (!(node instanceof EventTimeWatermark mark)) return node;
    UUID identity = new UUID(mark.nodeId().getMostSignificantBits(), group);
    return mark.copy(identity, mark.eventTime(), mark.delay(), mark.child());
  }
}
