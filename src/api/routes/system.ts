import { Type } from "@sinclair/typebox";
import { answerHeaders, json } from "../errors.ts";
import { route } from "../route.ts";

const Readiness = Type.Object(
  {
    ready: Type.Boolean(),
    checks: Type.Record(
      Type.String(),
      Type.Object({ ok: Type.Boolean(), message: Type.Optional(Type.String()) }),
    ),
    warnings: Type.Array(Type.String()),
  },
  { $id: "Readiness" },
);

export const systemRoutes = [
  route("GET /health", {
    summary: "Tell that the process answers",
    needs: "open",
    answer: Type.Object({ status: Type.Literal("ok"), version: Type.String() }),
    example: { answer: { status: "ok", version: "0.1.0" } },
    handle: ({ parts }) => ({ status: "ok" as const, version: parts.version }),
  }),

  route("GET /ready", {
    summary: "Tell whether events can be taken and delivered; 503 when not",
    needs: "open",
    answer: Readiness,
    example: { answer: { ready: true, checks: { log: { ok: true } }, warnings: [] } },
    handle({ parts }) {
      const readiness = parts.ready();
      if (readiness.ready) return readiness;
      const failing = Object.entries(readiness.checks).filter(([, { ok }]) => !ok);
      const message = `Not ready: ${failing.map(([name]) => name).join(", ")}`;
      return json({ message, ...readiness }, 503);
    },
  }),

  route("GET /metrics", {
    summary: "Metrics in Prometheus' text format",
    needs: "open",
    answer: Type.String(),
    media: "text/plain",
    example: { answer: "# TYPE process_cpu_seconds_total counter\n" },
    async handle({ parts }) {
      const headers = { ...answerHeaders, "Content-Type": parts.metrics.contentType };
      return new Response(await parts.metricsText(), { headers });
    },
  }),
] as const;
