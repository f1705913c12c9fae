package tandem;

import com.globalmentor.apache.hadoop.fs.BareLocalFileSystem;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.file.Files;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Local files, listed by name, of which RocksDB's tables are linked instead of copied on their way into a checkpoint and
 * out of it.
 *
 * RocksDB never changes a table that it has written, and makes its own checkpoints by hard links too. Copies of them are
 * most of what loading a large state costs, and hold it in memory twice. Where no link can be made, as between two disks,
 * files are copied.
 */
public final class LinkingFileSystem extends BareLocalFileSystem {
  private static final URI LOCAL = URI.create("file:///");

  /** From now on, this is the JVM's file system of the scheme `file`. */
  public LinkingFileSystem(Configuration conf) throws Exception {
    initialize(LOCAL, conf);
    Method put = FileSystem.class.getDeclaredMethod(
        "addFileSystemForTesting", URI.class, Configuration.class, FileSystem.class);
    put.setAccessible(true);
    put.invoke(null, LOCAL, conf, this);
  }

  @Override
  public void copyToLocalFile(boolean delSrc, Path from, Path to) throws IOException {
    if (delSrc || !isLinked(from, to)) super.copyToLocalFile(delSrc, from, to);
  }

  @Override
  public void copyFromLocalFile(boolean delSrc, Path from, Path to) throws IOException {
    if (delSrc || !isLinked(from, to)) super.copyFromLocalFile(delSrc, from, to);
  }

  /** By name: a disk has an order of its own, and Spark reads a table's files in the order in which they are listed. */
  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    FileStatus[] found = super.listStatus(path);
    Arrays.sort(found);
    return found;
  }

  private boolean isLinked(Path from, Path to) {
    if (!from.getName().endsWith(".sst")) return false;
    java.nio.file.Path target = pathToFile(to).toPath();
    try {
      Files.deleteIfExists(target); // a copy onto a link would be written into every other name of the file, too
      Files.createLink(target, pathToFile(from).toPath());
      return true;
    } catch (IOException | UnsupportedOperationException e) {
      return false;
    }
  }
}
