package tandem;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.UUID;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.StreamingQueryPlanTraverseHelper$;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.MultipleWatermarkPolicy;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator$;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;

/**
 * The watermarks of a query that has several, as a state that can be saved and restored.
 *
 * Spark's tracker keeps the value of each watermark in memory and writes their minimum only, so a query that goes on from a
 * checkpoint would have other watermarks than one that ran through. This one says all that it knows after each epoch.
 *
 * Watermarks are in groups, see `engine/watermarks.py`; those of a group wait for each other, as all those of a query do
 * in Spark. With one group, Spark's own propagator works as ever; with several, each group has one of its own.
 */
public final class Watermarks extends WatermarkTracker implements WatermarkPropagator {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final MultipleWatermarkPolicy policy;
  private final LinkedHashMap nodes = new LinkedHashMap(); // identity -> Node, in the order of the plan
  private final ArrayList groups = new ArrayList(); // of Group
  private final HashMap groupOfOperator = new HashMap();
  private long lastEpoch = -1L;
  private boolean knowsBefore;

  /** A watermark of the plan: its value, and the time of the last epoch that brought it a row; null: none yet. */
  private static final class Node {
    String column;
    long idleMs = -1L; // after so long without a row it holds back no other; -1: never
    Long watermarkMs;
    Long rowMs;
  }

  /** Watermarks that wait for each other: `before` was theirs in the last epoch, `after` is in the next one. */
  private static final class Group {
    final ArrayList members = new ArrayList();
    WatermarkPropagator propagator;
    long before;
    long after;
  }

  /**
   * Replaces the tracker of a query that has loaded its checkpoint and begun no epoch.
   *
   * `saved` is what `advance` gave after `epoch`, at which the checkpoint stands; null if there is nothing. `idle`: after how
   * many ms a watermark is, by its identity. Returns null, and leaves the query as it is, if it has fewer than two
   * watermarks: what Spark writes is enough then.
   */
  public static Watermarks install(MicroBatchExecution query, long epoch, String saved, String idle) throws Exception {
    WatermarkTracker spark = query.watermarkTracker();
    Field policy = WatermarkTracker.class.getDeclaredField("policy");
    policy.setAccessible(true);
    Watermarks made = new Watermarks((MultipleWatermarkPolicy) policy.get(spark), query.logicalPlan(), JSON.readTree(idle));
    if (made.nodes.size() < 2) return null;
    made.begin(epoch, spark.currentWatermark(), saved);
    query.watermarkTracker_$eq(made);
    if (made.groups.size() > 1) {
      for (int number = 0; number < made.groups.size(); number++) {
        made.group(number).propagator =
            WatermarkPropagator$.MODULE$.apply(query.sparkSession().sessionState().conf());
      }
      Field propagator = MicroBatchExecution.class.getDeclaredField("watermarkPropagator");
      propagator.setAccessible(true);
      propagator.set(query, made);
    }
    return made;
  }

  private Watermarks(MultipleWatermarkPolicy policy, LogicalPlan plan, JsonNode idle) {
    super(policy, plan);
    this.policy = policy;
    find(plan, idle);
  }

  /** Spark writes nodes in the order in which it walks the plan; an identity may occur more than once. */
  private void find(LogicalPlan plan, JsonNode idle) {
    if (plan instanceof EventTimeWatermark) {
      EventTimeWatermark found = (EventTimeWatermark) plan;
      Node node = (Node) nodes.get(identity(found.nodeId()));
      if (node == null) {
        node = new Node();
        node.column = found.eventTime().name();
        JsonNode ms = field(idle, found.nodeId().toString());
        if (ms != null) node.idleMs = ms.longValue();
        nodes.put(identity(found.nodeId()), node);
      }
      int number = groupNumber(found.nodeId());
      while (groups.size() <= number) groups.add(new Group());
      if (!group(number).members.contains(node)) group(number).members.add(node);
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) find((LogicalPlan) children.next(), idle);
  }

  /** A marked watermark (see `WatermarkGroup`) keeps the first half of its identity. */
  private static Long identity(UUID nodeId) { return Long.valueOf(nodeId.getMostSignificantBits()); }

  private static int groupNumber(UUID nodeId) {
    long half = nodeId.getLeastSignificantBits();
    return half < 0 ? 0 : (int) half; // negative: one that Spark drew, and nobody marked
  }

  private Group group(int number) { return (Group) groups.get(number); }

  // Saved and restored ------------------------------------------------------------------------------------------------

  private void begin(long epoch, long least, String saved) throws Exception {
    lastEpoch = epoch;
    JsonNode state = saved == null ? null : JSON.readTree(saved);
    boolean same = state != null && restoreNodes(field(state, "watermarks"));
    same = same && field(state, "groups").size() == groups.size();
    for (int number = 0; number < groups.size(); number++) {
      Group group = group(number);
      if (same) {
        group.before = field(entry(field(state, "groups"), number), "before").longValue();
        group.after = field(entry(field(state, "groups"), number), "after").longValue();
      } else {
        group.after = Math.max(least, state == null ? least : chosen(group.members));
      }
    }
    knowsBefore = same;
  }

  /** Each watermark goes on with the value of the first one of its column that is left; whether all are what they were. */
  private boolean restoreNodes(JsonNode saved) {
    boolean[] taken = new boolean[saved.size()];
    boolean same = saved.size() == nodes.size();
    int position = 0;
    for (java.util.Iterator each = nodes.values().iterator(); each.hasNext(); position++) {
      Node node = (Node) each.next();
      int found = 0;
      while (found < taken.length
          && (taken[found] || !node.column.equals(field(entry(saved, found), "column").textValue()))) found++;
      same = same && found == position;
      if (found == taken.length) continue;
      taken[found] = true;
      node.watermarkMs = number(field(entry(saved, found), "watermarkMs"));
      node.rowMs = number(field(entry(saved, found), "rowMs"));
    }
    return same;
  }

