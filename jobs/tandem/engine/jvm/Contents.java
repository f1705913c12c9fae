package tandem;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Map;
import scala.collection.Seq;

/**
 * What a plan computes with, and `toJSON` leaves out: session variables, rows that are constants, options as those of
 * `from_json`, and constants in lists, as the patterns of LIKE ANY and the columns of a PIVOT.
 */
public final class Contents {
  private final ArrayNode parts = new ObjectMapper().createArrayNode();

  private Contents() {}

  /** A list of [kind, text], as JSON, in the plan's order; the same in every JVM for the same values. */
  public static String of(LogicalPlan plan) {
    Contents contents = new Contents();
    contents.add(plan);
    return contents.parts.toString();
  }

  private void add(LogicalPlan plan) {
    if (plan instanceof LocalRelation rows) parts.addArray().add("the rows").add(hashed(rows));
    for (Iterator<Expression> each = plan.expressions().iterator(); each.hasNext();) add(each.next());
    for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext();) add(each.next());
  }

  private void add(Expression expression) {
    if (expression instanceof VariableReference variable) {
      parts.addArray().add("the variable").add(variable.sql() + " = " + variable.varDef().currentValue().sql());
    }
    for (Iterator<Object> each = expression.productIterator(); each.hasNext();) {
      String text = unwritten(each.next());
      if (!text.isEmpty()) parts.addArray().add("the part " + expression.nodeName()).add(text);
    }
    if (expression instanceof PlanExpression<?> inner && inner.plan() instanceof LogicalPlan plan) add(plan);
    for (Iterator<Expression> each = expression.children().iterator(); each.hasNext();) add(each.next());
  }

  /** Options in the order of their names, or a list of constants; "" for all else, which is written or is no constant. */
  private static String unwritten(Object field) {
    TreeSet<String> options = new TreeSet<>();
    StringBuilder list = new StringBuilder();
    if (field instanceof Map<?, ?> map) {
      for (Iterator<?> each = map.iterator(); each.hasNext();) {
        if (each.next() instanceof Tuple2<?, ?> one && one._1() instanceof String && one._2() instanceof String) {
          options.add(one._1() + "=" + one._2());
        }
      }
    } else if (field instanceof Seq<?> values) {
      for (Iterator<?> each = values.iterator(); each.hasNext();) {
        Object one = each.next();
        if (one instanceof UTF8String || one instanceof Number) list.append("'").append(one).append("' ");
      }
    }
    return options.isEmpty() ? list.toString() : options.toString();
  }

  /** Rows as bytes have the same hash everywhere; as objects, maps have not. */
  private static String hashed(LocalRelation relation) {
    UnsafeProjection bytes = UnsafeProjection$.MODULE$.create(relation.schema());
    long count = 0L;
    long hash = 0L;
    for (Iterator<InternalRow> each = relation.data().iterator(); each.hasNext(); count++) {
      hash = 31L * hash + bytes.apply(each.next()).hashCode();
    }
    return count + " rows with the hash " + Long.toHexString(hash);
  }
}
