import type { AnswerOf } from "../../api/client.ts";

export type Overview = AnswerOf<"GET /v2/overview">;
