import { expect } from "bun:test";
import type { TestApi } from "../_setup.ts";

/** Sends requests with the headers of a client, and expects that each is taken. */
export const asClient =
  (api: () => TestApi, userAgent: string) =>
  async (method: string, path: string, body?: unknown): Promise<any> => {
    const answer = await api().send(method, path, {
      ...(body !== undefined && { body }),
      headers: { "Content-Type": "application/json", "User-Agent": userAgent },
    });
    const isTaken = answer.status < 300;
    expect([method, path, isTaken, answer.text]).toEqual([method, path, true, answer.text]);
    return answer.body;
  };
