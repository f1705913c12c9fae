package tandem;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.mapreduce.util.ConfigUtil;

/**
 * Hadoop's configuration without the defaults of YARN and MapReduce, two thirds of it, which nothing here reads.
 *
 * Spark sends the whole configuration to its tasks in every epoch, once for each access to a state store.
 */
public final class LeanConfiguration {
  public LeanConfiguration(Configuration configuration) {
    // Whoever names a file of defaults first has all of them read anew, so that is done now.
    ConfigUtil.loadResources();
    HdfsConfiguration.init();
    ArrayList needless = new ArrayList();
    Iterator each = configuration.iterator();
    while (each.hasNext()) {
      String name = (String) ((Map.Entry) each.next()).getKey();
      if (isNeedless(configuration.getPropertySources(name))) needless.add(name);
    }
    for (int i = 0; i < needless.size(); i++) configuration.unset((String) needless.get(i));
  }

  private static boolean isNeedless(String[] sources) {
    if (sources == null || sources.length == 0) return false;
    String last = sources[sources.length - 1];
    return "yarn-default.xml".equals(last) || "mapred-default.xml".equals(last);
  }
}
