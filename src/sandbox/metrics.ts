import { Counter, Gauge, Histogram, Registry } from "prom-client";

export type SandboxMetrics = ReturnType<typeof createSandboxMetrics>;

/** Creates the sandbox's metrics in `registry`, or in a new registry when none is given. */
export function createSandboxMetrics(registry = new Registry()) {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  /**
   * Returns a function that defines a gauge with this name and help. The function takes `count`,
   * which returns the gauge's current value.
   */
  const counted = (name: string, help: string) => (count: () => number) => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(count());
      },
    });
  };
  return {
    guests: new Gauge({
      name: "pixelmill_guests",
      help: "Guest processes alive",
      registers,
    }),
    starts: counter("pixelmill_guest_starts_total", "Guest processes started"),
    ends: new Counter({
      name: "pixelmill_guest_ends_total",
      help: "Guest processes ended, by cause",
      labelNames: ["end"],
      registers,
    }),
    runSeconds: new Histogram({
      name: "pixelmill_program_run_seconds",
      help: "Time of a batch in its guest, retries included",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    events: new Counter({
      name: "pixelmill_program_events_total",
      help: "Events that live programs have processed, by outcome",
      labelNames: ["outcome"],
      registers,
    }),
    suspensions: counter("pixelmill_program_suspensions_total", "Suspensions of programs"),
    culprits: new Counter({
      name: "pixelmill_program_culprits_total",
      help: "Events that used up the time of a guest or ended it, by cause",
      labelNames: ["cause"],
      registers,
    }),
    /** Defines the gauge of how many pairs of workspace and language wait for a guest process. */
    countWaiting: counted(
      "pixelmill_guests_awaited",
      "Workspaces that wait for a guest because the limit of guests or of their memory is reached",
    ),
    /**
     * Defines the gauge of how many pairs of workspace and language have a delay before their next
     * guest process starts, because their code has ended several guests.
     */
    countBackingOff: counted(
      "pixelmill_workspaces_paused",
      "Workspaces whose next guest is delayed because their code has lost several recently",
    ),
    /**
     * Defines the gauge that counts the suspended programs, which do not run for a time because
     * they failed repeatedly.
     */
    countSuspended: counted(
      "pixelmill_programs_suspended",
      "Programs that are suspended because they only fail",
    ),
  };
}
