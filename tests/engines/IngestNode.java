import java.util.concurrent.CountDownLatch;
import org.codelibs.opensearch.runner.OpenSearchRunner;

/** The runner's node, with ingest pipelines: by its command line it makes nodes that run none. */
class IngestNode {
    public static void main(String[] args) throws InterruptedException {
        OpenSearchRunner runner = new OpenSearchRunner();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                runner.close();
            } catch (java.io.IOException error) {
                System.err.println(error);
            }
        }));
        runner.onBuild((number, settings) -> settings.putList("node.roles", "cluster_manager", "data", "ingest"));
        runner.build(args);
        new CountDownLatch(1).await();
    }
}
