package tandem;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.planning.PhysicalOperation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Plans the leaves of a `StandingPlan`: the whole of it as its optimised plan, its stream as the epoch's records.
 *
 * Of these, a scan takes the rows that pass the filters right above it, and the columns that are read.
 */
public final class EpochStrategy extends SparkStrategy {
  /** Spark asks for the strategies of a session. */
  public static final class OfSession extends AbstractFunction1<SparkSession, SparkStrategy> {
    @Override
    public SparkStrategy apply(SparkSession session) {
      return new EpochStrategy();
    }
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    StandIn whole = standIn(plan);
    if (whole != null && whole.plan != null) return Plans.seq(List.of(planLater(whole.plan.optimised())));
    Option<Tuple3<Seq<NamedExpression>, Seq<Expression>, LogicalPlan>> found = PhysicalOperation$.MODULE$.unapply(plan);
    StandIn stream = found.isEmpty() ? null : standIn(found.get()._3());
    if (stream == null) return Plans.seq(List.of());
    List<NamedExpression> columns = CollectionConverters.asJava(found.get()._1());
    List<Expression> filters = CollectionConverters.asJava(found.get()._2());
    return Plans.seq(List.of(scan(stream, found.get()._3().output(), columns, filters)));
  }

  private static StandIn standIn(LogicalPlan plan) {
    return plan instanceof LogicalRDD leaf && leaf.rdd() instanceof StandIn found ? found : null;
  }

  private static SparkPlan scan(
      StandIn stream, Seq<Attribute> all, List<NamedExpression> columns, List<Expression> filters) {
    Expression condition = filters.stream().reduce(And::new).orElse(null);
    // A subquery is planned later, so nobody can look at its condition now.
    boolean isFiltered = condition != null && !SubqueryExpression$.MODULE$.hasSubquery(condition);
    List<Expression> read = new ArrayList<>(columns.stream().map(Expression.class::cast).toList());
    if (condition != null && !isFiltered) read.add(condition);
    Seq<Attribute> needed = needed(all, read);
    InternalRow[] rows = rows(stream.records.get(), all, needed, isFiltered ? condition : null);
    SparkPlan scan = new LocalTableScanExec(needed, ArraySeq$.MODULE$.unsafeWrapArray(rows), Option.empty(), false);
    if (condition != null && !isFiltered) scan = new FilterExec(condition, scan);
    Seq<NamedExpression> output = Plans.seq(columns);
    return output.equals(needed) ? scan : new ProjectExec(output, scan);
  }

  private static Seq<Attribute> needed(Seq<Attribute> all, List<Expression> read) {
    AttributeSet references = AttributeSet.fromAttributeSets(Plans.seq(read.stream().map(Expression::references).toList()));
    return Plans.seq(CollectionConverters.asJava(all).stream().filter(references::contains).toList());
  }

  private static InternalRow[] rows(
      InternalRow[] records, Seq<Attribute> all, Seq<Attribute> needed, Expression condition) {
    List<Attribute> columns = CollectionConverters.asJava(all);
    int[] places = CollectionConverters.asJava(needed).stream().mapToInt(columns::indexOf).toArray();
    BasePredicate predicate = condition == null ? null : Predicate$.MODULE$.create(condition, all);
    if (predicate != null) predicate.initialize(0);
    List<InternalRow> rows = new ArrayList<>(records.length);
    for (InternalRow record : records) {
      if (predicate != null && !predicate.eval(record)) continue;
      Object[] values = new Object[places.length];
      for (int i = 0; i < values.length; i++) values[i] = record.get(places[i], columns.get(places[i]).dataType());
      rows.add(new GenericInternalRow(values));
    }
    return rows.toArray(new InternalRow[0]);
  }
}
