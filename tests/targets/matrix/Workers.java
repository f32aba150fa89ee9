// A Java program of real use: threads that hash, compress and allocate, a pool, timers; all checked.
// java Workers.java COUNTER-FILE; ends at SIGTERM.
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

public class Workers {
    static final AtomicLong rounds = new AtomicLong();
    static final AtomicLong wrong = new AtomicLong();
    static final AtomicLong ticks = new AtomicLong();
    static volatile boolean stopping;
    static volatile Object garbage;

    interface Work { boolean right() throws Exception; }

    static Thread repeat(Work work, Runnable after) {
        Thread thread = new Thread(() -> {
            while (!stopping) {
                try {
                    if (!work.right()) wrong.incrementAndGet();
                } catch (Exception error) {
                    wrong.incrementAndGet();
                }
                after.run();
            }
        });
        thread.start();
        return thread;
    }

    static boolean compresses(byte[] data) throws Exception {
        Deflater deflater = new Deflater(9);
        deflater.setInput(data);
        deflater.finish();
        byte[] packed = new byte[data.length];
        int size = deflater.deflate(packed);
        deflater.end();
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, size);
        byte[] unpacked = new byte[data.length];
        inflater.inflate(unpacked);
        inflater.end();
        return Arrays.equals(data, unpacked);
    }

    public static void main(String[] arguments) throws Exception {
        byte[] data = new byte[1 << 17];
        for (int i = 0; i < data.length; i++) data[i] = (byte) (i % 97);
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(data);
        FileChannel file = FileChannel.open(Path.of(arguments[0]), StandardOpenOption.READ,
            StandardOpenOption.WRITE, StandardOpenOption.CREATE);
        MappedByteBuffer counter = file.map(FileChannel.MapMode.READ_WRITE, 0, 8);
        counter.order(ByteOrder.nativeOrder());
        Thread[] threads = {
            repeat(() -> Arrays.equals(hash, MessageDigest.getInstance("SHA-256").digest(data)),
                   () -> counter.putLong(0, rounds.incrementAndGet())),
            repeat(() -> compresses(data), () -> { }),
            repeat(() -> { garbage = new byte[1 << 16]; return true; }, () -> { })};
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        timer.scheduleAtFixedRate(ticks::incrementAndGet, 5, 5, TimeUnit.MILLISECONDS);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            try {
                for (Thread thread : threads) thread.join();
            } catch (InterruptedException error) {
                wrong.incrementAndGet();
            }
            timer.shutdownNow();
            System.out.printf("rounds %d%nwrong %d%ndone %d%n", rounds.get(), wrong.get(),
                              ticks.get());
            System.out.flush();
        }));
        System.out.printf("ready %d%n", ProcessHandle.current().pid());
        System.out.flush();
    }
}
