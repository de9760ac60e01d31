import { Counter, Gauge, Histogram, Registry } from "prom-client";

export type SandboxMetrics = ReturnType<typeof createSandboxMetrics>;

/** The sandbox's metrics, in a registry of their own when the server gives none. */
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
      help: "Events that live programs have seen, by outcome",
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
      help: "Events that cost a guest its time or its life, by cause",
      labelNames: ["cause"],
      registers,
    }),
    /** Defines the gauge of those who wait for a guest, which is counted when it is read. */
    countAwaited(count: () => number) {
      new Gauge({
        name: "pixelmill_guests_awaited",
        help: "Workspaces that wait for a guest since as many are alive as may be or memory holds",
        registers,
        collect() {
          this.set(count());
        },
      });
    },
    /** Defines the gauge of those whose next guest is late, which is counted when it is read. */
    countPaused(count: () => number) {
      new Gauge({
        name: "pixelmill_workspaces_paused",
        help: "Workspaces whose next guest is late since their code has cost several of late",
        registers,
        collect() {
          this.set(count());
        },
      });
    },
    /** Defines the gauge of suspended programs, which is counted when it is read. */
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
