package tandem;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedMutableProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
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
 * The filters and columns right above the stream are evaluated here, over the rows, as the optimiser does it with rows that
 * it knows (`ConvertToLocalRelation`).
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
    List<Expression> columns = expressions(CollectionConverters.asJava(found.get()._1()));
    List<Expression> filters = CollectionConverters.asJava(found.get()._2());
    return Plans.seq(List.of(scan(stream, found.get()._3().output(), columns, filters)));
  }

  private static StandIn standIn(LogicalPlan plan) {
    return plan instanceof LogicalRDD leaf && leaf.rdd() instanceof StandIn found ? found : null;
  }

  /** What is no type of Java's: each named expression is an expression. */
  private static List<Expression> expressions(List<? extends NamedExpression> named) {
    return named.stream().map(Expression.class::cast).toList();
  }

  private static List<NamedExpression> named(List<Expression> expressions) {
    return expressions.stream().map(NamedExpression.class::cast).toList();
  }

  private static SparkPlan scan(
      StandIn stream, Seq<Attribute> all, List<Expression> columns, List<Expression> filters) {
    Expression condition = filters.stream().reduce(And::new).orElse(null);
    InternalRow[] records = stream.records.get();
    if (condition != null && canEvaluate(condition)) {
      records = passing(records, condition, all);
      condition = null;
    }
    if (condition == null && columns.stream().allMatch(EpochStrategy::canEvaluate)) return projected(records, columns, all);
    List<Expression> read = new ArrayList<>(columns);
    if (condition != null) read.add(condition);
    SparkPlan scan = projected(records, needed(all, read), all);
    return new ProjectExec(Plans.seq(named(columns)), condition == null ? scan : new FilterExec(condition, scan));
  }

  /** Python's functions, and what depends on the partition, wait for operators; so do subqueries, which are planned later. */
  private static boolean canEvaluate(Expression expression) {
    if (expression instanceof Unevaluable && !(expression instanceof Attribute)) return false;
    return expression.deterministic()
        && CollectionConverters.asJava(expression.children()).stream().allMatch(EpochStrategy::canEvaluate);
  }

  private static List<Expression> needed(Seq<Attribute> all, List<Expression> read) {
    AttributeSet references = AttributeSet.fromAttributeSets(Plans.seq(read.stream().map(Expression::references).toList()));
    return expressions(CollectionConverters.asJava(all).stream().filter(references::contains).toList());
  }

  private static InternalRow[] passing(InternalRow[] records, Expression condition, Seq<Attribute> all) {
    BasePredicate predicate = Predicate$.MODULE$.create(condition, all);
    predicate.initialize(0);
    return Arrays.stream(records).filter(predicate::eval).toArray(InternalRow[]::new);
  }

  private static SparkPlan projected(InternalRow[] records, List<Expression> columns, Seq<Attribute> all) {
    InterpretedMutableProjection projection = new InterpretedMutableProjection(Plans.seq(columns), all);
    projection.initialize(0);
    InternalRow[] rows = new InternalRow[records.length];
    for (int i = 0; i < rows.length; i++) rows[i] = projection.apply(records[i]).copy();
    Seq<Attribute> output = Plans.seq(named(columns).stream().map(NamedExpression::toAttribute).toList());
    return new LocalTableScanExec(output, ArraySeq$.MODULE$.unsafeWrapArray(rows), Option.empty(), false);
  }
}
