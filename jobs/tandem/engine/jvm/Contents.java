package tandem;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.MultiLikeBase;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.expressions.aggregate.PivotFirst;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.Iterator;

/** What a plan computes with, and `toJSON` leaves out: session variables, rows that are constants, LIKE ANY, PIVOT. */
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
    if (expression instanceof MultiLikeBase like) {
      parts.addArray().add("the patterns").add(like.patterns().mkString("'", "', '", "'"));
    }
    if (expression instanceof PivotFirst pivot) {
      parts.addArray().add("the columns of the pivot").add(pivot.pivotColumnValues().mkString("'", "', '", "'"));
    }
    if (expression instanceof PlanExpression<?> inner && inner.plan() instanceof LogicalPlan plan) add(plan);
    for (Iterator<Expression> each = expression.children().iterator(); each.hasNext();) add(each.next());
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
