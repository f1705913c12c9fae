package tandem;

import java.util.ArrayList;
import java.util.List;
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
    // The first call that names a file of defaults has all of them read again, so that is done now.
    ConfigUtil.loadResources();
    HdfsConfiguration.init();
    List<String> needless = new ArrayList<>();
    for (Map.Entry<String, String> setting : configuration) {
      if (isNeedless(configuration.getPropertySources(setting.getKey()))) needless.add(setting.getKey());
    }
    needless.forEach(configuration::unset);
  }

  private static boolean isNeedless(String[] sources) {
    if (sources == null || sources.length == 0) return false;
    String last = sources[sources.length - 1];
    return "yarn-default.xml".equals(last) || "mapred-default.xml".equals(last);
  }
}
