package tandem;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
import scala.Function$;
import scala.Option;
import scala.PartialFunction;
import scala.collection.Iterator;

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
  private final Map<Long, Node> nodes = new LinkedHashMap<>(); // by identity, in the order of the plan
  private final List<Group> groups = new ArrayList<>();
  private final Map<Long, Integer> groupOfOperator = new HashMap<>();
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
    final List<Node> members = new ArrayList<>();
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
      for (Group group : made.groups) {
        group.propagator = WatermarkPropagator$.MODULE$.apply(query.sparkSession().sessionState().conf());
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
    if (plan instanceof EventTimeWatermark found) {
      Node node = nodes.computeIfAbsent(identity(found.nodeId()), identity -> new Node());
      node.column = found.eventTime().name();
      JsonNode ms = idle.get(found.nodeId().toString());
      if (ms != null) node.idleMs = ms.longValue();
      int number = groupNumber(found.nodeId());
      while (groups.size() <= number) groups.add(new Group());
      List<Node> members = groups.get(number).members;
      if (!members.contains(node)) members.add(node);
    }
    for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext();) find(each.next(), idle);
  }

  /** A marked watermark (see `WatermarkGroup`) keeps the first half of its identity. */
  private static long identity(UUID nodeId) {
    return nodeId.getMostSignificantBits();
  }

  private static int groupNumber(UUID nodeId) {
    long half = nodeId.getLeastSignificantBits();
    return half < 0 ? 0 : (int) half; // negative: one that Spark drew, and nobody marked
  }

  // Saved and restored ------------------------------------------------------------------------------------------------

  private void begin(long epoch, long least, String saved) throws Exception {
    lastEpoch = epoch;
    JsonNode state = saved == null ? null : JSON.readTree(saved);
    boolean same = state != null && restoreNodes(state.get("watermarks"));
    same = same && state.get("groups").size() == groups.size();
    for (int number = 0; number < groups.size(); number++) {
      Group group = groups.get(number);
      if (same) {
        JsonNode values = state.get("groups").get(number);
        group.before = values.get("before").longValue();
        group.after = values.get("after").longValue();
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
    for (Node node : nodes.values()) {
      int found = 0;
      while (found < taken.length
          && (taken[found] || !node.column.equals(saved.get(found).get("column").textValue()))) found++;
      same = same && found == position++;
      if (found == taken.length) continue;
      taken[found] = true;
      node.watermarkMs = number(saved.get(found).get("watermarkMs"));
      node.rowMs = number(saved.get(found).get("rowMs"));
    }
    return same;
  }

  private static Long number(JsonNode value) {
    return value.isNull() ? null : value.longValue();
  }

  /** Takes in what an epoch's plan has seen, before Spark commits it; returns what the next epoch needs to know. */
  public String advance(long epoch, SparkPlan plan, long timeMs) {
    Iterator<EventTimeWatermarkExec> seen =
        StreamingQueryPlanTraverseHelper$.MODULE$.collectFromUnfoldedPlan(plan, watched()).iterator();
    while (seen.hasNext()) take(seen.next(), timeMs);
    ObjectNode state = JSON.createObjectNode();
    ArrayNode watermarks = state.putArray("watermarks");
    for (Node node : nodes.values()) {
      if (node.rowMs == null) node.rowMs = timeMs;
      watermarks.addObject().put("column", node.column).put("watermarkMs", node.watermarkMs).put("rowMs", node.rowMs);
    }
    ArrayNode values = state.putArray("groups");
    for (Group group : groups) {
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
    Node node = nodes.get(identity(seen.nodeId()));
    long watermark = seen.eventTimeStats().value().max() - seen.delayMs();
    if (node.watermarkMs == null || watermark > node.watermarkMs) node.watermarkMs = watermark;
    node.rowMs = timeMs;
  }

  /** The watermarks of a group that are not idle; if all are, the newest of them, as nothing is left to wait for. */
  private static List<Node> waitedFor(Group group, long timeMs) {
    List<Node> found = new ArrayList<>();
    Node newest = group.members.get(0);
    for (Node node : group.members) {
      if (node.idleMs < 0L || timeMs - node.rowMs < node.idleMs) found.add(node);
      if (valueOf(node) > valueOf(newest)) newest = node;
    }
    return found.isEmpty() ? List.of(newest) : found;
  }

  private long chosen(List<Node> some) {
    List<Object> values = new ArrayList<>();
    for (Node node : some) values.add(valueOf(node));
    return policy.chooseGlobalWatermark(Plans.seq(values));
  }

  private static long valueOf(Node node) {
    return node.watermarkMs == null ? 0L : node.watermarkMs;
  }

  private static PartialFunction<SparkPlan, EventTimeWatermarkExec> watched() {
    return Function$.MODULE$.unlift(
        plan -> plan instanceof EventTimeWatermarkExec mark ? Option.apply(mark) : Option.empty());
  }

  // Tracker -----------------------------------------------------------------------------------------------------------

  /** Spark's own call, after the epoch: `advance` has done it. */
  @Override
  public synchronized void updateWatermark(SparkPlan plan) {}

  /** What Spark writes: the least of all groups. */
  @Override
  public synchronized long currentWatermark() {
    long least = Long.MAX_VALUE;
    for (Group group : groups) least = Math.min(least, group.after);
    return least;
  }

  // Propagator: with several groups -----------------------------------------------------------------------------------

  /** `least` is what Spark has written for that epoch; the groups know better, but for the state of another plan. */
  @Override
  public void propagate(long epoch, SparkPlan plan, long least) {
    groupOfOperator.clear();
    below(plan);
    for (Group group : groups) {
      group.propagator.propagate(epoch, plan, epoch > lastEpoch ? group.after : knowsBefore ? group.before : least);
    }
  }

  /** The group of the watermarks below an operator; null if there are none. Notes that of each with a state. */
  private Integer below(SparkPlan plan) {
    Integer found = null;
    for (Iterator<SparkPlan> each = plan.children().iterator(); each.hasNext();) {
      Integer one = below(each.next());
      if (one != null) found = one;
    }
    if (plan instanceof EventTimeWatermarkExec mark) found = groupNumber(mark.nodeId());
    if (plan instanceof StateStoreWriter writer && found != null) {
      groupOfOperator.put(writer.getStateInfo().operatorId(), found);
    }
    return found;
  }

  private WatermarkPropagator of(long operator) {
    return groups.get(groupOfOperator.getOrDefault(operator, 0)).propagator;
  }

  @Override
  public long getInputWatermarkForLateEvents(long epoch, long operator) {
    return of(operator).getInputWatermarkForLateEvents(epoch, operator);
  }

  @Override
  public long getInputWatermarkForEviction(long epoch, long operator) {
    return of(operator).getInputWatermarkForEviction(epoch, operator);
  }

  @Override
  public void purge(long epoch) {
    for (Group group : groups) group.propagator.purge(epoch);
  }
}
