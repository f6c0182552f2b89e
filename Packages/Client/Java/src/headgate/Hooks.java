package headgate;

import java.util.ArrayDeque;
import java.util.Queue;

/** Calls the program's functions one after the other on a thread of its own, without the connection's lock. */
final class Hooks {
    private final Queue<Runnable> queue = new ArrayDeque<>();
    private Thread thread;

    synchronized void add(Runnable hook) {
        queue.add(hook);
        if (thread == null) {
            Thread made = new Thread(this::run, "headgate hooks");
            made.setDaemon(true);
            made.start();
            thread = made;
        } else {
            notifyAll();
        }
    }

    /** Waits until all hooks have run, at most until the moment, because the caller may itself be a hook. */
    synchronized void await(Moment moment) throws InterruptedException {
        while (thread != null && thread != Thread.currentThread() && !moment.isOver()) {
            wait(Math.max(1, Math.min(moment.left() / 1_000_000, 60_000)));
        }
    }

    private void run() {
        for (Runnable hook = next(); hook != null; hook = next()) {
            try {
                hook.run();
            } catch (Throwable error) { // languages such as Kotlin throw undeclared checked exceptions
                System.err.println("headgate: a hook failed: " + text(error));
            }
        }
    }

    private static String text(Throwable error) {
        try {
            return error.toString();
        } catch (Throwable second) {
            return error.getClass().getName();
        }
    }

    private synchronized Runnable next() {
        if (queue.isEmpty()) {
            thread = null;
            notifyAll();
        }
        return queue.poll();
    }
}