  private static JsonNode field(JsonNode object, String name) { return (JsonNode) object.get(name); }

  private static JsonNode entry(JsonNode array, int position) { return (JsonNode) array.get(position); }

  private static Long number(JsonNode value) { return value.isNull() ? null : Long.valueOf(value.longValue()); }

  /** Takes in what an epoch's plan has seen, before Spark commits it; returns what the next epoch needs to know. */
  public String advance(long epoch, SparkPlan plan, long timeMs) {
    scala.collection.Iterator seen =
        StreamingQueryPlanTraverseHelper$.MODULE$.collectFromUnfoldedPlan(plan, new Watched()).iterator();
    while (seen.hasNext()) take((EventTimeWatermarkExec) seen.next(), timeMs);
    ObjectNode state = JSON.createObjectNode();
    ArrayNode watermarks = state.putArray("watermarks");
    for (java.util.Iterator each = nodes.values().iterator(); each.hasNext();) {
      Node node = (Node) each.next();
      if (node.rowMs == null) node.rowMs = Long.valueOf(timeMs);
      watermarks.addObject().put("column", node.column).put("watermarkMs", node.watermarkMs).put("rowMs", node.rowMs);
    }
    ArrayNode values = state.putArray("groups");
    for (int number = 0; number < groups.size(); number++) {
      Group group = group(number);
      group.before = group.after;
      group.after = Math.max(group.after, chosen(waitedFor(group, timeMs)));
      values.addObject().put("before", group.before).put("after", group.after);
    }
    lastEpoch = epoch;
    knowsBefore = true;
    return state.toString();
  }

  private void take(EventTimeWatermarkExec seen, long timeMs) {
    if (seen.eventTimeStats().value().count() == 0L) return;
    Node node = (Node) nodes.get(identity(seen.nodeId()));
    long watermark = seen.eventTimeStats().value().max() - seen.delayMs();
    if (node.watermarkMs == null || watermark > node.watermarkMs.longValue()) node.watermarkMs = Long.valueOf(watermark);
    node.rowMs = Long.valueOf(timeMs);
  }

  /** The watermarks of a group that are not idle; if all are, the newest of them, as nothing is left to wait for. */
  private static ArrayList waitedFor(Group group, long timeMs) {
    ArrayList found = new ArrayList();
    Node newest = (Node) group.members.get(0);
    for (int index = 0; index < group.members.size(); index++) {
      Node node = (Node) group.members.get(index);
      if (node.idleMs < 0L || timeMs - node.rowMs.longValue() < node.idleMs) found.add(node);
      if (valueOf(node) > valueOf(newest)) newest = node;
    }
    if (found.isEmpty()) found.add(newest);
    return found;
  }

  private long chosen(ArrayList some) {
    Object[] values = new Object[some.size()];
    for (int index = 0; index < values.length; index++) values[index] = Long.valueOf(valueOf((Node) some.get(index)));
    return policy.chooseGlobalWatermark(scala.collection.immutable.ArraySeq$.MODULE$.unsafeWrapArray(values));
  }

  private static long valueOf(Node node) { return node.watermarkMs == null ? 0L : node.watermarkMs.longValue(); }

  private static final class Watched extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) { return node instanceof EventTimeWatermarkExec; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      return isDefinedAt(node) ? node : otherwise.apply(node);
    }
  }

  // Tracker -----------------------------------------------------------------------------------------------------------

  /** Spark's own call, after the epoch: `advance` has done it. */
  public synchronized void updateWatermark(SparkPlan plan) {}

  /** What Spark writes: the least of all groups. */
  public synchronized long currentWatermark() {
    long least = group(0).after;
    for (int number = 1; number < groups.size(); number++) least = Math.min(least, group(number).after);
    return least;
  }

  // Propagator: with several groups -----------------------------------------------------------------------------------

  /** `least` is what Spark has written for that epoch; the groups know better, but for the state of another plan. */
  public void propagate(long epoch, SparkPlan plan, long least) {
    groupOfOperator.clear();
    below(plan);
    for (int number = 0; number < groups.size(); number++) {
      Group group = group(number);
      group.propagator.propagate(epoch, plan, epoch > lastEpoch ? group.after : knowsBefore ? group.before : least);
    }
  }

  /** The group of the watermarks below an operator; null if there are none. Notes that of each with a state. */
  private Integer below(SparkPlan plan) {
    Integer found = null;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      Integer one = below((SparkPlan) children.next());
      if (one != null) found = one;
    }
    if (plan instanceof EventTimeWatermarkExec) {
      found = Integer.valueOf(groupNumber(((EventTimeWatermarkExec) plan).nodeId()));
    }
    if (plan instanceof StateStoreWriter && found != null) {
      groupOfOperator.put(Long.valueOf(((StateStoreWriter) plan).getStateInfo().operatorId()), found);
    }
    return found;
  }

  private WatermarkPropagator of(long operator) {
    Integer found = (Integer) groupOfOperator.get(Long.valueOf(operator));
    return group(found == null ? 0 : found.intValue()).propagator;
  }

  public long getInputWatermarkForLateEvents(long epoch, long operator) {
    return of(operator).getInputWatermarkForLateEvents(epoch, operator);
  }

  public long getInputWatermarkForEviction(long epoch, long operator) {
    return of(operator).getInputWatermarkForEviction(epoch, operator);
  }

  public void purge(long epoch) {
    for (int number = 0; number < groups.size(); number++) group(number).propagator.purge(epoch);
  }
}
