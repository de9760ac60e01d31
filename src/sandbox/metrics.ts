import { Counter, Gauge, Histogram, Registry } from "prom-client";

export type SandboxMetrics = ReturnType<typeof createSandboxMetrics>;

/** Creates the sandbox's metrics in `registry`, or in a new registry when none is given. */
export function createSandboxMetrics(registry = new Registry()) {
  const registers = [registry];
  return {
    guests: new Gauge({
      name: "pixelmill_guests",
      help: "Guest processes alive",
      registers,
    }),
    starts: new Counter({
      name: "pixelmill_guest_starts_total",
      help: "Guest processes started",
      registers,
    }),
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
    suspensions: new Counter({
      name: "pixelmill_program_suspensions_total",
      help: "Suspensions of programs",
      registers,
    }),
    culprits: new Counter({
      name: "pixelmill_program_culprits_total",
      help: "Events that used up the time of a guest or ended it, by cause",
      labelNames: ["cause"],
      registers,
    }),
    /** Defines the gauge of workspaces that wait for a guest process. `count` returns its value. */
    countWaiting(count: () => number) {
      new Gauge({
        name: "pixelmill_guests_awaited",
        help: "Workspaces that wait for a guest because the limit of guests or of their memory is reached",
        registers,
        collect() {
          this.set(count());
        },
      });
    },
    /**
     * Defines the gauge of workspaces whose next guest process is delayed, because their code has
     * ended several. `count` returns its value.
     */
    countBackingOff(count: () => number) {
      new Gauge({
        name: "pixelmill_workspaces_paused",
        help: "Workspaces whose next guest is delayed because their code has lost several recently",
        registers,
        collect() {
          this.set(count());
        },
      });
    },
    /**
     * Defines the gauge of suspended programs, which do not run for a time because they failed
     * repeatedly. `count` returns its value.
     */
    countSuspended(count: () => number) {
      new Gauge({
        name: "pixelmill_programs_suspended",
        help: "Programs that are suspended because they only fail",
        registers,
        collect() {
          this.set(count());
        },
      });
    },
  };
}
