import { expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { formatChartDuration } from "../../src/console/format.ts";
import {
  type Metrics,
  perMinute,
  pointTimes,
  SECONDS_STEPS,
} from "../../src/console/metrics/chart-values.ts";
import { RECORDED, seriesOf } from "../../src/figures/series.ts";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

const MINUTE = 60_000;

test("a point of a chart is events per recorded minute, and a gap where too little was recorded", () => {
  const metrics = {
    from: "2026-02-16T00:00:00.000Z",
    stepSeconds: 120,
    recordedSeconds: [120, 0, 6, 60, 30],
    received: [10, null, 4, 10, 0],
  } as unknown as Metrics;
  expect(perMinute(metrics, "received")).toEqual([5, null, null, 10, 0]);
  const first = Date.parse(metrics.from) / 1_000;
  expect(pointTimes(metrics)).toEqual([0, 120, 240, 360, 480].map((it) => first + it));
});

test("labels of an axis of durations differ at every step", () => {
  // The axis has at most five steps, by the height of a chart.
  for (const step of SECONDS_STEPS) {
    const labels = [0, 1, 2, 3, 4].map((it) => formatChartDuration(it * step));
    expect(new Set(labels).size).toBe(labels.length);
  }
});

describeWith(chromiumMissing)("charts", () => {
  let api: TestApi;
  let browser: Browser;
  useConsole((opened) => {
    ({ api, browser } = opened);
  });

  test("have ranges, units and distinct labels of the latency axis", async () => {
    const body = { name: "Hook", type: "webhook", config: { webhookUrl: "http://127.0.0.1:9" } };
    const { id } = (await api.send("POST", "/v2/destinations", { body })).body.destination;
    const now = Math.floor(Date.now() / MINUTE) * MINUTE;
    const rows = Array.from({ length: 50 }, (_, n) => now - (n + 1) * MINUTE).flatMap((at) => [
      { series: RECORDED, at, recorder: "a", row: [60] },
      { series: seriesOf("destination", id), at, recorder: "a", row: [9, 9, 0, 0, 0, 0, 0, 0, 9] },
    ]);
    await api.figures.write(rows);
    const { page, close } = await openPage(browser);
    // The labels of an axis are drawn on a canvas.
    await page.addInitScript(`{
      window.drawn = [];
      const fillText = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
        window.drawn.push(text);
        return fillText.call(this, text, ...more);
      };
    }`);
    await signIn(page, api.url, api.token, `#/destinations/${id}`);
    const latency = page.getByRole("img", { name: /^Delivery latency per attempt: Median 1 ms/ });
    await latency.locator("canvas").waitFor();
    await page.getByText("Points are 1 min apart").waitFor();
    const milliseconds = (await page.evaluate("window.drawn")) as string[];
    const labels = milliseconds.filter((label) => / ms$/.test(label));
    expect(labels.length).toBeGreaterThan(0);
    expect([...new Set(labels)].sort()).toEqual(["0 ms", "1 ms"]);
    // The point under the pointer has its time and values in the legend.
    const legend = page.locator("figure").filter({ has: latency }).locator("figcaption");
    await soon(async () => expect(await legend.textContent()).toBe("Medianp99"));
    await latency.locator(".u-over").hover({ position: { x: 300, y: 60 } });
    await legend.getByText("1 ms").first().waitFor();
    await soon(async () =>
      expect(await legend.locator("time").textContent()).toMatch(/\d\d:\d\d:00/),
    );
    // Nothing is recorded at the beginning of the hour.
    await latency.locator(".u-over").hover({ position: { x: 4, y: 60 } });
    await legend.getByText("–").first().waitFor();
    const range = page.getByLabel("Range of the charts");
    for (const [name, point] of [
      ["24h", "5 min"],
      ["7d", "1 h"],
      ["30d", "2 h"],
    ]) {
      await range.selectOption(name!);
      await page.getByText(`Points are ${point} apart`).waitFor();
    }
    await page.getByText("Delivered, last minute").waitFor();
    // Several destinations deliver more events than the source received.
    const explained = page.getByText("count an event once for each of its destinations");
    await soon(async () => expect(await explained.count()).toBe(0));
    await page.goto(`${api.url}/#/`);
    await explained.waitFor();
    await close();
  });

  test("of sources know the minute of the last event, and show no seconds of it", async () => {
    const at = Math.floor(Date.now() / MINUTE) * MINUTE - MINUTE;
    const minutes = { Now: at, Before: at - 3 * MINUTE };
    const rows = await Promise.all(
      Object.entries(minutes).map(async ([name, minute]) => {
        const { source } = (await api.send("POST", "/v2/sources", { body: { name } })).body;
        return { series: seriesOf("source", source.id), at: minute, recorder: "a", row: [9] };
      }),
    );
    await api.figures.write(rows);
    const { page, close } = await openPage(browser);
    await page.clock.setFixedTime(at + 40_000);
    await signIn(page, api.url, api.token, "#/sources");
    const shown = (name: string, text: string) =>
      page.getByRole("row").filter({ hasText: name }).getByText(text, { exact: true }).waitFor();
    await shown("Now", "less than 1 min ago");
    await shown("Before", "3 min ago");
    await page.getByRole("link", { name: "Now" }).click();
    await page.getByText("less than 1 min ago").waitFor();
    await close();
  });
});
