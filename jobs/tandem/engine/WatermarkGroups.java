package tandem;

import java.util.UUID;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Reads and marks the watermarks of a plan: see `engine/watermarks.py`. */
public final class WatermarkGroups {
  /** The identities of a plan's watermarks, separated by spaces. */
  public String identities(LogicalPlan plan) {
    String found = plan instanceof EventTimeWatermark ? ((EventTimeWatermark) plan).nodeId() + " " : "";
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) found = found + identities((LogicalPlan) children.next());
    return found;
  }

  /** The same plan; the second half of each watermark's identity is the number of its group. */
  public LogicalPlan marked(LogicalPlan plan, int group) { return (LogicalPlan) plan.transform(new Marking(group)); }

  private static final class Marking extends scala.runtime.AbstractPartialFunction {
    private final int group;

    Marking(int group) { this.group = group; }

    public boolean isDefinedAt(Object node) { return node instanceof EventTimeWatermark; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      EventTimeWatermark found = (EventTimeWatermark) node;
      UUID marked = new UUID(found.nodeId().getMostSignificantBits(), group);
      return found.copy(marked, found.eventTime(), found.delay(), found.child());
    }
  }
}
